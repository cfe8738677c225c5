import type { AudioKind } from './recording.ts';
import type { AudioFault } from './unreadable.ts';

/** What was found in a recording that was decoded. */
export interface AudioReport {
  readonly kind: AudioKind;
  /** How its samples are written, in the usual words: `pcm_s16le`, `mp3`, `flac`, `vorbis`, `opus`, `aac`. */
  readonly codec: string;
  /** Hz, and channels, as it was written; a file may change them, these are the first ones. */
  readonly sampleRate: number;
  readonly channels: number;
  /** Of what came out, at SPEECH_SAMPLE_RATE. */
  readonly samples: number;
  readonly durationMs: number;
  /** Its end is missing, or damaged: what came out is what stands before. */
  readonly isCutOff: boolean;
  /** Places where something was damaged; silence or nothing stands there. */
  readonly damagedPlaces: number;
  /** Of HE-AAC, the lower half of its frequencies was decoded: all that speech has. */
  readonly isLowerHalf: boolean;
}

/** What comes of a recording, in this order: sound, then one of the others, and nothing behind it. */
export type AudioEvent =
  /** One channel at SPEECH_SAMPLE_RATE, about ±1. */
  | { readonly type: 'sound'; readonly samples: Float32Array }
  | { readonly type: 'end'; readonly report: AudioReport }
  /** A sentence for whoever sent it. */
  | { readonly type: 'failed'; readonly fault: AudioFault; readonly reason: string };

export type AudioEnd = Exclude<AudioEvent, { readonly type: 'sound' }>;

/** Which of several channels: all of them mixed, or one by its number from 0. */
export type ChannelChoice = 'mix' | number;

/** How much decoding one recording may take. Beyond each: it has failed. */
export interface DecodingLimits {
  readonly sourceBytesMax: number;
  readonly secondsMax: number;
  /** Of the processor: a basis, and more for each second of sound and each MiB that was read. */
  readonly msBase: number;
  readonly msPerSecond: number;
  readonly msPerMib: number;
  /** By the clock, without a sign of life. */
  readonly stallMs: number;
  readonly residentBytesMax: number;
}
