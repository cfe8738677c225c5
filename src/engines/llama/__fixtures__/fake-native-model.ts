import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { GrammarRefusedError, type CompileGrammars } from '../../grammar-compiler.ts';
import type { NativeGrammar } from '../native-grammars.ts';
import type { DecodeItem, NativeModel, SamplerOptions } from '../native-model.ts';
import type { LogitsIndex } from '../raw-probabilities.ts';

export const IM_START = 256;
export const IM_END = 257;
export const TOOL_CALL = 258;
const SPECIAL: Readonly<Record<string, number>> = { '<|im_start|>': IM_START, '<|im_end|>': IM_END };
const MARKUP: Readonly<Record<string, number>> = { '<tool_call>': TOOL_CALL };
const VOCABULARY_SIZE = 259;

export interface FakeNativeModelOptions {
  readonly contextTokens?: number;
  readonly sequences?: number;
  readonly batchTokensMax?: number;
  /**
   * Returns the model's answer, as text or tokens, to a prompt that ends with the last `|` of the context. The answer
   * is followed by the end token. Without a `|` in the context the model never ends: each token is a letter that
   * depends on all tokens before it and on the seed.
   */
  readonly answer?: (prompt: string, seed: number) => string | readonly number[];
  /** Called in the middle of each decode; an error fails the decode. `count` numbers the decodes from 1. */
  readonly onDecode?: (items: readonly DecodeItem[], count: number) => void;
  readonly canTruncate?: boolean;
  readonly canRank?: boolean;
  /** Called in the middle of evaluating a piece of a text to embed; an error fails the evaluation. */
  readonly onPiece?: (tokens: readonly number[]) => void;
  /** Called before a state is written; an error simulates a full disk. */
  readonly onSave?: (file: string) => void;
}

