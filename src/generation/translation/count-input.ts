import { createInputLengthError } from '../../core/generation-errors.ts';
import type { Catalogue, ResolvedModel } from '../../catalogue/model.ts';
import type { RequestContext } from '../../core/context.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { toEngineOwner } from '../engine-owner.ts';
import type { ServiceError } from '../../core/error.ts';
import { PROMPT_CHARS_PER_TOKEN_MAX } from '../../core/limits.ts';
import { TRANSLATION_INPUT_TOKENS_MAX } from '../limits.ts';
import type { EngineLease } from '../../engines/engine-registry.ts';
import { resolveTarget, type ModelTarget } from '../model-target.ts';
import type { TranslationRequest } from './translation.ts';

export interface CountInputDeps {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly acquireEngine: (model: ResolvedModel) => Promise<EngineLease>;
}

/**
 * Checks the length of a translation's input. Terms, memory and domains count as input, because the prompt contains
 * them. Skips the check for servers without a tokenizer, which enforce their own limit.
 *
 * @returns Average tokens per character of the text.
 * @throws ServiceError `invalid-request` for an empty text or a too long input, with the limit and the count.
 */
export async function countInput(
  { request, options, field }: TranslationRequest,
  text: string,
  { catalogue, acquireEngine }: CountInputDeps,
  on: ModelTarget,
  { owner, priority }: RequestContext,
): Promise<number> {
  const pairs = [...(options?.terms ?? []), ...(options?.memory ?? [])];
  const extras = [...pairs.flatMap(({ source, target }) => [source, target]), options?.domains ?? ''].join('\n');
  const createLengthError = (tokens: number | string): ServiceError =>
    createInputLengthError(field, tokens, TRANSLATION_INPUT_TOKENS_MAX);
  if (text === '') throw createLengthError(0);
  // Counting megabytes of text would take the tokenizer seconds.
  if (text.length + extras.length > TRANSLATION_INPUT_TOKENS_MAX * PROMPT_CHARS_PER_TOKEN_MAX)
    throw createLengthError(`more than ${TRANSLATION_INPUT_TOKENS_MAX}`);
  const model = await resolveTarget(catalogue, request.model, on, owner);
  const { engine, release } = await acquireEngine(model);
  try {
    if (engine.capabilities.input === 'chat') return TOKENS_PER_CHARACTER_DEFAULT;
    const count = (counted: string): Promise<number> =>
      engine.countTokens(
        { type: 'segments', segments: [{ text: counted, special: false }] },
        toEngineOwner({ owner, ...omitNullish({ priority }) }),
      );
    const textTokens = await count(text);
    const inputTokens = textTokens + (extras.trim() === '' ? 0 : await count(extras));
    if (inputTokens > TRANSLATION_INPUT_TOKENS_MAX) throw createLengthError(inputTokens);
    return textTokens / text.length;
  } finally {
    release();
  }
}

/** Used when no tokenizer exists. Chosen for token-heavy scripts, so that segments are rather too short. */
const TOKENS_PER_CHARACTER_DEFAULT = 1;
