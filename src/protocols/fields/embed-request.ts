import type { EmbedRequest } from '../../generation/embed.ts';
import { EMBEDDING_TEXTS_EARLY_MAX, EMBEDDING_TEXTS_MAX } from '../limits.ts';
import { createFieldError } from '../parse.ts';

export interface EmbedFields {
  readonly model: string;
  /** One text or several, and their path, such as `input.texts`. */
  readonly texts: { readonly value: string | readonly string[]; readonly at: string };
  readonly dimensions: { readonly value: number | null | undefined; readonly at: string };
}

/**
 * Creates the request for the vectors of texts. Model names ending in `-v1` or `-v2` allow 25 texts, others 10. The
 * limit depends on the name in the request, because an alias may lead all of these names to one model.
 *
 * @throws ServiceError `invalid-request` with the prescribed text (docs/wire/dashscope-native.md#errors).
 */
export function createEmbedRequest({ model, texts: { value, at }, dimensions }: EmbedFields): EmbedRequest {
  const texts = typeof value === 'string' ? [value] : value;
  const max = /-v[12]$/.test(model) ? EMBEDDING_TEXTS_EARLY_MAX : EMBEDDING_TEXTS_MAX;
  if (texts.length > max)
    throw createFieldError(
      at,
      `Value error, batch size is invalid, it should not be larger than ${max}.: input.contents`,
      texts,
    );
  return {
    model,
    inputs: texts.map((text, index) => ({
      text: text.toWellFormed(),
      field: texts === value ? `${at}[${index}]` : at,
    })),
    ...(typeof dimensions.value === 'number' ? { dimensions: { count: dimensions.value, field: dimensions.at } } : {}),
  };
}
