import { EMBEDDING_TEXTS_EARLY_MAX, EMBEDDING_TEXTS_MAX } from '../../core/limits.ts';
import { refuse } from '../parse.ts';

/**
 * Refuses what is too many texts, or none at all, for a model of this name. Callers of the first two generations send 25 at
 * a time, judged on the name as written: an alias leads all of them to one model.
 *
 * @param at Where the texts stand, e.g. `input.texts`.
 * @throws ServiceError `invalid-request`, wire.md 1.7's text.
 */
export function checkTexts(
  texts: readonly string[],
  { model, at }: { readonly model: string; readonly at: string },
): void {
  const max = /-v[12]$/.test(model) ? EMBEDDING_TEXTS_EARLY_MAX : EMBEDDING_TEXTS_MAX;
  if (texts.length > max)
    throw refuse(at, `Value error, batch size is invalid, it should not be larger than ${max}.: input.contents`, texts);
}
