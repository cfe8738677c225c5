import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import type { Llama, LlamaContext, LlamaModel } from 'node-llama-cpp';
import { assert } from '../../lib/assert.ts';
import type { LoadedModel } from '../engine.ts';
import type { ProcessOptions } from './protocol.ts';
import { openNativeEmbeddings } from './native-embeddings.ts';
import type { NativeEmbeddings } from './native-embeddings.ts';
import { openNativeRanking } from './native-ranking.ts';
import type { NativeRanking } from './native-ranking.ts';
import { createNativeGrammars } from './native-grammars.ts';
import type { BindingGrammars, NativeGrammar } from './native-grammars.ts';
import { createRawProbabilities } from './raw-probabilities.ts';
import { createSamplerPool } from './sampler-pool.ts';
import type { BindingSampler, LogitPlace, RawLogprobs, SamplingBinding } from './raw-probabilities.ts';

/**
 * The native library as the scheduler needs it: one `decode` a tick over all sequences, and sampling apart from it.
 *
 * The library's public generators decide themselves what shares a batch and cannot give raw probabilities beside a
 * grammar; its binding can do both. We use the binding (docs/decisions/0004), so the version is pinned and
 * `openNativeModel` checks that every method it uses is there.
 */
export interface NativeModel {
  readonly loaded: LoadedModel;
  readonly sequences: number;
  /** Most tokens one `decode` takes. */
  readonly batchTokensMax: number;
  readonly shouldPrependBos: boolean;
  readonly bosToken: number;
  /** Markup such as `<tool_call>` that the library's tokenizer turns into one token even where it reads plain text. */
  readonly markupInText: readonly string[];
  tokenize(text: string, special: boolean): number[];
  /** Bytes that the token stands for. */
  tokenBytes(token: number): Uint8Array;
  isEnd(token: number): boolean;
  isControl(token: number): boolean;
  /**
   * Evaluates all items in one batch. For an item with `wantsLogits` the result has the place of its last token's logits,
   * valid until the next decode.
   */
  decode(items: readonly DecodeItem[]): Promise<readonly (LogitPlace | undefined)[]>;
  createSampler(options: SamplerOptions): NativeSampler;
  /** The model's own probabilities, before any sampling option. */
  topLogprobs(place: LogitPlace, wanted: { top: number; token: number }): Promise<RawLogprobs>;
  /** Remembers what it has parsed. @throws Error when the grammar cannot be parsed. */
  createGrammar(gbnf: string): NativeGrammar;
  /** Forgets the cells from `length` on. False when the model cannot: the sequence is empty then. */
  truncate(sequence: number, length: number): boolean;
  clear(sequence: number): void;
  copy(from: number, to: number, tokens: readonly number[], file: string): Promise<void>;
  /** @throws Error when the file cannot be written; a part of it may be there. */
  saveState(sequence: number, tokens: readonly number[], file: string): Promise<void>;
  /** Into an empty sequence. @returns the tokens it holds now. @throws Error when the file cannot be read. */
  loadState(sequence: number, file: string): Promise<number[]>;
  /** Another context of the same weights; its memory is taken here. Undefined where the model ends in a score. */
  openEmbeddings(options: { readonly textTokensMax: number }): Promise<NativeEmbeddings | undefined>;
  /** The same; undefined where the model was not trained to rank. */
  openRanking(): Promise<NativeRanking | undefined>;
  dispose(): Promise<void>;
}

export interface DecodeItem {
  readonly sequence: number;
  /** Position of the first token in its sequence. */
  readonly at: number;
  readonly tokens: readonly number[];
  readonly wantsLogits: boolean;
}

export interface SamplerOptions {
  /** 0 is greedy. */
  readonly temperature: number;
  readonly topP: number;
  /** 0 is off. */
  readonly topK: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
  readonly seed: number;
  /** Tokens generated before this sampler took over: penalties look at them. */
  readonly history: readonly number[];
  readonly grammar?: NativeGrammar;
}

export interface NativeSampler {
  /** The next token, or undefined when nothing is allowed (a grammar that is complete). */
  sample(place: LogitPlace): Promise<number | undefined>;
  /** Also while it samples: what it holds is let go when that is over. */
  dispose(): void;
}

