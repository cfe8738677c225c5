import { LlamaVocabularyType, type LlamaModel } from 'node-llama-cpp';
import { EMBEDDING_TOKENS_UNSPLIT_MAX } from './limits.ts';
import { assert } from '../../lib/assert.ts';
import { assertContextMethod } from './assert-context-method.ts';

/** A separate context for embeddings. It processes one text at a time. */
export interface NativeEmbeddings {
  /** Longest text in tokens, without the frame tokens around it. */
  readonly textTokensMax: number;
  /** Most tokens of one `evaluate` call. Equals the context size for models that must read a text as a whole. */
  readonly pieceTokensMax: number;
  /** Adds the tokens that this model expects before and after a text. */
  addFrame(tokens: readonly number[]): readonly number[];
  /** Evaluates the next tokens of a framed text; position 0 starts a new text. */
  evaluate(tokens: readonly number[], at: number): Promise<void>;
  /** Returns the vector of the text after all of it was evaluated. */
  readVector(): number[];
}

/**
 * Tokens of a piece. Chosen by Parley and constant, because the size of a batch changes the last bits of the result,
 * and the same text must get the same vector. A piece takes about 0.2 s for a small model on one slow core; larger
 * pieces gain nothing there.
 */
const PIECE_TOKENS = 16;

/**
 * Prompt around a text for a generative model. The vector is that of the last token, which must then express the whole
 * text in one word. Related pairs come out closest this way, while the bare last token of a sentence is mostly a full
 * stop (T. Jiang et al., "Scaling Sentence Embeddings with Large Language Models", 2023).
 */
const ONE_WORD_PROMPT = { before: 'This sentence: "', behind: '" means in one word: "' };

// Methods of the library's internal binding, as read in its C++ source of the pinned version.
interface Binding {
  initBatch(size: number): void;
  addToBatch(sequence: number, at: number, tokens: Uint32Array, outputs: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  disposeSequence(sequence: number): void;
  getEmbedding(tokens: number): Float64Array;
}

/**
 * Opens the library's embedding context, which is evaluated piece by piece (docs/decisions/0010-vectors.md). Returns
 * undefined for a reranking model, whose output is a score.
 */
export async function openNativeEmbeddings(
  model: LlamaModel,
  options: { readonly textTokensMax: number; readonly threads: number },
): Promise<NativeEmbeddings | undefined> {
  if (model.fileInsights.supportsRanking) return undefined;
  const frame = getFrame(model);
  const frameTokens = frame.begin.length + frame.end.length;
  const mustReadWhole = !canReadPieces(model);
  const contextSize = Math.min(
    model.trainContextSize,
    options.textTokensMax + frameTokens,
    mustReadWhole ? EMBEDDING_TOKENS_UNSPLIT_MAX : Infinity,
  );
  const pieceTokensMax = mustReadWhole ? contextSize : Math.min(PIECE_TOKENS, contextSize);
  const context = await model.createEmbeddingContext({
    contextSize,
    batchSize: pieceTokensMax,
    threads: options.threads,
  });
  const binding = getBinding(context);
  return {
    textTokensMax: contextSize - frameTokens,
    pieceTokensMax,
    addFrame: (tokens) => [...frame.begin, ...tokens, ...frame.end],
    async evaluate(tokens, at) {
      if (at === 0) binding.disposeSequence(0);
      binding.initBatch(tokens.length);
      // An embedding context outputs every token; requesting all outputs avoids a warning.
      binding.addToBatch(0, at, Uint32Array.from(tokens), Uint32Array.from(tokens.keys()));
      await binding.decodeBatch();
    },
    readVector: () => Array.from(binding.getEmbedding(1)),
  };
}

/** Pooling types of llama.cpp model files: which tokens a vector is computed from. */
const POOLING_NONE = 0;
const POOLING_LAST = 3;

/**
 * Whether a text can be evaluated in pieces: each token sees only earlier ones, and the vector is that of the last
 * token.
 */
function canReadPieces(model: LlamaModel): boolean {
  const { pooling_type: pooling, attention } = model.fileInfo.architectureMetadata;
  return attention?.causal !== false && (isGenerative(model) || Number(pooling) === POOLING_LAST);
}

const isGenerative = ({ fileInfo }: LlamaModel): boolean => {
  const { pooling_type: pooling, attention } = fileInfo.architectureMetadata;
  return attention?.causal !== false && (pooling === undefined || Number(pooling) === POOLING_NONE);
};

/** Returns the tokens that the library's own tokenizer puts around a text for such a model. */
function getFrame(model: LlamaModel): { readonly begin: readonly number[]; readonly end: readonly number[] } {
  const { tokens, vocabularyType } = model;
  const toList = (token: number | null): readonly number[] => (token === null ? [] : [token]);
  if (vocabularyType === LlamaVocabularyType.wpm) return { begin: toList(tokens.bos), end: toList(tokens.sep) };
  const begin = tokens.shouldPrependBosToken ? toList(tokens.bos) : [];
  if (isGenerative(model))
    return {
      begin: [...begin, ...model.tokenize(ONE_WORD_PROMPT.before)],
      end: model.tokenize(ONE_WORD_PROMPT.behind),
    };
  return { begin, end: tokens.shouldAppendEosToken ? toList(tokens.eos) : [] };
}

function getBinding(context: object): Binding {
  const innerContext: unknown = Reflect.get(context, '_llamaContext');
  assert(
    typeof innerContext === 'object' && innerContext !== null,
    'this build of node-llama-cpp has no embedding context',
  );
  const binding = Reflect.get(innerContext, '_ctx') as Binding;
  for (const name of ['initBatch', 'addToBatch', 'decodeBatch', 'disposeSequence', 'getEmbedding'] as const)
    assertContextMethod(binding, name);
  return binding;
}
