import type { ByteInput } from './byte-input.ts';

/** What a recording is written as. */
export type AudioKind = 'wav' | 'mp3' | 'flac' | 'ogg' | 'aac' | 'mp4';

/** A stretch of sound: all channels have as many samples, of about ±1. */
export interface Sound {
  /** Hz. */
  readonly sampleRate: number;
  readonly channels: readonly Float32Array[];
}

/** What a decoder has to say beside its sound. */
export interface Remarks {
  /** Its end is missing; what came before is whole. */
  cutOff(): void;
  /** So many samples (of each channel) were lost, and silence stands for them, or nothing where 0. */
  lost(samples: number): void;
  /** Only the lower half of its frequencies was decoded. */
  lowerHalf(): void;
  /** The format's own word for how samples are written, such as `pcm_s16le`. */
  written(codec: string): void;
}

/** Reads a recording from its first byte on. @throws Unreadable */
export type DecodeSound = (input: ByteInput, remarks: Remarks) => Iterable<Sound> | AsyncIterable<Sound>;
