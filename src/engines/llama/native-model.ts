import {
  getLlama,
  LlamaLogLevel,
  type Llama,
  type LlamaContext,
  type LlamaContextOptions,
  type LlamaModel,
} from 'node-llama-cpp';
import { assert } from '../../lib/assert.ts';
import type { LoadedModel } from '../engine.ts';
import { CONTEXT_MEMORY_SHARE } from '../limits.ts';
import { planContext, type ContextPlan } from '../plan-context.ts';
import type { LlamaProcessArguments } from './protocol.ts';
import { openNativeEmbeddings, type NativeEmbeddings } from './native-embeddings.ts';
import { openNativeRanking, type NativeRanking } from './native-ranking.ts';
import { createNativeGrammars, type BindingGrammars, type NativeGrammar } from './native-grammars.ts';
import {
  createRawProbabilities,
  type BindingSampler,
  type LogitsIndex,
  type LogitsIndexes,
  type RawLogprobs,
  type SamplingBinding,
} from './raw-probabilities.ts';
import { createSamplerPool } from './sampler-pool.ts';
import {
  listMarkupInText,
  listSpecialTokens,
  TOKEN_ATTRIBUTE_CONTROL,
  TOKEN_ATTRIBUTE_USER_DEFINED,
  type NativeVocabulary,
} from './list-special-tokens.ts';
import { readChatTemplates } from './read-chat-templates.ts';
import { readFillTokens } from './read-fill-tokens.ts';
import { assertContextMethod } from './assert-context-method.ts';

/**
 * The native library as the scheduler needs it: one `decode` per tick over all sequences, and separate sampling.
 *
 * The library's public generators choose themselves what shares a batch, and cannot return raw probabilities together
 * with a grammar; its internal binding can do both. Parley uses the binding (docs/decisions/0004-engine-binding.md), so
 * the version is pinned and `openNativeModel` checks that the methods it uses exist.
 */
export interface NativeModel {
  readonly loaded: LoadedModel;
  readonly sequences: number;
  /** Most tokens of one `decode` call. */
  readonly batchTokensMax: number;
  readonly shouldPrependBos: boolean;
  readonly bosToken: number;
  /** Markup such as `<tool_call>` that the library's tokenizer turns into one token even in plain text. */
  readonly markupInText: readonly string[];
  tokenize(text: string, special: boolean): number[];
  /** Returns the bytes that a token stands for. */
  tokenBytes(token: number): Uint8Array;
  isEnd(token: number): boolean;
  isControl(token: number): boolean;
  /**
   * Evaluates all items in one batch. Returns, for each item, the indexes of the logits that it requests, in the order of
   * its tokens. They are valid until the next decode.
   */
  decode(items: readonly DecodeItem[]): Promise<readonly LogitsIndexes[]>;
  createSampler(options: SamplerOptions): NativeSampler;
  /** Returns the model's own log probabilities, before any sampling option. */
  topLogprobs(logitsIndex: LogitsIndex, request: { top: number; token: number }): Promise<RawLogprobs>;
  /** Returns the parsed grammar, from a cache if possible. @throws Error if the grammar cannot be parsed. */
  createGrammar(gbnf: string): NativeGrammar;
  /** Removes the cells from `length` on. Returns false if the model cannot do so; the sequence is empty then. */
  truncate(sequence: number, length: number): boolean;
  clear(sequence: number): void;
  copy(from: number, to: number, tokens: readonly number[], file: string): Promise<void>;
  /** @throws Error if the file cannot be written; an incomplete file may remain. */
  saveState(sequence: number, tokens: readonly number[], file: string): Promise<void>;
  /** Loads a state into an empty sequence and returns its tokens. @throws Error if the file cannot be read. */
  loadState(sequence: number, file: string): Promise<number[]>;
  /** Opens a second context on the same weights, which takes memory. Returns undefined for a reranking model. */
  openEmbeddings(options: { readonly textTokensMax: number }): Promise<NativeEmbeddings | undefined>;
  /** Opens a second context in the same way. Returns undefined for a model that is not a reranking model. */
  openRanking(): Promise<NativeRanking | undefined>;
  dispose(): Promise<void>;
}

export interface DecodeItem {
  readonly sequence: number;
  /** Position of the first token in its sequence. */
  readonly position: number;
  readonly tokens: readonly number[];
  /** Tokens whose logits are computed. `all` takes memory for the whole vocabulary per token. */
  readonly logits: 'none' | 'last' | 'all';
}

export interface SamplerOptions {
  /** 0 means greedy sampling. */
  readonly temperature: number;
  readonly topP: number;
  /** 0 switches it off. */
  readonly topK: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
  readonly seed: number;
  /** Tokens that were generated before this sampler was created; penalties consider them. */
  readonly history: readonly number[];
  readonly grammar?: NativeGrammar;
}

