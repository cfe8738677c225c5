import { encodeGguf } from './gguf.ts';
import type { GgufTensor } from './gguf.ts';

/** Longest pair of query and document that the model reads, in tokens. */
export const RANKING_TOKENS = 256;

/** Words in the vocabulary; all other words become the unknown token. */
const WORDS = (
  'a and are at bakers bake blue boat boats bread bright by calm cats chase colour deep dogs eat evening fish fly for ' +
  'green hot in is mice morning night of on over red sail sea ship ships sky sleep stars storm sun the under warm water ' +
  'waves what where with'
).split(' ');

const SPECIAL = { '[PAD]': 0, '[UNK]': 1, '[CLS]': 2, '[SEP]': 3, '[MASK]': 4 } as const;

/** Components of a hidden vector: one for each word, followed by these. */
const FIRST_TOKEN = WORDS.length;
const NEGATIVE_FIRST_TOKEN = FIRST_TOKEN + 1;
const SHARE = FIRST_TOKEN + 2;
const ALWAYS_ZERO = FIRST_TOKEN + 3;
const SCORE = FIRST_TOKEN + 4;
const NEGATIVE_SCORE = FIRST_TOKEN + 5;
const DIMENSIONS = 64;

/**
 * Values to which a layer norm scales a single 1 among zeros (LONE_NORM), and a pair of 1 and -1 among zeros
 * (PAIR_NORM).
 */
const LONE_NORM = DIMENSIONS / Math.sqrt(DIMENSIONS - 1);
const PAIR_NORM = Math.sqrt(DIMENSIONS / 2);

/** Slope of the hidden layer: so steep that the activation function acts like a ReLU for every length. */
const STEEPNESS = 2 * RANKING_TOKENS;

/**
 * Creates a cross-encoder of the usual form (BERT with a ranking head) with handmade weights: the score grows with the
 * number of words that query and document share. The model counts words that occur twice in the pair, so a document
 * that repeats a word also scores.
 *
 * The first token attends to all tokens equally: its vector holds the frequency of each word divided by the number of
 * tokens, and in SHARE the value for one occurrence. The hidden layer passes values above 1.5 of that, and the output
 * layer sums them.
 */
export function createRankingModel(): Uint8Array {
  const ones = createVector(() => 1);
  const zeros = createVector(() => 0);
  const block: Record<string, GgufTensor> = {
    attn_q: createMatrix([]),
    attn_k: createMatrix([]),
    attn_v: createMatrix([
      ...WORDS.flatMap((_, word) => [createCell(word, word, 1), createCell(ALWAYS_ZERO, word, -1)]),
      createCell(FIRST_TOKEN, SHARE, LONE_NORM / PAIR_NORM),
      createCell(ALWAYS_ZERO, SHARE, -LONE_NORM / PAIR_NORM),
    ]),
    attn_output: createMatrix(Array.from({ length: DIMENSIONS }, (_, at) => createCell(at, at, 1))),
    ffn_up: createMatrix(
      WORDS.flatMap((_, word) => [
        createCell(word, word, STEEPNESS),
        createCell(SHARE, word, -1.5 * STEEPNESS),
        createCell(ALWAYS_ZERO, word, 0.5 * STEEPNESS),
      ]),
    ),
    ffn_down: createMatrix(
      WORDS.flatMap((_, word) => [createCell(word, SCORE, 1 / (16 * 8)), createCell(word, NEGATIVE_SCORE, -1 / (16 * 8))]),
    ),
  };
  const tensors: Record<string, GgufTensor> = {
    'token_embd.weight': createRows([
      ...Object.keys(SPECIAL).map((name) => (name === '[CLS]' ? [createCell(FIRST_TOKEN, 0, 1), createCell(NEGATIVE_FIRST_TOKEN, 0, -1)] : [])),
      ...WORDS.map((_, word) => [createCell(word, 0, 1)]),
    ]),
    'token_types.weight': createRows([[], []]),
    'position_embd.weight': createRows(Array.from({ length: RANKING_TOKENS }, () => [])),
    'token_embd_norm.weight': ones,
    'token_embd_norm.bias': zeros,
    ...Object.fromEntries(
      Object.entries(block).flatMap(([name, tensor]) => [
        [`blk.0.${name}.weight`, tensor],
        [`blk.0.${name}.bias`, zeros],
      ]),
    ),
    'blk.0.attn_output_norm.weight': ones,
    'blk.0.attn_output_norm.bias': zeros,
    'blk.0.layer_output_norm.weight': ones,
    'blk.0.layer_output_norm.bias': zeros,
    'cls.output.weight': { shape: [DIMENSIONS, 1], values: createVector((at) => (at === SCORE ? 2 : 0)).values },
    'cls.output.bias': { shape: [1], values: Float32Array.of(-3) },
  };
  return encodeGguf(METADATA, tensors);
}

const METADATA = {
  'general.architecture': 'bert',
  'general.name': 'Words that come twice',
  'bert.block_count': 1,
  'bert.context_length': RANKING_TOKENS,
  'bert.embedding_length': DIMENSIONS,
  'bert.feed_forward_length': DIMENSIONS,
  'bert.attention.head_count': 1,
  'bert.attention.layer_norm_epsilon': { float: 1e-12 },
  'bert.attention.causal': false,
  'bert.pooling_type': 4, // rank
  'tokenizer.ggml.model': 'bert',
  'tokenizer.ggml.token_type_count': 2,
  'tokenizer.ggml.tokens': [...Object.keys(SPECIAL), ...WORDS.map((word) => `\u2581${word}`)],
  'tokenizer.ggml.token_type': [...Object.keys(SPECIAL).map((name) => (name === '[UNK]' ? 2 : 3)), ...WORDS.map(() => 1)],
  'tokenizer.ggml.padding_token_id': SPECIAL['[PAD]'],
  'tokenizer.ggml.unknown_token_id': SPECIAL['[UNK]'],
  'tokenizer.ggml.bos_token_id': SPECIAL['[CLS]'],
  'tokenizer.ggml.seperator_token_id': SPECIAL['[SEP]'], // llama.cpp's spelling
  'tokenizer.ggml.mask_token_id': SPECIAL['[MASK]'],
};

interface Cell {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
}

const createCell = (from: number, to: number, weight: number): Cell => ({ from, to, weight });

const createVector = (at: (index: number) => number): GgufTensor => ({
  shape: [DIMENSIONS],
  values: Float32Array.from({ length: DIMENSIONS }, (_, index) => at(index)),
});

/** Creates a square matrix with these values, zero elsewhere. */
function createMatrix(cells: readonly Cell[]): GgufTensor {
  const values = new Float32Array(DIMENSIONS * DIMENSIONS);
  for (const { from, to, weight } of cells) values[to * DIMENSIONS + from] = weight;
  return { shape: [DIMENSIONS, DIMENSIONS], values };
}

/** Creates one vector for each list of cells; only `from` and `weight` of a cell count. */
function createRows(list: readonly (readonly Cell[])[]): GgufTensor {
  const values = new Float32Array(DIMENSIONS * list.length);
  for (const [row, cells] of list.entries())
    for (const { from, weight } of cells) values[row * DIMENSIONS + from] = weight;
  return { shape: [DIMENSIONS, list.length], values };
}
