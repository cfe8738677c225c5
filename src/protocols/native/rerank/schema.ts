import { z } from 'zod';
import { RERANK_DOCUMENTS_MAX } from '../../limits.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import type { RuleTexts } from '../../parse.ts';

// Fields of docs/wire/dashscope-native.md#rerank.

export const TextRerankBody = z.object({
  model: z.string().min(1),
  input: z.object({
    query: z.string().min(1),
    documents: failFastArray(z.string(), { min: 1, max: RERANK_DOCUMENTS_MAX }),
  }),
  parameters: z
    .object({
      top_n: z.int().min(1).nullish(),
      return_documents: z.boolean().nullish(),
      instruct: z.string().nullish(),
    })
    .nullish(),
});

export const TEXT_RERANK_TEXTS: RuleTexts = {
  'input.documents': `input.documents must be an array of 1 to ${RERANK_DOCUMENTS_MAX} strings`,
  'input.documents[]': 'input.documents must be an array of strings',
};
