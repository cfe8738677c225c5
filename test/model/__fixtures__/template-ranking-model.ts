import { createSeededRandom } from '../../../src/lib/seeded-random.ts';
import { encodeGguf } from '../../../src/weights/__fixtures__/gguf.ts';
import type { GgufTensor } from '../../../src/weights/__fixtures__/gguf.ts';

const DIMENSIONS = 64;

const SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];

/** The template around a pair, with two placeholders that llama.cpp replaces. */
export const RANKING_TEMPLATE = '<|im_start|>user\n{query}\n{document}<|im_end|>\n<|im_start|>assistant\n';

/**
 * Creates a ranking model of the form derived from a text model (Qwen3 with outputs for yes and no, and a template).
 * Every byte is a token, and the weights are random but constant, so its scores are meaningless but reproducible.
 */
export function createTemplateRankingModel(): Uint8Array {
  const random = createSeededRandom(7);
  const createRandomTensor = (...shape: readonly number[]): GgufTensor => ({
    shape,
    values: Float32Array.from({ length: shape.reduce((size, side) => size * side) }, () => random() - 0.5),
  });
  const createRandomSquare = (): GgufTensor => createRandomTensor(DIMENSIONS, DIMENSIONS);
  const ones: GgufTensor = { shape: [DIMENSIONS], values: new Float32Array(DIMENSIONS).fill(1) };
  const tokens = [...listByteSpellings(), ...SPECIAL];
  return encodeGguf(
    {
      'general.architecture': 'qwen3',
      'qwen3.block_count': 1,
      'qwen3.context_length': 512,
      'qwen3.embedding_length': DIMENSIONS,
      'qwen3.feed_forward_length': DIMENSIONS,
      'qwen3.attention.head_count': 1,
      'qwen3.attention.head_count_kv': 1,
      'qwen3.attention.key_length': DIMENSIONS,
      'qwen3.attention.value_length': DIMENSIONS,
      'qwen3.attention.layer_norm_rms_epsilon': { float: 1e-6 },
      'qwen3.rope.freq_base': { float: 1e6 },
      'qwen3.pooling_type': 4, // rank
      'qwen3.classifier.output_labels': ['yes', 'no'],
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'qwen2',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.token_type': tokens.map((token) => (SPECIAL.includes(token) ? 3 : 1)),
      'tokenizer.ggml.merges': ['x x'], // llama.cpp requires a merge; this one forms no token
      'tokenizer.ggml.eos_token_id': tokens.indexOf('<|im_end|>'),
      'tokenizer.ggml.add_bos_token': false,
      'tokenizer.chat_template.rerank': RANKING_TEMPLATE,
    },
    {
      'token_embd.weight': createRandomTensor(DIMENSIONS, tokens.length),
      'blk.0.attn_norm.weight': ones,
      'blk.0.attn_q.weight': createRandomSquare(),
      'blk.0.attn_k.weight': createRandomSquare(),
      'blk.0.attn_v.weight': createRandomSquare(),
      'blk.0.attn_output.weight': createRandomSquare(),
      'blk.0.attn_q_norm.weight': ones,
      'blk.0.attn_k_norm.weight': ones,
      'blk.0.ffn_norm.weight': ones,
      'blk.0.ffn_gate.weight': createRandomSquare(),
      'blk.0.ffn_up.weight': createRandomSquare(),
      'blk.0.ffn_down.weight': createRandomSquare(),
      'output_norm.weight': ones,
      'cls.output.weight': createRandomTensor(DIMENSIONS, 2),
    },
  );
}

/** Lists how byte-level vocabularies spell the bytes 0 to 255: printable ones as themselves, others from U+0100 on. */
function listByteSpellings(): readonly string[] {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCodePoint(isPrintable ? byte : next++);
  });
}
