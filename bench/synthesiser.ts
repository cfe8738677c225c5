import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { createResampler } from '../src/audio/resampler.ts';
import { SPEECH_SAMPLE_RATE } from '../src/core/speech.ts';
import { seededRandom } from '../src/engines/speech/seeded-random.ts';

/** How an utterance is said, and what lies over it. */
export interface Manner {
  /** As espeak-ng names it. */
  readonly voice: string;
  readonly wordsPerMinute: number;
  readonly noise: 'white' | 'pink';
  /** Of the speech over the noise. */
  readonly decibels: number;
}

const VOICES = ['en-us', 'en-gb', 'en-us+f3', 'en-gb+m3', 'en-gb-scotland', 'en-us+m7', 'en-gb+f2'];
const SPEEDS = [135, 150, 165];
const NOISES = ['white', 'pink'] as const;
const DECIBELS = [30, 20, 14];

/** Of the utterance at this place; one after the other goes through all voices, speeds and noises. */
export function mannerOf(at: number): Manner {
  const one = <T>(list: readonly T[], place: number, otherwise: T): T => list[place % list.length] ?? otherwise;
  return {
    voice: one(VOICES, at, 'en-us'),
    wordsPerMinute: one(SPEEDS, at, 150),
    noise: one(NOISES, at, 'white'),
    decibels: one(DECIBELS, Math.floor(at / 2), 17),
  };
}

/** Loudness of the speech: root of the mean square. */
const SPEECH_LEVEL = 0.08;

/** Noise before and behind the speech, in samples. */
const MARGIN_SAMPLES = SPEECH_SAMPLE_RATE * 0.3;

const PROGRAM = 'espeak-ng';

/** In the folder that PARLEY_ESPEAK names, else in PATH. */
function programPath(): string | undefined {
  const folders = process.env['PARLEY_ESPEAK'] ?? process.env['PATH'] ?? '';
  return folders
    .split(delimiter)
    .map((folder) => join(folder, PROGRAM))
    .find((path) => existsSync(path));
}

/** Why nothing can be synthesised here, or false. */
export function lacksSynthesiser(): string | false {
  if (programPath() !== undefined) return false;
  return `there is no ${PROGRAM} in PATH: apt-get install ${PROGRAM}, or name its folder in PARLEY_ESPEAK`;
}

/** @param seed Of the noise: the same one, the same samples. */
export async function synthesise(text: string, manner: Manner, seed: number): Promise<Float32Array> {
  const args = ['-v', manner.voice, '-s', String(manner.wordsPerMinute), '--stdout', text];
  const { stdout } = await promisify(execFile)(programPath() ?? PROGRAM, args, {
    encoding: 'buffer',
    maxBuffer: 2 ** 26,
  });
  const speech = speechOf(stdout);
  const noise = NOISE[manner.noise](speech.length + 2 * MARGIN_SAMPLES, seededRandom(seed));
  const [loud, still] = [SPEECH_LEVEL / levelOf(speech), SPEECH_LEVEL / 10 ** (manner.decibels / 20) / levelOf(noise)];
  return noise.map((value, at) => clipped(value * still + (speech[at - MARGIN_SAMPLES] ?? 0) * loud));
}

const clipped = (value: number): number => Math.max(-1, Math.min(1, value));

const levelOf = (samples: Float32Array): number =>
  Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);

/** What espeak-ng writes to a pipe: 16 bit, mono, with lengths in its head that nobody may believe. */
function speechOf(wav: Buffer): Float32Array {
  const from = wav.indexOf('data') + 8;
  const samples = Float32Array.from(
    { length: Math.floor((wav.length - from) / 2) },
    (_, at) => wav.readInt16LE(from + 2 * at) / 32_768,
  );
  const resampler = createResampler({ from: wav.readUInt32LE(24), to: SPEECH_SAMPLE_RATE });
  const [most, rest] = [resampler.push(samples), resampler.end()];
  const all = new Float32Array(most.length + rest.length);
  all.set(most);
  all.set(rest, most.length);
  return all;
}

const white = (length: number, random: () => number): Float32Array =>
  Float32Array.from({ length }, () => 2 * random() - 1);

/** White noise through three poles, after Paul Kellet: half as strong in each octave up, within half a decibel. */
function pink(length: number, random: () => number): Float32Array {
  let [low, middle, high] = [0, 0, 0];
  return white(length, random).map((value) => {
    low = 0.99765 * low + value * 0.099046;
    middle = 0.963 * middle + value * 0.2965164;
    high = 0.57 * high + value * 1.0526913;
    return low + middle + high + value * 0.1848;
  });
}

const NOISE = { white, pink } as const;
