import { z } from 'zod';
import { JSON_VALUES_MAX } from '../../../core/limits.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import type { RuleTexts } from '../../parse.ts';

// Fields of docs/wire/dashscope-native.md#embeddings. The number of texts depends on the model: createEmbedRequest.

export const TextEmbeddingBody = z.object({
  model: z.string().min(1),
  input: z.object({ texts: failFastArray(z.string(), { min: 1, max: JSON_VALUES_MAX }) }),
  parameters: z
    .object({
      text_type: z.enum(['query', 'document']).nullish(),
      dimension: z.int().min(1).nullish(),
      output_type: z.enum(['dense', 'sparse', 'dense&sparse']).nullish(),
      instruct: z.string().nullish(),
    })
    .nullish(),
});
export type TextEmbeddingWire = z.output<typeof TextEmbeddingBody>;

const TEXTS_RULE = 'input.texts must be an array of strings';

export const TEXT_EMBEDDING_TEXTS: RuleTexts = {
  'input.texts': (value) =>
    Array.isArray(value) && value.length === 0 ? "[] is too short - 'input.texts'" : TEXTS_RULE,
  'input.texts[]': TEXTS_RULE,
};
