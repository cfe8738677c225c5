import { encodeGguf, type GgufTensor } from './gguf.ts';

interface TestAdapterOptions {
  /** Widths of input and output of the model's matrices that the adapter changes, by name. */
  readonly matrices: Readonly<Record<string, readonly [input: number, output: number]>>;
  readonly architecture?: string;
  readonly type?: string;
}

const RANK = 2;

/** Creates a LoRA adapter as llama.cpp reads it. Its numbers are meaningless, and large enough to change every answer. */
export function createTestAdapter({ matrices, architecture = 'llama', type = 'lora' }: TestAdapterOptions): Uint8Array {
  const tensors = Object.entries(matrices).flatMap(([name, [input, output]]) => [
    // Matrices for the embeddings of tokens are stored so that a row of the first belongs to a token.
    [`${name}.lora_a`, name === 'token_embd.weight' ? createTensor(RANK, input) : createTensor(input, RANK)] as const,
    [`${name}.lora_b`, createTensor(RANK, output)] as const,
  ]);
  return encodeGguf(
    {
      'general.type': 'adapter',
      'general.architecture': architecture,
      'adapter.type': type,
      'adapter.lora.alpha': { float: 2 * RANK },
    },
    Object.fromEntries(tensors),
  );
}

const createTensor = (width: number, height: number): GgufTensor => ({
  shape: [width, height],
  values: Float32Array.from({ length: width * height }, (_, at) => Math.sin(at)),
});
