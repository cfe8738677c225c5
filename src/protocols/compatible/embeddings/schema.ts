import { z } from 'zod';
import { JSON_VALUES_MAX } from '../../../core/limits.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import type { RuleTexts } from '../../parse.ts';

// Request fields (docs/wire/openai-compatible.md#embeddings). The number of texts depends on the model:
// createEmbedRequest.

export const EmbeddingsBody = z.object({
  model: z.string().min(1),
  input: z.union([z.string(), failFastArray(z.string(), { min: 1, max: JSON_VALUES_MAX })]),
  dimensions: z.int().min(1).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});

/** Token ids are rejected: they belong to another model's vocabulary, and clients do not check which one. */
const INPUT =
  'input must be a string or an array of strings; token ids are not taken: let the client send texts (in LangChain, check_embedding_ctx_length=False)';

export const embeddingsTexts: RuleTexts = {
  input: (value) => (Array.isArray(value) && value.length === 0 ? "[] is too short - 'input'" : INPUT),
  'input[]': INPUT,
};
