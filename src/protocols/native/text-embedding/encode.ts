import type { EmbedResult } from '../../../generation/embed.ts';
import { vectorToNumbers } from '../../fields/vector-numbers.ts';

/** Encodes the response (docs/wire/dashscope-native.md#embeddings). */
export const encodeTextEmbedding = ({ vectors, promptTokens }: EmbedResult, requestId: string): object => ({
  output: { embeddings: vectors.map((vector, index) => ({ text_index: index, embedding: vectorToNumbers(vector) })) },
  usage: { total_tokens: promptTokens },
  request_id: requestId,
});
