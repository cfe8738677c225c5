import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import type { DecodedAudioEvent, DecodingLimits } from './audio.ts';
import { DECODING_LIMITS } from './audio-decoder.ts';
import { startDecoderProcess } from './start-decoder-process.ts';

/** Decodes audio while it arrives. */
export interface AudioStream<Event> {
  /** Adds bytes. Resolves when more may be added. The array must not be used afterwards. */
  push(bytes: Uint8Array): Promise<void>;
  /** Declares the end of the input. */
  end(): Promise<void>;
  /**
   * Samples in blocks of a tenth of a second, then one final event. Can be read once.
   * @throws Error if the process failed for an unknown reason.
   */
  readonly events: AsyncIterable<Event>;
  /** Stops decoding at once, and resolves when its process is gone. Must always be called. */
  close(): Promise<void>;
}

export type DecoderStream = AudioStream<DecodedAudioEvent>;

export interface DecoderStreamOptions {
  readonly limits?: Partial<DecodingLimits>;
}

/** Samples per block. */
const BLOCK_SAMPLES = SPEECH_SAMPLE_RATE / 10;

/**
 * Starts a process that decodes a stream; the format is detected from its bytes. The caller limits the number of
 * concurrent streams.
 */
export function createDecoderStream({ limits = {} }: DecoderStreamOptions = {}): DecoderStream {
  const process = startDecoderProcess({
    limits: { ...DECODING_LIMITS, ...limits },
    channel: 'mix',
    blockSamples: BLOCK_SAMPLES,
  });
  return {
    push: (bytes) => process.write(bytes),
    end: () => process.end(),
    events: process.readEvents(() => undefined),
    close: () => process.close(),
  };
}
