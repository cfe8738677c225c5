import { z } from 'zod';
import { JSON_VALUES_MAX } from '../../../core/limits.ts';
import { listOf } from '../../list-of.ts';
import type { RuleTexts } from '../../parse.ts';

// wire.md 10, embeddings compat. How many texts there may be depends on the model: embedding-texts.ts.

export const EmbeddingsBody = z.object({
  model: z.string().min(1),
  input: z.union([z.string(), listOf(z.string(), { min: 1, max: JSON_VALUES_MAX })]),
  dimensions: z.int().min(1).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});

/** Token ids are of somebody's vocabulary, and clients that send them do not ask whose. */
const INPUT = 'input must be a string or an array of strings; token ids are not taken';

export const embeddingsTexts: RuleTexts = {
  input: (value) => (Array.isArray(value) && value.length === 0 ? "[] is too short - 'input'" : INPUT),
  'input[]': INPUT,
};
