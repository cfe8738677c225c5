import { z } from 'zod';
import { JSON_VALUES_MAX } from '../../../core/limits.ts';
import { listOf } from '../../list-of.ts';
import type { RuleTexts } from '../../parse.ts';

// wire.md 10, embeddings native. How many texts there may be depends on the model: embedding-texts.ts.

export const TextEmbeddingBody = z.object({
  model: z.string().min(1),
  input: z.object({ texts: listOf(z.string(), { min: 1, max: JSON_VALUES_MAX }) }),
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

const TEXTS = 'input.texts must be an array of strings';

export const textEmbeddingTexts: RuleTexts = {
  'input.texts': (value) => (Array.isArray(value) && value.length === 0 ? "[] is too short - 'input.texts'" : TEXTS),
  'input.texts[]': TEXTS,
};
