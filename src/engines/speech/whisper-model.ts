import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBytePairTokenizer, type BytePairTokenizerFile } from './byte-pair-tokenizer.ts';
import { createLogMelTransform, MEL_BANDS, MEL_FRAMES } from './log-mel-transform.ts';
import { getFloatOutput, type OnnxRuntime, type OnnxSession, type NamedTensors, type Tensor } from './onnx-runtime.ts';
import { createWhisperTokens, type WhisperConfig, type WhisperTokens } from './whisper-tokens.ts';

/** A loaded Whisper model. Each step blocks the process (onnx-runtime.ts). */
export interface WhisperModel {
  readonly tokens: WhisperTokens;
  /** Runs the encoder. The time does not depend on the length of the audio. */
  encode(samples: Float32Array): Promise<EncodedSpeech>;
}

/** Encoded audio. Several decoder sessions can use it. */
export interface EncodedSpeech {
  /** Creates a session without tokens. */
  createSession(): DecoderSession;
}

/** A sequence of decoder tokens with their cached keys and values. */
export interface DecoderSession {
  /** Appends tokens, and returns the scores of the next one. */
  step(tokens: readonly number[]): Promise<DecoderStep>;
  /** Creates an independent session with the same tokens. */
  fork(): DecoderSession;
  /** Creates a batch with one sequence: the tokens of this session. */
  createBatch(): DecoderBatch;
}

/** Token sequences of equal length that share the encoded audio and are decoded together. */
export interface DecoderBatch {
  /**
   * Replaces the sequences by continuations of them, in one run of the decoder. A sequence may have several
   * continuations or none. Returns the step of each continuation, in their order.
   */
  step(continuations: readonly SequenceContinuation[]): Promise<readonly DecoderStep[]>;
}

export interface SequenceContinuation {
  /** Index of the continued sequence in the batch. */
  readonly parent: number;
  readonly token: number;
}

export interface DecoderStep {
  /** Score of each possible next token. The caller may change the array. */
  readonly scores: Float32Array;
  /** Attention of the alignment heads for the last token: one row of `ENCODER_FRAMES` per head. Returns a copy. */
  attention(): Float32Array;
}

/** Number of encoder frames in 30 s, 20 ms each. */
export const ENCODER_FRAMES = 1_500;

/**
 * Opens a weights folder. `encoder.onnx` computes the keys and values of the audio for each decoder layer.
 * `decoder.onnx` takes them with its own past, and returns the scores of the last token and the attention of the
 * alignment heads. The folder also contains `tokenizer.json` and `config.json`.
 * @throws Error if a file is missing or has another format.
 */
export async function openWhisperModel(
  runtime: OnnxRuntime,
  { weightsFolder, threads }: { readonly weightsFolder: string; readonly threads: number },
): Promise<WhisperModel> {
  const readJson = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(join(weightsFolder, name), 'utf8'));
  // The checksums of the files were verified at their installation.
  const tokenizer = (await readJson('tokenizer.json')) as BytePairTokenizerFile;
  const config = (await readJson('config.json')) as WhisperConfig;
  const tokens = createWhisperTokens(createBytePairTokenizer(tokenizer), config);
  const encoder = await runtime.openSession(join(weightsFolder, 'encoder.onnx'), { threads });
  const decoder = await runtime.openSession(join(weightsFolder, 'decoder.onnx'), { threads });
  const logMel = createLogMelTransform();
  return {
    tokens,
    async encode(samples) {
      const speech = await encoder.run({
        input_features: runtime.createFloatTensor(logMel(samples), [1, MEL_BANDS, MEL_FRAMES]),
      });
      return {
        createSession: () =>
          createDecoderSession({ runtime, decoder, speech }, createEmptyPast(runtime, decoder, speech)),
      };
    },
  };
}

interface SessionParts {
  readonly runtime: OnnxRuntime;
  readonly decoder: OnnxSession;
  readonly speech: NamedTensors;
}

const PAST_PREFIX = 'past_key_values.';

const listPastNames = (decoder: OnnxSession): readonly string[] =>
  decoder.inputNames.filter((name) => name.startsWith(PAST_PREFIX));

