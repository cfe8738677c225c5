import { z } from 'zod';
import { RERANK_DOCUMENTS_MAX } from '../../limits.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import type { RuleTexts } from '../../parse.ts';

// Request fields: those of the native interface, in one flat object (docs/wire/openai-compatible.md#rerank).

export const RerankBody = z.object({
  model: z.string().min(1),
  query: z.string().min(1),
  documents: failFastArray(z.string(), { min: 1, max: RERANK_DOCUMENTS_MAX }),
  top_n: z.int().min(1).nullish(),
  return_documents: z.boolean().nullish(),
  instruct: z.string().nullish(),
});

export const RERANK_TEXTS: RuleTexts = {
  documents: `documents must be an array of 1 to ${RERANK_DOCUMENTS_MAX} strings`,
  'documents[]': 'documents must be an array of strings',
};
