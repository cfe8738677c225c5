import { LlamaVocabularyType } from 'node-llama-cpp';
import type { LlamaModel } from 'node-llama-cpp';
import { EMBEDDING_TOKENS_AT_ONCE_MAX } from '../../core/limits.ts';
import { assert } from '../../lib/assert.ts';

/** A context of its own for vectors: it knows one text at a time. */
export interface NativeEmbeddings {
  /** Most tokens of a text, without its frame. */
  readonly textTokensMax: number;
  /** Most tokens of one `evaluate`: as many as there can be where a text cannot be read in pieces. */
  readonly pieceTokensMax: number;
  /** A text's tokens with what this model wants before and behind them. */
  framed(tokens: readonly number[]): readonly number[];
  /** Evaluates the next tokens of a framed text; at 0 a new one begins. */
  evaluate(tokens: readonly number[], at: number): Promise<void>;
  /** Of the text, when all of it was evaluated. */
  vector(): number[];
}

/**
 * Ours: tokens of a piece, always the same: results change in their last bits with the size of a batch, and the same text
 * should have the same vector. About 0.2 s for a small model on one slow core, where larger ones gain nothing.
 */
const PIECE_TOKENS = 16;

/**
 * What stands around a text for a model that was made to write. Its vector is that of the last token, which then has to say
 * the whole text in one word: pairs that belong together come out closest, while the bare last token of a sentence is
 * mostly a full stop (T. Jiang and others, "Scaling Sentence Embeddings with Large Language Models", 2023).
 */
const ONE_WORD = { before: 'This sentence: "', behind: '" means in one word: "' };

// The binding's methods that we rely on, as read in its C++ source of the pinned version.
interface Binding {
  initBatch(size: number): void;
  addToBatch(sequence: number, at: number, tokens: Uint32Array, outputs: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  disposeSequence(sequence: number): void;
  getEmbedding(tokens: number): Float64Array;
}

/** The library's embedding context, evaluated piece by piece (docs/decisions/0010). Undefined for a model that ranks: its vector is a score. */
export async function openNativeEmbeddings(
  model: LlamaModel,
  options: { readonly textTokensMax: number; readonly threads: number },
): Promise<NativeEmbeddings | undefined> {
  if (model.fileInsights.supportsRanking) return undefined;
  const frame = frameOf(model);
  const frameTokens = frame.begin.length + frame.end.length;
  const isWhole = !readsPieces(model);
  const contextSize = Math.min(
    model.trainContextSize,
    options.textTokensMax + frameTokens,
    isWhole ? EMBEDDING_TOKENS_AT_ONCE_MAX : Infinity,
  );
  const pieceTokensMax = isWhole ? contextSize : Math.min(PIECE_TOKENS, contextSize);
  const context = await model.createEmbeddingContext({
    contextSize,
    batchSize: pieceTokensMax,
    threads: options.threads,
  });
  const binding = bindingOf(context);
  return {
    textTokensMax: contextSize - frameTokens,
    pieceTokensMax,
    framed: (tokens) => [...frame.begin, ...tokens, ...frame.end],
    async evaluate(tokens, at) {
      if (at === 0) binding.disposeSequence(0);
      binding.initBatch(tokens.length);
      // Such a context has an output for every token; saying so spares a warning.
      binding.addToBatch(0, at, Uint32Array.from(tokens), Uint32Array.from(tokens.keys()));
      await binding.decodeBatch();
    },
    vector: () => Array.from(binding.getEmbedding(1)),
  };
}

/** What a model file says of the token, or tokens, a vector is made of. */
const POOLING_NONE = 0;
const POOLING_LAST = 3;

/** A token that sees only what stands before it may be evaluated before the rest; so may a vector that is the last token's. */
function readsPieces(model: LlamaModel): boolean {
  const { pooling_type: pooling, attention } = model.fileInfo.architectureMetadata;
  return attention?.causal !== false && (isMadeToWrite(model) || Number(pooling) === POOLING_LAST);
}

const isMadeToWrite = ({ fileInfo }: LlamaModel): boolean => {
  const { pooling_type: pooling, attention } = fileInfo.architectureMetadata;
  return attention?.causal !== false && (pooling === undefined || Number(pooling) === POOLING_NONE);
};

/** As the library's own tokenizer frames a text for such a model. */
function frameOf(model: LlamaModel): { readonly begin: readonly number[]; readonly end: readonly number[] } {
  const { tokens, vocabularyType } = model;
  const list = (token: number | null): readonly number[] => (token === null ? [] : [token]);
  if (vocabularyType === LlamaVocabularyType.wpm) return { begin: list(tokens.bos), end: list(tokens.sep) };
  const begin = tokens.shouldPrependBosToken ? list(tokens.bos) : [];
  if (isMadeToWrite(model))
    return { begin: [...begin, ...model.tokenize(ONE_WORD.before)], end: model.tokenize(ONE_WORD.behind) };
  return { begin, end: tokens.shouldAppendEosToken ? list(tokens.eos) : [] };
}

function bindingOf(context: object): Binding {
  const inner: unknown = Reflect.get(context, '_llamaContext');
  assert(typeof inner === 'object' && inner !== null, 'this build of node-llama-cpp has no embedding context');
  const binding = Reflect.get(inner, '_ctx') as Binding;
  for (const name of ['initBatch', 'addToBatch', 'decodeBatch', 'disposeSequence', 'getEmbedding'] as const)
    assert(typeof binding[name] === 'function', `this build of node-llama-cpp lacks context.${name}`);
  return binding;
}
