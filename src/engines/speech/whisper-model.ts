import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBytePairTokenizer, type BytePairTokenizerFile } from './byte-pair-tokenizer.ts';
import { createLogMelTransform, MEL_BANDS, MEL_FRAMES } from './log-mel-transform.ts';
import { getFloatOutput, type OnnxRuntime, type OnnxSession, type NamedTensors } from './onnx-runtime.ts';
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

function createDecoderSession({ runtime, decoder, speech }: SessionParts, initialPast: NamedTensors): DecoderSession {
  let past = initialPast;
  return {
    async step(tokens) {
      const outputs = await decoder.run({
        ...speech,
        ...past,
        input_ids: runtime.createIntTensor(tokens, [1, tokens.length]),
      });
      past = Object.fromEntries(
        listPastNames(decoder).map((name) => {
          const present = outputs[`present.${name.slice(PAST_PREFIX.length)}`];
          if (!present) throw new Error(`the decoder has no output for ${name}`);
          return [name, present];
        }),
      );
      return {
        scores: getFloatOutput(outputs, 'logits'),
        attention: () => getLastTokenRows(getFloatOutput(outputs, 'alignment'), tokens.length),
      };
    },
    fork: () => createDecoderSession({ runtime, decoder, speech }, past),
  };
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