/** Tokens of one penalty window: repetition, presence and frequency look this far back in the answer. Ours. */
const PENALTY_WINDOW_TOKENS = 1024;

const TOKEN_ATTRIBUTE_CONTROL = 1 << 3;
const TOKEN_ATTRIBUTE_USER_DEFINED = 1 << 4;

// The binding's methods that we rely on, as read in its C++ source of the pinned version.
interface Binding extends SamplingBinding {
  initBatch(size: number): void;
  addToBatch(sequence: number, at: number, tokens: Uint32Array, logitIndexes: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  disposeSequence(sequence: number): void;
  removeTokenCellsFromSequence(sequence: number, start: number, end: number): boolean;
  saveSequenceStateToFile(file: string, sequence: number, tokens: Uint32Array): Promise<number>;
  loadSequenceStateFromFile(file: string, sequence: number, contextMax: number): Promise<Uint32Array>;
}

interface BindingModel {
  tokenize(text: string, special: boolean): Uint32Array;
  getTokenString(token: number): string;
  getTokenAttributes(token: number): number;
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

type OpenOptions = Pick<ProcessOptions, 'modelFile' | 'contextTokens' | 'sequences' | 'threads' | 'gpu'>;

export async function openNativeModel(options: OpenOptions): Promise<NativeModel> {
  const llama = await getLlama({
    gpu: options.gpu,
    build: 'never',
    maxThreads: 0,
    skipDownload: true,
    logLevel: LlamaLogLevel.error,
  });
  const model = await llama.loadModel({ modelPath: options.modelFile });
  // The library would take any context; beyond what the model was trained on the answers are noise.
  const contextTokens = Math.min(options.contextTokens, model.trainContextSize);
  const context = await model.createContext({
    contextSize: contextTokens,
    batchSize: 512,
    threads: options.threads,
    sequences: options.sequences,
    // On processors the library's flash attention takes twice the time of the plain one behind a long history.
    flashAttention: llama.gpu === false ? false : 'auto',
    // Sliding-window models forget cells otherwise, and a prefix could not be reused.
    swaFullCache: true,
    failedCreationRemedy: false,
  });
  const internals = reach(llama, model, context);
  const { sequences, threads } = options;
  return build({ llama, model, context, internals, contextTokens, sequences, threads });
}

/** The one place that looks behind the library's public face. */
function reach(llama: Llama, model: LlamaModel, context: LlamaContext): Internals {
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
    assert(typeof internals.context?.[name] === 'function', `this build of node-llama-cpp lacks context.${name}`);
  for (const name of ['AddonSampler', 'AddonGrammar', 'AddonGrammarEvaluationState'] as const)
    assert(typeof internals[name] === 'function', `this build of node-llama-cpp lacks ${name}`);
  return internals;
}

interface Opened {
  llama: Llama;
  model: LlamaModel;
  context: LlamaContext;
  internals: Internals;
  contextTokens: number;
  sequences: number;
  threads: number;
}

function build({ llama, model, context, internals, contextTokens, sequences, threads }: Opened): NativeModel {
  const { context: binding, model: vocabulary } = internals;
  const metadata = model.fileInfo.metadata;
  const vocabularySize = metadata.tokenizer?.ggml?.tokens?.length ?? 0;
  const special = specialTokens(vocabulary, vocabularySize);
  const toBytes = byteReader(model.vocabularyType === 'bpe' ? 'bpe' : 'spm', vocabulary);
  const chatTemplate = metadata.tokenizer?.chat_template;

  const pool = createSamplerPool(() => new internals.AddonSampler(vocabulary));
  const grammars = createNativeGrammars(internals);

  const raw = createRawProbabilities({
    binding,
    newSampler(config) {
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
      ...(typeof chatTemplate === 'string' ? { chatTemplate } : {}),
      specialTokens: special.map(({ text }) => text),
      bosToken: vocabulary.tokenBos() >= 0 ? vocabulary.getTokenString(vocabulary.tokenBos()) : '',
      eosToken: vocabulary.tokenEos() >= 0 ? vocabulary.getTokenString(vocabulary.tokenEos()) : '',
    },
    sequences,
    batchTokensMax: context.batchSize,
    shouldPrependBos: vocabulary.shouldPrependBosToken(),
    bosToken: vocabulary.tokenBos(),
    markupInText: special.filter(({ isControl }) => !isControl).map(({ text }) => text),
    tokenize: (text, special) => Array.from(vocabulary.tokenize(text, special)),
    tokenBytes: toBytes,
    isEnd: (token) => vocabulary.isEogToken(token),
    isControl: (token) => (vocabulary.getTokenAttributes(token) & TOKEN_ATTRIBUTE_CONTROL) !== 0,
    async decode(items) {
      binding.initBatch(items.reduce((sum, item) => sum + item.tokens.length, 0));
      const places = items.map((item) => {
        const logits = item.wantsLogits ? [item.tokens.length - 1] : [];
        const indexes = binding.addToBatch(
          item.sequence,
          item.at,
          Uint32Array.from(item.tokens),
          Uint32Array.from(logits),
        );
        return indexes[0] as LogitPlace | undefined;
      });
      await binding.decodeBatch();
      return places;
    },
    createSampler(options) {
      const { grammar } = options;
      const state = grammar?.newState();
      const sampler = pool.take(samplerConfig(options, state));
      let sampling: Promise<unknown> | undefined;
      const letGo = (): void => {
        pool.giveBack(sampler);
        grammar?.letGo();
      };
      return {
        async sample(place) {
          const sampled = binding.sampleToken(place, sampler);
          sampling = sampled;
          try {
            const token = await sampled;
            return token < 0 ? undefined : token;
          } finally {
            sampling = undefined;
          }
        },
        // A thread that still works with it may not find it changed.
        dispose: () => (sampling ? void sampling.then(letGo, letGo) : letGo()),
      };
    },
    topLogprobs: raw,
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

function samplerConfig(options: SamplerOptions, grammarState: unknown): Record<string, unknown> {
  const usesPenalties =
    options.repetitionPenalty !== 1 || options.presencePenalty !== 0 || options.frequencyPenalty !== 0;
  return {
    // Without a temperature the binding samples greedily.
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

/** Control tokens, and those user-defined ones that look like markup (Gemma also defines runs of blanks as such). */
function specialTokens(vocabulary: BindingModel, size: number): { text: string; isControl: boolean }[] {
  const found: { text: string; isControl: boolean }[] = [];
  for (let token = 0; token < size; token++) {
    const attributes = vocabulary.getTokenAttributes(token);
    if ((attributes & (TOKEN_ATTRIBUTE_CONTROL | TOKEN_ATTRIBUTE_USER_DEFINED)) === 0) continue;
    const text = vocabulary.getTokenString(token);
    const isControl = (attributes & TOKEN_ATTRIBUTE_CONTROL) !== 0;
    if (text !== '' && (isControl || /^[<[].*[>\]]$/s.test(text))) found.push({ text, isControl });
  }
  return found;
}

/**
 * Token to bytes, from the vocabulary's own spelling. Byte-level BPE spells each byte as one printable character;
 * SentencePiece spells a blank as U+2581 and lone bytes as <0xNN>.
 */
function byteReader(kind: 'bpe' | 'spm', vocabulary: BindingModel): (token: number) => Uint8Array {
  const cache = new Map<number, Uint8Array>();
  const encoder = new TextEncoder();
  const fromBpe = bpeByteTable();
  const read = (token: number): Uint8Array => {
    const spelling = vocabulary.getTokenString(token);
    if ((vocabulary.getTokenAttributes(token) & (TOKEN_ATTRIBUTE_CONTROL | TOKEN_ATTRIBUTE_USER_DEFINED)) !== 0)
      return encoder.encode(spelling);
    if (kind === 'bpe') {
      const bytes: number[] = [];
      for (const character of spelling) {
        const byte = fromBpe.get(character);
        if (byte === undefined) return encoder.encode(spelling);
        bytes.push(byte);
      }
      return Uint8Array.from(bytes);
    }
    const lone = /^<0x([0-9A-F]{2})>$/.exec(spelling)?.[1];
    return lone ? Uint8Array.of(Number.parseInt(lone, 16)) : encoder.encode(spelling.replaceAll('\u2581', ' '));
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

/** GPT-2's table: printable bytes stand for themselves, the others for U+0100 and up, in order. */
function bpeByteTable(): ReadonlyMap<string, number> {
  const table = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    table.set(String.fromCodePoint(isPrintable ? byte : next++), byte);
  }
  return table;
}
