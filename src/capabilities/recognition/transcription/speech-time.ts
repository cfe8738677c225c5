import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';

export const msToSamples = (ms: number): number => Math.round((ms * SPEECH_SAMPLE_RATE) / 1_000);

export const samplesToMs = (samples: number): number => Math.round((samples * 1_000) / SPEECH_SAMPLE_RATE);

/** Silence that is kept before and after speech, in ms: it contains the soft start of words. */
export const SEGMENT_MARGIN_MS = 200;

/** Shorter voice counts as noise, in ms. */
export const VOICE_MS_MIN = 100;