export interface FakeNativeModel extends NativeModel {
  /** All decodes so far. */
  readonly decodes: (readonly DecodeItem[])[];
  readonly copies: { readonly from: number; readonly to: number }[];
  /** Log probabilities that were read: the tokens before a token, and the token. */
  readonly readings: { readonly context: readonly number[]; readonly token: number }[];
  /** Number of samplers that were created and not disposed. */
  readonly activeSamplers: number;
  cells(sequence: number): readonly number[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * A model whose tokens are bytes and whose answers are predictable. It asserts what the native library requires: each
 * item continues its sequence without a gap, and no sequence occurs twice in a batch.
 */
export function createFakeNativeModel({
  contextTokens = 512,
  sequences = 4,
  batchTokensMax = 128,
  answer,
  onDecode,
  canTruncate = true,
  canRank = false,
  onPiece,
  onSave,
}: FakeNativeModelOptions = {}): FakeNativeModel {
  const cells: number[][] = Array.from({ length: sequences }, () => []);
  const decodes: (readonly DecodeItem[])[] = [];
  const copies: { from: number; to: number }[] = [];
  const readings: { context: readonly number[]; token: number }[] = [];
  const logitsContexts: (readonly number[])[] = [];
  let samplersAlive = 0;

  const getCells = (sequence: number): number[] => {
    const found = cells[sequence];
    assert.ok(found, `there is no sequence ${sequence}`);
    return found;
  };

  const nextToken = (context: readonly number[], seed: number): number => {
    if (!answer) return pickLetter(context, seed);
    const text = detokenize(context);
    const from = text.lastIndexOf('|') + 1;
    if (from === 0) return pickLetter(context, seed);
    const output = answer(text.slice(0, from), seed);
    const tokens = typeof output === 'string' ? encoder.encode(output) : output;
    return tokens[context.length - context.lastIndexOf('|'.charCodeAt(0)) - 1] ?? IM_END;
  };

  return {
    decodes,
    copies,
    readings,
    get activeSamplers() {
      return samplersAlive;
    },
    cells: getCells,
    loaded: {
      contextTokens,
      vocabularySize: VOCABULARY_SIZE,
      vectorDimensions: 4,
      specialTokens: [...Object.keys(SPECIAL), ...Object.keys(MARKUP)],
      bosToken: '',
      eosToken: '<|im_end|>',
    },
    sequences,
    batchTokensMax,
    shouldPrependBos: false,
    bosToken: -1,
    markupInText: Object.keys(MARKUP),
    tokenize(text, special) {
      const known = special ? { ...MARKUP, ...SPECIAL } : MARKUP;
      const pattern = new RegExp(Object.keys(known).map(RegExp.escape).join('|'), 'g');
      const tokens: number[] = [];
      let from = 0;
      for (const match of text.matchAll(pattern)) {
        tokens.push(...encoder.encode(text.slice(from, match.index)), known[match[0]] ?? -1);
        from = match.index + match[0].length;
      }
      return [...tokens, ...encoder.encode(text.slice(from))];
    },
    tokenBytes: (token) => (token < 256 ? Uint8Array.of(token) : encoder.encode(detokenize([token]))),
    isEnd: (token) => token === IM_END,
    isControl: (token) => token === IM_START || token === IM_END,
    async decode(items) {
      decodes.push(items);
      const count = items.reduce((sum, item) => sum + item.tokens.length, 0);
      assert.ok(count <= batchTokensMax, `a batch of ${count} tokens`);
      assert.equal(new Set(items.map((item) => item.sequence)).size, items.length, 'a sequence stands twice in a batch');
      await new Promise((resolve) => setImmediate(resolve));
      onDecode?.(items, decodes.length);
      logitsContexts.length = 0; // logits are valid until the next decode
      return items.map((item) => {
        const sequence = getCells(item.sequence);
        assert.equal(item.position, sequence.length, `sequence ${item.sequence} is not continued where it ends`);
        assert.ok(item.tokens.length > 0, 'an empty item');
        const first = sequence.length;
        sequence.push(...item.tokens);
        assert.ok(sequence.length <= contextTokens, 'more cells than the context has');
        return Array.from(item.tokens.keys())
          .slice({ none: Infinity, last: -1, all: 0 }[item.logits])
          .map((at) => (logitsContexts.push(sequence.slice(0, first + at + 1)) - 1) as LogitsIndex);
      });
    },
    createSampler(options: SamplerOptions) {
      samplersAlive++;
      const state = options.grammar?.newState();
      let isAlive = true;
      let sampled = 0;
      return {
        async sample(logitsIndex) {
          assert.ok(isAlive, 'a sampler was used after its end');
          const context = logitsContexts[logitsIndex];
          assert.ok(context, 'logits were read after the next decode');
          await Promise.resolve();
          if (typeof state === 'string') return encoder.encode(state)[sampled++];
          return nextToken(context, options.seed);
        },
        dispose() {
          if (isAlive) samplersAlive--;
          isAlive = false;
        },
      };
    },
    async topLogprobs(logitsIndex, { top, token }) {
      const context = logitsContexts[logitsIndex];
      assert.ok(context, 'logits were read after the next decode');
      readings.push({ context, token });
      return { token: -0.5, top: [token, 65, 66, 67, 68].slice(0, top).map((id, i) => ({ token: id, logprob: -0.5 - i })) };
    },
    /** A grammar of the fake model is the one text that it allows. */
    createGrammar(gbnf): NativeGrammar {
      if (gbnf === 'broken') throw new Error('Failed to parse grammar');
      return { newState: () => gbnf, releaseState: () => undefined };
    },
    truncate(sequence, length) {
      getCells(sequence).length = canTruncate ? length : 0;
      return canTruncate;
    },
    clear: (sequence) => void (getCells(sequence).length = 0),
    async copy(from, to, tokens) {
      copies.push({ from, to });
      assert.deepEqual([...tokens], getCells(from), 'a copy of something else than the cells hold');
      getCells(to).splice(0, Infinity, ...tokens);
    },
    async saveState(sequence, tokens, file) {
      assert.deepEqual([...tokens], getCells(sequence), 'a state of something else than the cells hold');
      onSave?.(file);
      await writeFile(file, JSON.stringify(tokens));
    },
    async loadState(sequence, file) {
      assert.equal(getCells(sequence).length, 0, 'a state is loaded into an empty sequence');
      const tokens: number[] = JSON.parse(await readFile(file, 'utf8'));
      getCells(sequence).push(...tokens);
      return [...tokens];
    },
    openEmbeddings: async ({ textTokensMax }) => {
      let evaluated: number[] = [];
      return {
        textTokensMax: Math.min(textTokensMax, contextTokens),
        pieceTokensMax: 4,
        addFrame: (tokens) => [IM_START, ...tokens],
        async evaluate(tokens, at) {
          if (at === 0) evaluated = [];
          assert.equal(at, evaluated.length, 'the text is not continued where it ends');
          assert.ok(tokens.length > 0 && tokens.length <= 4, `a piece of ${tokens.length} tokens`);
          await new Promise((resolve) => setImmediate(resolve));
          onPiece?.(tokens);
          evaluated.push(...tokens);
        },
        readVector: () => createVector(evaluated),
      };
    },
    openRanking: async () => {
      if (!canRank) return undefined;
      return {
        tokensMax: 64,
        countTokens: (query, document) => encoder.encode(query + document).length,
        score: async (query, document) => (document.includes(query) ? 0.9 : 0.1),
      };
    },
    dispose: async () => undefined,
  };
}

/** A vector: the counts of the letters a, b and c, and the number of tokens. */
const createVector = (tokens: readonly number[]): number[] => [
  ...[97, 98, 99].map((letter) => tokens.filter((token) => token === letter).length),
  tokens.length,
];

/**
 * Compiles grammars of the fake model, which are texts. `bad` is rejected; `broken` fails when the library parses it; `wide` is wide.
 */
export const compileTestGrammars: CompileGrammars = async (grammars) =>
  grammars.map((grammar) => {
    const text = grammar.type === 'text' ? grammar.text : JSON.stringify(grammar);
    if (text === 'bad') throw new GrammarRefusedError('The schema is bad.', 'tools[0]');
    return { gbnf: text, isWide: text === 'wide' };
  });

/** Decodes tokens; special tokens show as their texts. */
export function detokenize(tokens: readonly number[]): string {
  const names = Object.entries({ ...SPECIAL, ...MARKUP });
  let text = '';
  let bytes: number[] = [];
  for (const token of tokens) {
    if (token < 256) {
      bytes.push(token);
      continue;
    }
    text += decoder.decode(Uint8Array.from(bytes)) + (names.find(([, id]) => id === token)?.[0] ?? '?');
    bytes = [];
  }
  return text + decoder.decode(Uint8Array.from(bytes));
}

function pickLetter(context: readonly number[], seed: number): number {
  let hash = seed >>> 0;
  for (const token of context) hash = (Math.imul(hash, 31) + token) >>> 0;
  return 97 + (hash % 26);
}