export interface NativeSampler {
  /** Returns the next token, or undefined if no token is allowed because the grammar is complete. */
  sample(logitsIndex: LogitsIndex): Promise<number | undefined>;
  /** May be called during a sampling; resources are then released after it. */
  dispose(): void;
}

/** Window of all penalties (repetition, presence, frequency): the last tokens of the answer. Chosen by Parley. */
const PENALTY_WINDOW_TOKENS = 1024;

// Methods of the library's internal binding, as read in its C++ source of the pinned version.
interface Binding extends SamplingBinding {
  initBatch(size: number): void;
  addToBatch(sequence: number, at: number, tokens: Uint32Array, logitIndexes: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  disposeSequence(sequence: number): void;
  removeTokenCellsFromSequence(sequence: number, start: number, end: number): boolean;
  saveSequenceStateToFile(file: string, sequence: number, tokens: Uint32Array): Promise<number>;
  loadSequenceStateFromFile(file: string, sequence: number, contextMax: number): Promise<Uint32Array>;
}

interface BindingModel extends NativeVocabulary {
  tokenize(text: string, special: boolean): Uint32Array;
  isEogToken(token: number): boolean;
  shouldPrependBosToken(): boolean;
  tokenBos(): number;
  tokenEos(): number;
}

interface Internals extends BindingGrammars {
  readonly context: Binding;
  readonly model: BindingModel;
  readonly AddonSampler: new (model: BindingModel) => BindingSampler;
}

/** Most tokens of one evaluation. */
const BATCH_TOKENS = 512;

type ContextShape = Pick<LlamaContextOptions, 'flashAttention' | 'swaFullCache'> & { readonly batchSize: number };

type OpenOptions = Pick<
  LlamaProcessArguments,
  'modelFile' | 'adapter' | 'contextTokens' | 'sequences' | 'threads' | 'gpu'
>;

export async function openNativeModel(options: OpenOptions): Promise<NativeModel> {
  const llama = await getLlama({
    gpu: options.gpu,
    build: 'never',
    maxThreads: 0,
    skipDownload: true,
    logLevel: LlamaLogLevel.error,
  });
  const model = await llama.loadModel({ modelPath: options.modelFile });
  const shape = {
    batchSize: BATCH_TOKENS,
    // On CPUs, the library's flash attention takes twice the time of plain attention after a long history.
    flashAttention: llama.gpu === false ? false : 'auto',
    // Sliding-window models would otherwise drop cells, and prefixes could not be reused.
    swaFullCache: true,
  } as const;
  const { threads } = options;
  // The library accepts any context size; beyond the trained size, the output is noise.
  const { contextTokens, sequences } =
    options.contextTokens === undefined
      ? await planNativeContext(llama, model, { sequences: options.sequences, shape })
      : { ...options, contextTokens: Math.min(options.contextTokens, model.trainContextSize) };
  const { adapter } = options;
  const context = await model.createContext({
    ...shape,
    contextSize: contextTokens,
    threads,
    sequences,
    failedCreationRemedy: false,
    ...(adapter ? { lora: { adapters: [{ filePath: adapter.file, scale: adapter.scale }] } } : {}),
  });
  const internals = getInternals(llama, model, context);
  return createNativeModel({ llama, model, context, internals, contextTokens, sequences, threads });
}

/** Chooses contexts that leave a share of the free memory of the machine, and fit into that of its GPU. */
async function planNativeContext(
  llama: Llama,
  model: LlamaModel,
  { sequences, shape }: { readonly sequences: number; readonly shape: ContextShape },
): Promise<ContextPlan> {
  const ramBytes = process.availableMemory() * CONTEXT_MEMORY_SHARE;
  const vramBytes = llama.gpu === false ? Infinity : (await llama.getVramState()).free;
  return await planContext({
    trainedTokens: model.trainContextSize,
    sequences,
    async isFitting(plan) {
      const { cpuRam, gpuVram } = await model.fileInsights.estimateContextResourceRequirementsV2({
        ...shape,
        contextSize: plan.contextTokens,
        sequences: plan.sequences,
        modelGpuLayers: model.gpuLayers,
      });
      return cpuRam <= ramBytes && gpuVram <= vramBytes;
    },
  });
}

/** Reads private members of the library; no other function does so. */
function getInternals(llama: Llama, model: LlamaModel, context: LlamaContext): Internals {
  const bindings: unknown = Reflect.get(llama, '_bindings');
  const internals = {
    exports: bindings,
    context: Reflect.get(context, '_ctx'),
    model: Reflect.get(model, '_model'),
    AddonSampler: Reflect.get(bindings as object, 'AddonSampler'),
    AddonGrammar: Reflect.get(bindings as object, 'AddonGrammar'),
    AddonGrammarEvaluationState: Reflect.get(bindings as object, 'AddonGrammarEvaluationState'),
  } as Internals;
  for (const name of ['initBatch', 'addToBatch', 'decodeBatch', 'sampleToken', 'disposeSequence'] as const)
    assertContextMethod(internals.context, name);
  for (const name of ['AddonSampler', 'AddonGrammar', 'AddonGrammarEvaluationState'] as const)
    assert(typeof internals[name] === 'function', `this build of node-llama-cpp lacks ${name}`);
  return internals;
}

interface NativeModelParts {
  llama: Llama;
  model: LlamaModel;
  context: LlamaContext;
  internals: Internals;
  contextTokens: number;
  sequences: number;
  threads: number;
}

function createNativeModel({
  llama,
  model,
  context,
  internals,
  contextTokens,
  sequences,
  threads,
}: NativeModelParts): NativeModel {
  const { context: binding, model: vocabulary } = internals;
  const metadata = model.fileInfo.metadata;
  const vocabularySize = metadata.tokenizer?.ggml?.tokens?.length ?? 0;
  const fill = readFillTokens({ ...metadata.tokenizer?.ggml }, (token) => vocabulary.getTokenString(token));
  const specialTokens = listSpecialTokens(vocabulary, vocabularySize, fill?.ids);
  const specialIds = new Map(specialTokens.map(({ text, id }) => [text, id]));
  const readTokenBytes = createByteReader(model.vocabularyType === 'bpe' ? 'bpe' : 'spm', vocabulary);

  const pool = createSamplerPool(() => new internals.AddonSampler(vocabulary));
  const grammars = createNativeGrammars(internals);

  const readRawLogprobs = createRawProbabilities({
    binding,
    createSampler(config) {
      const sampler = new internals.AddonSampler(vocabulary);
      sampler.applyConfig(config);
      return sampler;
    },
    vocabularySize,
  });

  return {
    loaded: {
      contextTokens,
      vocabularySize,
      vectorDimensions: model.embeddingVectorSize,
      ...readChatTemplates({ ...metadata.tokenizer }),
      specialTokens: specialTokens.map(({ text }) => text),
      ...(fill ? { fillTokens: fill.fillTokens } : {}),
      bosToken: vocabulary.tokenBos() >= 0 ? vocabulary.getTokenString(vocabulary.tokenBos()) : '',
      eosToken: vocabulary.tokenEos() >= 0 ? vocabulary.getTokenString(vocabulary.tokenEos()) : '',
    },
    sequences,
    batchTokensMax: context.batchSize,
    shouldPrependBos: vocabulary.shouldPrependBosToken(),
    bosToken: vocabulary.tokenBos(),
    markupInText: listMarkupInText(specialTokens),
    tokenize(text, special) {
      // Also finds tokens that only the file's metadata names as special.
      const id = special ? specialIds.get(text) : undefined;
      return id === undefined ? Array.from(vocabulary.tokenize(text, special)) : [id];
    },
    tokenBytes: readTokenBytes,
    isEnd: (token) => vocabulary.isEogToken(token),
    isControl: (token) => (vocabulary.getTokenAttributes(token) & TOKEN_ATTRIBUTE_CONTROL) !== 0,
    async decode(items) {
      binding.initBatch(items.reduce((sum, item) => sum + item.tokens.length, 0));
      const logitsIndexes = items.map(
        (item) =>
          binding.addToBatch(
            item.sequence,
            item.position,
            Uint32Array.from(item.tokens),
            selectLogits(item),
          ) as ArrayLike<number> as LogitsIndexes,
      );
      await binding.decodeBatch();
      return logitsIndexes;
    },
    createSampler(options) {
      const { grammar } = options;
      const state = grammar?.newState();
      const sampler = pool.acquire(samplerConfig(options, state));
      let sampling: Promise<unknown> | undefined;
      const release = (): void => {
        pool.release(sampler);
        grammar?.releaseState();
      };
      return {
        async sample(logitsIndex) {
          const sampled = binding.sampleToken(logitsIndex, sampler);
          sampling = sampled;
          try {
            const token = await sampled;
            return token < 0 ? undefined : token;
          } finally {
            sampling = undefined;
          }
        },
        // The sampling thread may still use the sampler, which must not change meanwhile.
        dispose: () => (sampling ? void sampling.then(release, release) : release()),
      };
    },
    topLogprobs: readRawLogprobs,
    createGrammar: grammars.get,
    truncate(sequence, length) {
      if (binding.removeTokenCellsFromSequence(sequence, length, -1)) return true;
      binding.disposeSequence(sequence);
      return false;
    },
    clear: (sequence) => binding.disposeSequence(sequence),
    async copy(from, to, tokens, file) {
      await binding.saveSequenceStateToFile(file, from, Uint32Array.from(tokens));
      await binding.loadSequenceStateFromFile(file, to, contextTokens);
    },
    async saveState(sequence, tokens, file) {
      await binding.saveSequenceStateToFile(file, sequence, Uint32Array.from(tokens));
    },
    loadState: async (sequence, file) =>
      Array.from(await binding.loadSequenceStateFromFile(file, sequence, contextTokens)),
    openEmbeddings: ({ textTokensMax }) =>
      openNativeEmbeddings(model, { textTokensMax: Math.min(textTokensMax, contextTokens), threads }),
    openRanking: () => openNativeRanking(model, { threads }),
    async dispose() {
      await context.dispose();
      await model.dispose();
      await llama.dispose();
    },
  };
}

/** Returns the indexes of the item's tokens whose logits are requested. */
function selectLogits({ tokens, logits }: DecodeItem): Uint32Array {
  switch (logits) {
    case 'none':
      return new Uint32Array();
    case 'last':
      return Uint32Array.of(tokens.length - 1);
    case 'all':
      return Uint32Array.from(tokens.keys());
  }
}

function samplerConfig(options: SamplerOptions, grammarState: unknown): Record<string, unknown> {
  const usesPenalties =
    options.repetitionPenalty !== 1 || options.presencePenalty !== 0 || options.frequencyPenalty !== 0;
  return {
    // The binding samples greedily if no temperature is set.
    ...(options.temperature > 0
      ? {
          temperature: options.temperature,
          seed: options.seed,
          ...(options.topK > 0 ? { topK: options.topK } : {}),
          ...(options.topP < 1 ? { topP: options.topP } : {}),
          ...(options.minP > 0 ? { minP: options.minP } : {}),
        }
      : {}),
    ...(usesPenalties
      ? {
          repeatPenaltyTokens: Uint32Array.from(options.history.slice(-PENALTY_WINDOW_TOKENS)),
          repeatPenaltyMaxTokens: PENALTY_WINDOW_TOKENS,
          repeatPenalty: options.repetitionPenalty,
          repeatPenaltyPresencePenalty: options.presencePenalty,
          repeatPenaltyFrequencyPenalty: options.frequencyPenalty,
        }
      : {}),
    ...(options.logitBias.length > 0
      ? {
          tokenBiasKeys: Uint32Array.from(options.logitBias.map(([token]) => token)),
          tokenBiasValues: Float32Array.from(options.logitBias.map(([, bias]) => bias)),
        }
      : {}),
    ...(grammarState === undefined ? {} : { grammarEvaluationState: grammarState }),
  };
}

/**
 * Creates a function that returns the bytes of a token from its spelling in the vocabulary. Byte-level BPE spells each
 * byte as one printable character; SentencePiece spells a blank as U+2581 and single bytes as <0xNN>.
 */
function createByteReader(kind: 'bpe' | 'spm', vocabulary: BindingModel): (token: number) => Uint8Array {
  const cache = new Map<number, Uint8Array>();
  const encoder = new TextEncoder();
  const byteByCharacter = bpeByteTable();
  const read = (token: number): Uint8Array => {
    const spelling = vocabulary.getTokenString(token);
    if ((vocabulary.getTokenAttributes(token) & (TOKEN_ATTRIBUTE_CONTROL | TOKEN_ATTRIBUTE_USER_DEFINED)) !== 0)
      return encoder.encode(spelling);
    if (kind === 'bpe') {
      const bytes: number[] = [];
      for (const character of spelling) {
        const byte = byteByCharacter.get(character);
        if (byte === undefined) return encoder.encode(spelling);
        bytes.push(byte);
      }
      return Uint8Array.from(bytes);
    }
    const singleByte = /^<0x([0-9A-F]{2})>$/.exec(spelling)?.[1];
    return singleByte
      ? Uint8Array.of(Number.parseInt(singleByte, 16))
      : encoder.encode(spelling.replaceAll('\u2581', ' '));
  };
  return (token) => {
    let bytes = cache.get(token);
    if (!bytes) {
      bytes = read(token);
      cache.set(token, bytes);
    }
    return bytes;
  };
}

/** GPT-2's byte table: printable bytes stand for themselves, the others for U+0100 and up, in order. */
function bpeByteTable(): ReadonlyMap<string, number> {
  const table = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    table.set(String.fromCodePoint(isPrintable ? byte : next++), byte);
  }
  return table;
}
