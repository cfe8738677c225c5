import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import { createSeededRandom } from '../../../lib/seeded-random.ts';
import { decodeWavSamples } from './decode-wav-samples.ts';

/** Voice and noise of a synthetic utterance. */
export interface UtteranceStyle {
  /** Voice name of espeak-ng. */
  readonly voice: string;
  readonly wordsPerMinute: number;
  readonly noise: 'white' | 'pink';
  /** Level of the speech above the noise. */
  readonly signalToNoiseDecibels: number;
}

const VOICES = ['en-us', 'en-gb', 'en-us+f3', 'en-gb+m3', 'en-gb-scotland', 'en-us+m7', 'en-gb+f2'];
const SPEEDS = [135, 150, 165];
const NOISES = ['white', 'pink'] as const;
const DECIBELS = [30, 20, 14];

/** Returns the style of the utterance with this index. Consecutive indexes cycle through voices, speeds and noises. */
export function chooseStyle(at: number): UtteranceStyle {
  const pick = <T>(list: readonly T[], index: number, fallback: T): T => list[index % list.length] ?? fallback;
  return {
    voice: pick(VOICES, at, 'en-us'),
    wordsPerMinute: pick(SPEEDS, at, 150),
    noise: pick(NOISES, at, 'white'),
    signalToNoiseDecibels: pick(DECIBELS, Math.floor(at / 2), 17),
  };
}

/** Root mean square of the speech samples. */
const SPEECH_RMS = 0.08;

/** Noise before and after the speech, in samples. */
const MARGIN_SAMPLES = SPEECH_SAMPLE_RATE * 0.3;

const PROGRAM = 'espeak-ng';

/** Searches the folder that PARLEY_ESPEAK names, else PATH. */
function findSynthesizer(): string | undefined {
  const folders = process.env['PARLEY_ESPEAK'] ?? process.env['PATH'] ?? '';
  return folders
    .split(delimiter)
    .map((folder) => join(folder, PROGRAM))
    .find((path) => existsSync(path));
}

/** Returns why speech cannot be synthesized on this machine, or false. */
export function getSynthesizerSkipReason(): string | false {
  if (findSynthesizer() !== undefined) return false;
  return `${PROGRAM} is not in PATH: install it with apt-get install ${PROGRAM}, or set PARLEY_ESPEAK to its folder`;
}

/** @param seed seed of the noise; the same seed gives the same samples. */
export async function synthesizeSpeech(text: string, style: UtteranceStyle, seed: number): Promise<Float32Array> {
  const args = ['-v', style.voice, '-s', String(style.wordsPerMinute), '--stdout', text];
  const { stdout } = await promisify(execFile)(findSynthesizer() ?? PROGRAM, args, {
    encoding: 'buffer',
    maxBuffer: 2 ** 26,
  });
  const speech = decodeWavSamples(stdout);
  const noise = NOISE_GENERATORS[style.noise](speech.length + 2 * MARGIN_SAMPLES, createSeededRandom(seed));
  const [speechGain, noiseGain] = [
    SPEECH_RMS / computeRms(speech),
    SPEECH_RMS / 10 ** (style.signalToNoiseDecibels / 20) / computeRms(noise),
  ];
  return noise.map((value, at) => clip(value * noiseGain + (speech[at - MARGIN_SAMPLES] ?? 0) * speechGain));
}

const clip = (value: number): number => Math.max(-1, Math.min(1, value));

const computeRms = (samples: Float32Array): number =>
  Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);

const createWhiteNoise = (length: number, random: () => number): Float32Array =>
  Float32Array.from({ length }, () => 2 * random() - 1);

/** Filters white noise with three poles (Paul Kellet): 3 dB less per octave, within half a decibel. */
function createPinkNoise(length: number, random: () => number): Float32Array {
  let [low, middle, high] = [0, 0, 0];
  return createWhiteNoise(length, random).map((value) => {
    low = 0.99765 * low + value * 0.099046;
    middle = 0.963 * middle + value * 0.2965164;
    high = 0.57 * high + value * 1.0526913;
    return low + middle + high + value * 0.1848;
  });
}

const NOISE_GENERATORS = { white: createWhiteNoise, pink: createPinkNoise } as const;
