import type { Owner } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import {
  HOTWORD_WEIGHT_MAX,
  HOTWORD_ASCII_CHARS_MAX,
  HOTWORD_CODE_POINTS_MAX,
  HOTWORD_WORDS_MAX,
  TARGET_MODEL_CHARS_MAX,
  VOCABULARY_PREFIX_CHARS_MAX,
} from '../limits.ts';
import { countCodePoints } from '../../../lib/code-points.ts';
import type { VocabularyEntry } from '../../../store/vocabularies.ts';
import { PRIMARY_WORKSPACE } from '../../../resources/keys/rules.ts';
import { getSupportedLanguages } from './languages.ts';

// Messages name fields as they appear in the request.

const PREFIX = new RegExp(`^[a-z0-9]{1,${VOCABULARY_PREFIX_CHARS_MAX}}$`);
/** Excludes control characters and unpaired surrogates, because the name is stored and shown again. */
const TARGET_MODEL = new RegExp(`^\\P{C}{1,${TARGET_MODEL_CHARS_MAX}}$`, 'u');
const NOT_ASCII = /[^\0-\x7f]/;
const SHOWN_CHARS_MAX = 40;

/** Custom vocabularies exist in the primary workspace only. @throws ServiceError `forbidden`. */
export function checkWorkspace({ workspace }: Pick<Owner, 'workspace'>): void {
  if (workspace === PRIMARY_WORKSPACE) return;
  throw new ServiceError(
    'forbidden',
    `Access denied. Custom vocabularies are available in the workspace ${PRIMARY_WORKSPACE} only; this key belongs to ${workspace}.`,
  );
}

/** @throws ServiceError `invalid-request`. */
export function checkPrefix(prefix: string): void {
  if (PREFIX.test(prefix)) return;
  throwInvalidField('input.prefix', `must be 1 to ${VOCABULARY_PREFIX_CHARS_MAX} lowercase letters and digits`, prefix);
}

/** @throws ServiceError `invalid-request`. */
export function checkTargetModel(name: string): void {
  if (TARGET_MODEL.test(name)) return;
  throwInvalidField(
    'input.target_model',
    `must be the name of a model, of at most ${TARGET_MODEL_CHARS_MAX} characters`,
    name,
  );
}

/** @throws ServiceError `invalid-request` that names the first invalid entry, its field and the rule. */
export function checkEntries(
  entries: readonly VocabularyEntry[],
  { targetModel, entriesMax }: { readonly targetModel: string; readonly entriesMax: number },
): void {
  if (entries.length === 0 || entries.length > entriesMax) {
    throwInvalidField('input.vocabulary', `must have 1 to ${entriesMax} entries`, entries.length);
  }
  const languages = getSupportedLanguages(targetModel);
  for (const [index, { text, weight, lang }] of entries.entries()) {
    const field = (name: string): string => `input.vocabulary[${index}].${name}`;
    checkText(field('text'), text);
    if (!Number.isInteger(weight) || weight < 1 || weight > HOTWORD_WEIGHT_MAX) {
      throwInvalidField(field('weight'), `must be an integer from 1 to ${HOTWORD_WEIGHT_MAX}`, weight);
    }
    if (lang !== undefined && !languages.includes(lang)) {
      const rule = `must be one of ${languages.join(', ')} for ${targetModel}, or omitted`;
      throwInvalidField(field('lang'), rule, lang);
    }
  }
}

/** The message does not repeat the text, which may be confidential. */
function checkText(field: string, text: string): void {
  if (text.trim() === '') throwInvalidField(field, 'must not be empty');
  const isAscii = !NOT_ASCII.test(text);
  const charsMax = isAscii ? HOTWORD_ASCII_CHARS_MAX : HOTWORD_CODE_POINTS_MAX;
  const chars = countCodePoints(text);
  if (chars > charsMax) {
    throwInvalidField(
      field,
      `must have at most ${charsMax} characters${isAscii ? '' : ', because it contains a non-ASCII character'}`,
      chars,
    );
  }
  const words = text.trim().split(/\s+/).length;
  if (isAscii && words > HOTWORD_WORDS_MAX)
    throwInvalidField(field, `must have at most ${HOTWORD_WORDS_MAX} words`, words);
}

/** @throws ServiceError `invalid-request` with the field, the rule and the rejected value. */
export function throwInvalidField(param: string, rule: string, value?: string | number): never {
  const suffix = value === undefined ? '' : `, got ${typeof value === 'string' ? quote(value) : value}`;
  throw new ServiceError('invalid-request', `${param} ${rule}${suffix}.`, { param });
}

function quote(text: string): string {
  const whole = text.toWellFormed();
  return JSON.stringify(whole.length > SHOWN_CHARS_MAX ? `${whole.slice(0, SHOWN_CHARS_MAX).toWellFormed()}…` : whole);
}
