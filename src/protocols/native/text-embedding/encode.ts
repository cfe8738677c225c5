import type { Embedded } from '../../../generation/embed.ts';
import { numbersOf } from '../../fields/vector-numbers.ts';

/** wire.md 10, embeddings native. */
export const encodeTextEmbedding = ({ vectors, promptTokens }: Embedded, requestId: string): object => ({
  output: { embeddings: vectors.map((vector, index) => ({ text_index: index, embedding: numbersOf(vector) })) },
  usage: { total_tokens: promptTokens },
  request_id: requestId,
});
