import { ggufFile } from './gguf.ts';
import type { GgufTensor } from './gguf.ts';

/** Tokens of a query and a document together that `rankingModel` can read at once. */
export const RANKING_TOKENS = 256;

/** What it can read; every other word is a stranger to it. */
const WORDS = (
  'a and are at bakers bake blue boat boats bread bright by calm cats chase colour deep dogs eat evening fish fly for ' +
  'green hot in is mice morning night of on over red sail sea ship ships sky sleep stars storm sun the under warm water ' +
  'waves what where with'
).split(' ');

const SPECIAL = { '[PAD]': 0, '[UNK]': 1, '[CLS]': 2, '[SEP]': 3, '[MASK]': 4 } as const;

/** Of a vector: one for each word, and these behind them. */
const FIRST = WORDS.length;
const AGAINST_FIRST = FIRST + 1;
const SHARE = FIRST + 2;
const ALWAYS_ZERO = FIRST + 3;
const SCORE = FIRST + 4;
const AGAINST_SCORE = FIRST + 5;
const DIMENSIONS = 64;

/** Layer norms make of a 1 among zeros, and of a 1 and a -1 among zeros, a number that is larger than the others by this. */
const LONE = DIMENSIONS / Math.sqrt(DIMENSIONS - 1);
const PAIR = Math.sqrt(DIMENSIONS / 2);

/** So large that the bend of the activation function looks like a corner, for every length. */
const STEEP = 2 * RANKING_TOKENS;

/**
 * A cross-encoder in the form of real ones (BERT with a ranking head), whose weights are set by hand: the more words of
 * a query and a document are the same, the higher the score. It looks for words that come twice in both together, so a
 * document that repeats itself fools it.
 *
 * The first token attends to all alike: what it reads is how often each word comes, divided by the number of tokens, and
 * in SHARE what once is. The hidden layer lets through what is more than one and a half of that, and adds it up.
 */
export function rankingModel(): Uint8Array {
  const ones = vector(() => 1);
  const none = vector(() => 0);
  const block: Record<string, GgufTensor> = {
    attn_q: matrix([]),
    attn_k: matrix([]),
    attn_v: matrix([
      ...WORDS.flatMap((_, word) => [set(word, word, 1), set(ALWAYS_ZERO, word, -1)]),
      set(FIRST, SHARE, LONE / PAIR),
      set(ALWAYS_ZERO, SHARE, -LONE / PAIR),
    ]),
    attn_output: matrix(Array.from({ length: DIMENSIONS }, (_, at) => set(at, at, 1))),
    ffn_up: matrix(
      WORDS.flatMap((_, word) => [
        set(word, word, STEEP),
        set(SHARE, word, -1.5 * STEEP),
        set(ALWAYS_ZERO, word, 0.5 * STEEP),
      ]),
    ),
    ffn_down: matrix(
      WORDS.flatMap((_, word) => [set(word, SCORE, 1 / (16 * 8)), set(word, AGAINST_SCORE, -1 / (16 * 8))]),
    ),
  };
  const tensors: Record<string, GgufTensor> = {
    'token_embd.weight': rows([
      ...Object.keys(SPECIAL).map((name) => (name === '[CLS]' ? [set(FIRST, 0, 1), set(AGAINST_FIRST, 0, -1)] : [])),
      ...WORDS.map((_, word) => [set(word, 0, 1)]),
    ]),
    'token_types.weight': rows([[], []]),
    'position_embd.weight': rows(Array.from({ length: RANKING_TOKENS }, () => [])),
    'token_embd_norm.weight': ones,
    'token_embd_norm.bias': none,
    ...Object.fromEntries(
      Object.entries(block).flatMap(([name, tensor]) => [
        [`blk.0.${name}.weight`, tensor],
        [`blk.0.${name}.bias`, none],
      ]),
    ),
    'blk.0.attn_output_norm.weight': ones,
    'blk.0.attn_output_norm.bias': none,
    'blk.0.layer_output_norm.weight': ones,
    'blk.0.layer_output_norm.bias': none,
    'cls.output.weight': { shape: [DIMENSIONS, 1], values: vector((at) => (at === SCORE ? 2 : 0)).values },
    'cls.output.bias': { shape: [1], values: Float32Array.of(-3) },
  };
  return ggufFile(METADATA, tensors);
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
  'bert.pooling_type': 4, // of rankers
  'tokenizer.ggml.model': 'bert',
  'tokenizer.ggml.token_type_count': 2,
  'tokenizer.ggml.tokens': [...Object.keys(SPECIAL), ...WORDS.map((word) => `\u2581${word}`)],
  'tokenizer.ggml.token_type': [...Object.keys(SPECIAL).map((name) => (name === '[UNK]' ? 2 : 3)), ...WORDS.map(() => 1)],
  'tokenizer.ggml.padding_token_id': SPECIAL['[PAD]'],
  'tokenizer.ggml.unknown_token_id': SPECIAL['[UNK]'],
  'tokenizer.ggml.bos_token_id': SPECIAL['[CLS]'],
  'tokenizer.ggml.seperator_token_id': SPECIAL['[SEP]'], // as llama.cpp spells it
  'tokenizer.ggml.mask_token_id': SPECIAL['[MASK]'],
};

interface Cell {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
}

const set = (from: number, to: number, weight: number): Cell => ({ from, to, weight });

const vector = (at: (index: number) => number): GgufTensor => ({
  shape: [DIMENSIONS],
  values: Float32Array.from({ length: DIMENSIONS }, (_, index) => at(index)),
});

/** Zero but for these. */
function matrix(cells: readonly Cell[]): GgufTensor {
  const values = new Float32Array(DIMENSIONS * DIMENSIONS);
  for (const { from, to, weight } of cells) values[to * DIMENSIONS + from] = weight;
  return { shape: [DIMENSIONS, DIMENSIONS], values };
}

/** A vector for each, zero but for what stands in its cells' `from`. */
function rows(list: readonly (readonly Cell[])[]): GgufTensor {
  const values = new Float32Array(DIMENSIONS * list.length);
  for (const [row, cells] of list.entries())
    for (const { from, weight } of cells) values[row * DIMENSIONS + from] = weight;
  return { shape: [DIMENSIONS, list.length], values };
}
