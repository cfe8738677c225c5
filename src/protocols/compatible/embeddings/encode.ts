import type { Embedded } from '../../../generation/embed.ts';
import { numbersOf } from '../../fields/vector-numbers.ts';

export interface EmbeddingsHead {
  readonly requestId: string;
  /** As asked. */
  readonly model: string;
  readonly format: 'float' | 'base64';
}

/** wire.md 10, embeddings compat; keys in its order. */
export const encodeEmbeddings = (
  { requestId, model, format }: EmbeddingsHead,
  { vectors, promptTokens }: Embedded,
): object => ({
  object: 'list',
  data: vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: format === 'base64' ? base64Of(vector) : numbersOf(vector),
  })),
  model,
  usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  id: requestId,
});

/** Little-endian 32-bit floats, whatever this machine has. */
function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [at, component] of vector.entries()) bytes.writeFloatLE(component, at * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString('base64');
}
