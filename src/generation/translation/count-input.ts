import type { Catalogue, ModelInterface, ResolvedModel } from '../../catalogue/model.ts';
import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { TRANSLATION_INPUT_TOKENS_MAX } from '../../core/limits.ts';
import type { Lease } from '../../engines/registry.ts';
import type { TranslationWish } from './translation.ts';

export interface CountNeeds {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly engineFor: (model: ResolvedModel) => Promise<Lease>;
}

/**
 * Checks the length of a translation's input. Terms, memory and domain count among the input, as they are put before the text. A server that does not tell its tokens
 * cannot be asked; it has a limit of its own.
 *
 * @returns Tokens of a character of the text, on average.
 * @throws ServiceError `invalid-request` for a text that is empty or an input that is too long, with both counts.
 */
export async function countInput(
  { request, options, field }: TranslationWish,
  text: string,
  { catalogue, engineFor }: CountNeeds,
  on: { readonly interface: ModelInterface },
  { owner }: RequestContext,
): Promise<number> {
  const pairs = [...(options?.terms ?? []), ...(options?.memory ?? [])];
  const beside = [...pairs.flatMap(({ source, target }) => [source, target]), options?.domains ?? ''].join('\n');
  const refuse = (tokens: number): ServiceError =>
    new ServiceError(
      'invalid-request',
      `Range of input length should be [1, ${TRANSLATION_INPUT_TOKENS_MAX}] (${field}: ${tokens} tokens)`,
      { param: field },
    );
  if (text === '') throw refuse(0);
  const model = catalogue.resolve(request.model, { interface: on.interface, owner });
  const { engine, release } = await engineFor(model);
  try {
    if (engine.capabilities.input === 'chat') return TOKENS_PER_CHARACTER;
    const count = (counted: string): Promise<number> =>
      engine.countTokens({ type: 'segments', segments: [{ text: counted, special: false }] });
    const own = await count(text);
    const all = own + (beside.trim() === '' ? 0 : await count(beside));
    if (all > TRANSLATION_INPUT_TOKENS_MAX) throw refuse(all);
    return own / text.length;
  } finally {
    release();
  }
}

/** Ours, where nobody can count: that of writing with many characters, so that segments are rather too short. */
const TOKENS_PER_CHARACTER = 1;
