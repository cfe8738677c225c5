import type { EmbedResult } from '../../../generation/embed.ts';
import { vectorToNumbers } from '../../fields/vector-numbers.ts';

export interface EmbeddingsHead {
  readonly requestId: string;
  /** Model name in the request. */
  readonly model: string;
  readonly format: 'float' | 'base64';
}

/** Encodes the response, keys in the documented order (docs/wire/openai-compatible.md#embeddings). */
export const encodeEmbeddings = (
  { requestId, model, format }: EmbeddingsHead,
  { vectors, promptTokens }: EmbedResult,
): object => ({
  object: 'list',
  data: vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: format === 'base64' ? vectorToBase64(vector) : vectorToNumbers(vector),
  })),
  model,
  usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  id: requestId,
});

/** Encodes little-endian 32-bit floats in base64, independent of the machine's byte order. */
function vectorToBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [at, component] of vector.entries()) bytes.writeFloatLE(component, at * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString('base64');
}
