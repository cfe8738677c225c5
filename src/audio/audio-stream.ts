import { SPEECH_SAMPLE_RATE } from '../core/speech.ts';
import type { AudioEvent, DecodingLimits } from './audio.ts';
import { DECODING_LIMITS } from './decode-audio.ts';
import { startDecoding } from './decoding.ts';

/** Sound as it is spoken: bytes come while what was decoded goes out. */
export interface AudioStream {
  /** Resolves when more may come; the bytes are the stream's then. */
  push(bytes: Uint8Array): Promise<void>;
  /** No more bytes come. */
  end(): Promise<void>;
  /**
   * Sound in blocks of a tenth of a second, then how it ended. To be read once.
   * @throws Error where the process failed for no reason that it told.
   */
  readonly events: AsyncIterable<AudioEvent>;
  /** Ends it at once, and resolves when it is gone. To be called in any case. */
  close(): Promise<void>;
}

export interface AudioStreamOptions {
  readonly limits?: Partial<DecodingLimits>;
}

/** Ours: samples that are handed on at once. */
const BLOCK_SAMPLES = SPEECH_SAMPLE_RATE / 10;

/**
 * Decodes a stream in a process of its own; its bytes say what it is. How many there are at once is bounded by whoever opens
 * them.
 */
export function createAudioStream({ limits = {} }: AudioStreamOptions = {}): AudioStream {
  const decoding = startDecoding({
    limits: { ...DECODING_LIMITS, ...limits },
    channel: 'mix',
    blockSamples: BLOCK_SAMPLES,
  });
  return {
    push: (bytes) => decoding.write(bytes),
    end: () => decoding.end(),
    events: decoding.events(() => undefined),
    close: () => decoding.close(),
  };
}
