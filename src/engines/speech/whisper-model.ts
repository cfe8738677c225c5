import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBytePairs } from './byte-pairs.ts';
import type { TokenizerFile } from './byte-pairs.ts';
import { createLogMel, MEL_BANDS, MEL_FRAMES } from './log-mel.ts';
import { floatsOf } from './runtime.ts';
import type { Runtime, Session, Tensors } from './runtime.ts';
import { createWhisperTokens } from './whisper-tokens.ts';
import type { WhisperConfig, WhisperTokens } from './whisper-tokens.ts';

/** A whisper model that is loaded. Each step blocks the process (runtime.ts). */
export interface WhisperModel {
  readonly tokens: WhisperTokens;
  /** Takes as long for a second as for half a minute. */
  encode(samples: Float32Array): Promise<EncodedSpeech>;
}

/** Speech as the decoder reads it, as often as it likes. */
export interface EncodedSpeech {
  /** A reading that knows no token yet. */
  read(): Reading;
}

/** Tokens in a row, with what was worked out for them. */
export interface Reading {
  /** Goes on by these tokens. */
  step(tokens: readonly number[]): Promise<Step>;
  /** Another one that knows the same tokens, and goes its own way. */
  fork(): Reading;
}

export interface Step {
  /** Score of each token to come next. The caller's own: it may change them. */
  readonly scores: Float32Array;
  /** Where the heads that follow the speech looked for the last token: as many rows of `FRAMES`. Copied when asked for. */
  attention(): Float32Array;
}

/** Places in 30 s that the decoder looks at, 20 ms each. */
export const FRAMES = 1_500;

/**
 * Opens the files of a weights folder: `encoder.onnx`, which gives the keys and values of the speech for each layer of
 * `decoder.onnx`; that takes them with its own past, and gives scores of the last token and the attention of the alignment
 * heads; `tokenizer.json`; `config.json`.
 * @throws where one is missing or another kind.
 */
export async function openWhisperModel(
  runtime: Runtime,
  { weightsFolder, threads }: { readonly weightsFolder: string; readonly threads: number },
): Promise<WhisperModel> {
  const readJson = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(join(weightsFolder, name), 'utf8'));
  /** Parsers of files that were checked against their sums when they were installed. */
  const tokenizer = (await readJson('tokenizer.json')) as TokenizerFile;
  const config = (await readJson('config.json')) as WhisperConfig;
  const tokens = createWhisperTokens(createBytePairs(tokenizer), config);
  const encoder = await runtime.open(join(weightsFolder, 'encoder.onnx'), { threads });
  const decoder = await runtime.open(join(weightsFolder, 'decoder.onnx'), { threads });
  const logMel = createLogMel();
  return {
    tokens,
    async encode(samples) {
      const speech = await encoder.run({ input_features: runtime.floats(logMel(samples), [1, MEL_BANDS, MEL_FRAMES]) });
      return { read: () => createReading({ runtime, decoder, speech }, nothingRead(runtime, decoder, speech)) };
    },
  };
}

interface Parts {
  readonly runtime: Runtime;
  readonly decoder: Session;
  readonly speech: Tensors;
}

const PAST = 'past_key_values.';

const pastNames = (decoder: Session): readonly string[] => decoder.inputNames.filter((name) => name.startsWith(PAST));

function nothingRead(runtime: Runtime, decoder: Session, speech: Tensors): Tensors {
  const [, heads = 0, , width = 0] = speech['cross.0.key']?.dims ?? [];
  const empty = runtime.floats(new Float32Array(0), [1, heads, 0, width]);
  return Object.fromEntries(pastNames(decoder).map((name) => [name, empty]));
}

function createReading({ runtime, decoder, speech }: Parts, begun: Tensors): Reading {
  let past = begun;
  return {
    async step(tokens) {
      const outputs = await decoder.run({ ...speech, ...past, input_ids: runtime.whole(tokens, [1, tokens.length]) });
      past = Object.fromEntries(
        pastNames(decoder).map((name) => {
          const present = outputs[`present.${name.slice(PAST.length)}`];
          if (!present) throw new Error(`the decoder gives nothing for ${name}`);
          return [name, present];
        }),
      );
      return {
        scores: floatsOf(outputs, 'logits'),
        attention: () => lastRows(floatsOf(outputs, 'alignment'), tokens.length),
      };
    },
    fork: () => createReading({ runtime, decoder, speech }, past),
  };
}

/** Heads of tokens stand one behind the other. */
function lastRows(attention: Float32Array, tokens: number): Float32Array {
  const heads = attention.length / (tokens * FRAMES);
  const rows = new Float32Array(heads * FRAMES);
  for (let head = 0; head < heads; head++) {
    const from = (head * tokens + tokens - 1) * FRAMES;
    rows.set(attention.subarray(from, from + FRAMES), head * FRAMES);
  }
  return rows;
}
