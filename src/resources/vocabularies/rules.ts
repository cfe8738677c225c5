import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import {
  HOTWORD_ASCII_CHARS_MAX,
  HOTWORD_CODE_POINTS_MAX,
  HOTWORD_WEIGHT_MAX,
  HOTWORD_WORDS_MAX,
  TARGET_MODEL_CHARS_MAX,
  VOCABULARY_PREFIX_CHARS_MAX,
} from '../../core/limits.ts';
import { countCodePoints } from '../../lib/code-points.ts';
import type { VocabularyEntry } from '../../store/vocabularies.ts';
import { PRIMARY_WORKSPACE } from '../keys/rules.ts';
import { languagesOf } from './languages.ts';

// Fields are named as callers write them.

const PREFIX = new RegExp(`^[a-z0-9]{1,${VOCABULARY_PREFIX_CHARS_MAX}}$`);
/** What is stored and shown again has no control characters and no halves of characters in it. */
const TARGET_MODEL = new RegExp(`^\\P{C}{1,${TARGET_MODEL_CHARS_MAX}}$`, 'u');
const NOT_ASCII = /[^\0-\x7f]/;
const SHOWN_CHARS_MAX = 40;

/** Specification, Authentication 4. @throws ServiceError `forbidden`. */
export function checkWorkspace({ workspace }: Pick<Owner, 'workspace'>): void {
  if (workspace === PRIMARY_WORKSPACE) return;
  throw new ServiceError(
    'forbidden',
    `Access denied. Custom vocabularies work in the workspace ${PRIMARY_WORKSPACE} only; this key is of ${workspace}.`,
  );
}

/** @throws ServiceError `invalid-request`. */
export function checkPrefix(prefix: string): void {
  if (PREFIX.test(prefix)) return;
  refuse('input.prefix', `must be 1 to ${VOCABULARY_PREFIX_CHARS_MAX} lowercase letters and digits`, prefix);
}

/** @throws ServiceError `invalid-request`. */
export function checkTargetModel(name: string): void {
  if (TARGET_MODEL.test(name)) return;
  refuse('input.target_model', `must be the name of a model, of at most ${TARGET_MODEL_CHARS_MAX} characters`, name);
}

/** @throws ServiceError `invalid-request` naming the first entry at fault, its field and the rule. */
export function checkEntries(
  entries: readonly VocabularyEntry[],
  { targetModel, entriesMax }: { readonly targetModel: string; readonly entriesMax: number },
): void {
  if (entries.length === 0 || entries.length > entriesMax) {
    refuse('input.vocabulary', `must have 1 to ${entriesMax} entries`, entries.length);
  }
  const languages = languagesOf(targetModel);
  for (const [at, { text, weight, lang }] of entries.entries()) {
    const field = (name: string): string => `input.vocabulary[${at}].${name}`;
    checkText(field('text'), text);
    if (!Number.isInteger(weight) || weight < 1 || weight > HOTWORD_WEIGHT_MAX) {
      refuse(field('weight'), `must be an integer from 1 to ${HOTWORD_WEIGHT_MAX}`, weight);
    }
    if (lang !== undefined && !languages.includes(lang)) {
      const rule = `must be one of ${languages.join(', ')} for ${targetModel}, or be left out`;
      refuse(field('lang'), rule, lang);
    }
  }
}

/** The text itself is not repeated: it may be a name that nobody else is to see. */
function checkText(field: string, text: string): void {
  if (text.trim() === '') refuse(field, 'must not be empty');
  const isAscii = !NOT_ASCII.test(text);
  const charsMax = isAscii ? HOTWORD_ASCII_CHARS_MAX : HOTWORD_CODE_POINTS_MAX;
  const chars = countCodePoints(text);
  if (chars > charsMax) {
    refuse(field, `must have at most ${charsMax} characters${isAscii ? '' : ', as one of them is not ASCII'}`, chars);
  }
  const words = text.trim().split(/\s+/).length;
  if (isAscii && words > HOTWORD_WORDS_MAX) refuse(field, `must have at most ${HOTWORD_WORDS_MAX} words`, words);
}

/** @throws ServiceError `invalid-request` in the form of all refusals of a field. */
export function refuse(param: string, rule: string, value?: string | number): never {
  const shown = value === undefined ? '' : `, got ${typeof value === 'string' ? show(value) : value}`;
  throw new ServiceError('invalid-request', `${param} ${rule}${shown}.`, { param });
}

function show(text: string): string {
  const whole = text.toWellFormed();
  return JSON.stringify(whole.length > SHOWN_CHARS_MAX ? `${whole.slice(0, SHOWN_CHARS_MAX).toWellFormed()}…` : whole);
}
