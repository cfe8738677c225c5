import { EMBEDDING_TEXTS_EARLY_MAX, EMBEDDING_TEXTS_MAX } from '../limits.ts';
import { createFieldError } from '../parse.ts';

/**
 * Checks the number of texts to embed. Model names ending in `-v1` or `-v2` allow 25 texts, others 10. The limit
 * depends on the name in the request, because an alias may lead all of these names to one model.
 *
 * @param at Path of the texts, such as `input.texts`.
 * @throws ServiceError `invalid-request` with the prescribed text (docs/wire/dashscope-native.md#errors).
 */
export function checkEmbeddingCount(
  texts: readonly string[],
  { model, at }: { readonly model: string; readonly at: string },
): void {
  const max = /-v[12]$/.test(model) ? EMBEDDING_TEXTS_EARLY_MAX : EMBEDDING_TEXTS_MAX;
  if (texts.length > max)
    throw createFieldError(
      at,
      `Value error, batch size is invalid, it should not be larger than ${max}.: input.contents`,
      texts,
    );
}
