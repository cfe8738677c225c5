import { SPEECH_SAMPLE_RATE } from '../core/speech.ts';

export const samplesOf = (ms: number): number => Math.round((ms * SPEECH_SAMPLE_RATE) / 1_000);

export const msOf = (samples: number): number => Math.round((samples * 1_000) / SPEECH_SAMPLE_RATE);

/** Kept of the silence around speech: a soft beginning of a word is in it. In ms. */
export const MARGIN_MS = 200;

/** Less voice is a noise. In ms. */
export const SHORTEST_MS = 100;