function createEmptyPast(runtime: OnnxRuntime, decoder: OnnxSession, speech: NamedTensors): NamedTensors {
  const [, heads = 0, , width = 0] = speech['cross.0.key']?.dims ?? [];
  const empty = runtime.createFloatTensor(new Float32Array(0), [1, heads, 0, width]);
  return Object.fromEntries(listPastNames(decoder).map((name) => [name, empty]));
}

function createDecoderSession(parts: SessionParts, initialPast: NamedTensors): DecoderSession {
  let past = initialPast;
  return {
    async step(tokens) {
      const outputs = await runDecoder(parts, past, { tokens, sequences: 1 });
      past = outputs.past;
      return outputs.getStep(0);
    },
    fork: () => createDecoderSession(parts, past),
    createBatch: () => createDecoderBatch(parts, past),
  };
}

function createDecoderBatch(parts: SessionParts, initialPast: NamedTensors): DecoderBatch {
  let past = initialPast;
  let sequences = 1;
  return {
    async step(continuations) {
      const parents = continuations.map(({ parent }) => parent);
      const isSame = parents.length === sequences && parents.every((parent, at) => parent === at);
      const selected = isSame ? past : mapTensors(past, (tensor) => selectSequences(parts.runtime, tensor, parents));
      const tokens = continuations.map(({ token }) => token);
      const outputs = await runDecoder(parts, selected, { tokens, sequences: tokens.length });
      past = outputs.past;
      sequences = tokens.length;
      return tokens.map((_, at) => outputs.getStep(at));
    },
  };
}

/**
 * Runs the decoder for sequences of equal length. The keys and values of the audio have one sequence: the graph
 * broadcasts them over the batch.
 * @param tokens The tokens of all sequences, one sequence after the other.
 */
async function runDecoder(
  { runtime, decoder, speech }: SessionParts,
  past: NamedTensors,
  { tokens, sequences }: { readonly tokens: readonly number[]; readonly sequences: number },
): Promise<{ readonly past: NamedTensors; readonly getStep: (sequence: number) => DecoderStep }> {
  const newTokens = tokens.length / sequences;
  const outputs = await decoder.run({
    ...speech,
    ...past,
    input_ids: runtime.createIntTensor(tokens, [sequences, newTokens]),
  });
  const present = Object.fromEntries(
    listPastNames(decoder).map((name) => {
      const output = outputs[`present.${name.slice(PAST_PREFIX.length)}`];
      if (!output) throw new Error(`the decoder has no output for ${name}`);
      return [name, output];
    }),
  );
  const logits = getFloatOutput(outputs, 'logits');
  const getStep = (sequence: number): DecoderStep => ({
    scores: getPart(logits, sequence, sequences),
    attention: () => getLastTokenRows(getPart(getFloatOutput(outputs, 'alignment'), sequence, sequences), newTokens),
  });
  return { past: present, getStep };
}

const mapTensors = (tensors: NamedTensors, map: (tensor: Tensor) => Tensor): NamedTensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, map(tensor)]));

/** Copies the given sequences of a batch, the first dimension of the tensor, to a new batch. */
function selectSequences(runtime: OnnxRuntime, { data, dims }: Tensor, sequences: readonly number[]): Tensor {
  const [count = 1, ...rest] = dims;
  if (!(data instanceof Float32Array)) throw new TypeError('the past of the decoder has no floats');
  const size = data.length / count;
  const selected = new Float32Array(sequences.length * size);
  for (const [at, sequence] of sequences.entries())
    selected.set(data.subarray(sequence * size, (sequence + 1) * size), at * size);
  return runtime.createFloatTensor(selected, [sequences.length, ...rest]);
}

/** Returns one of several equal parts. */
function getPart(values: Float32Array, at: number, parts: number): Float32Array {
  const size = values.length / parts;
  return values.subarray(at * size, (at + 1) * size);
}

/** Returns the attention rows of the last token. The input has one row per token for each head. */
function getLastTokenRows(attention: Float32Array, tokens: number): Float32Array {
  const heads = attention.length / (tokens * ENCODER_FRAMES);
  const rows = new Float32Array(heads * ENCODER_FRAMES);
  for (let head = 0; head < heads; head++) {
    const from = (head * tokens + tokens - 1) * ENCODER_FRAMES;
    rows.set(attention.subarray(from, from + ENCODER_FRAMES), head * ENCODER_FRAMES);
  }
  return rows;
}
