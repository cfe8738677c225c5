import { RETRY_AFTER_SECONDS } from '../../../core/limits.ts';
import {
  AUDIO_BYTES_MAX,
  AUDIO_DECODE_MS_BASE,
  AUDIO_DECODE_MS_PER_MIB,
  AUDIO_DECODE_MS_PER_SECOND,
  AUDIO_RESIDENT_BYTES_MAX,
  AUDIO_SECONDS_MAX,
  AUDIO_STALL_MS,
  AUDIO_DECODE_CONCURRENCY,
  AUDIO_DECODE_QUEUE_MAX,
} from './limits.ts';
import { ServiceError } from '../../../core/error.ts';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import { createSharedSemaphore } from '../../../lib/shared-semaphore.ts';
import type { DecodedAudioEvent, ChannelSelection, DecodingLimits } from './audio.ts';
import { startDecoderProcess, type DecoderProcess } from './start-decoder-process.ts';

/** A recording that can be read several times, because the index of an MP4 file may be at its end. */
export interface AudioSource {
  readonly sizeBytes: number;
  /** Returns the bytes from a position to the end; the caller may stop earlier. */
  read(from: number): Promise<AsyncIterable<Uint8Array>>;
}

export interface DecodeOptions {
  /** Workspace that the recording is decoded for. No workspace takes all processes. */
  readonly workspace: string;
  readonly signal: AbortSignal;
  /** Channel to decode; default: all channels mixed. */
  readonly channel?: ChannelSelection;
}

export interface AudioDecoder {
  /**
   * Decodes a recording in a process of its own, with at most a few seconds of audio in memory. A defect of the
   * recording, and exceeded limits, are reported by the last event. Ending the iteration ends the process.
   * @throws the signal's reason; errors of the source; ServiceError `overloaded` if too many recordings wait; Error if
   * the process failed for an unknown reason, in which case a retry may succeed.
   */
  (source: AudioSource, options: DecodeOptions): AsyncGenerator<DecodedAudioEvent, void, undefined>;
}

export const DECODING_LIMITS: DecodingLimits = {
  sourceBytesMax: AUDIO_BYTES_MAX,
  secondsMax: AUDIO_SECONDS_MAX,
  cpuMsBase: AUDIO_DECODE_MS_BASE,
  cpuMsPerSecond: AUDIO_DECODE_MS_PER_SECOND,
  cpuMsPerMib: AUDIO_DECODE_MS_PER_MIB,
  stallMs: AUDIO_STALL_MS,
  residentBytesMax: AUDIO_RESIDENT_BYTES_MAX,
};

export interface AudioDecoderOptions {
  readonly limits?: Partial<DecodingLimits>;
  readonly concurrency?: number;
  readonly queueLengthMax?: number;
}

export function createAudioDecoder({
  limits: customLimits = {},
  concurrency = AUDIO_DECODE_CONCURRENCY,
  queueLengthMax = AUDIO_DECODE_QUEUE_MAX,
}: AudioDecoderOptions = {}): AudioDecoder {
  const limits = { ...DECODING_LIMITS, ...customLimits };
  const semaphore = createSharedSemaphore({
    permits: concurrency,
    permitsPerHolder: Math.max(1, concurrency - 1),
    queueLengthMax,
    createQueueFullError: createOverloadedError,
  });
  return async function* decode(source, { workspace, signal, channel = 'mix' }) {
    signal.throwIfAborted();
    const { sizeBytes } = source;
    if (sizeBytes > limits.sourceBytesMax) {
      const reason = `The audio has ${sizeBytes} bytes; the maximum is ${limits.sourceBytesMax}.`;
      return yield { type: 'failed', fault: 'too-long', reason };
    }
    if (sizeBytes === 0) return yield { type: 'failed', fault: 'empty', reason: 'The audio is empty.' };
    const release = await semaphore.acquire(workspace, signal);
    try {
      // The signal may have aborted while waiting.
      signal.throwIfAborted();
      const process = startDecoderProcess({ limits, channel, blockSamples: SPEECH_SAMPLE_RATE, sizeBytes });
      yield* streamEvents(process, source, signal);
    } finally {
      release();
    }
  };
}

const createOverloadedError = (): ServiceError =>
  new ServiceError('overloaded', 'Too many recordings are waiting to be decoded. Please try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

async function* streamEvents(
  process: DecoderProcess,
  source: AudioSource,
  signal: AbortSignal,
): AsyncGenerator<DecodedAudioEvent, void, undefined> {
  const feed = createSourceFeed(process, source);
  const onAbort = (): void => void process.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    feed.start(0);
    yield* process.readEvents((to) => feed.start(to));
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw feed.failure() ?? error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    feed.stop();
    await process.close();
  }
}

interface SourceFeed {
  /** Sends the bytes from a position on; replaces the current transfer. */
  start(position: number): void;
  stop(): void;
  /** Error of the source. The process was ended because of it. */
  failure(): Error | undefined;
}

function createSourceFeed(process: DecoderProcess, source: AudioSource): SourceFeed {
  let currentFeed = 0;
  let failure: Error | undefined;
  let last = Promise.resolve();

  const send = async (from: number, feedId: number): Promise<void> => {
    if (feedId > 1) await process.confirmSeek();
    let at = from;
    for await (const piece of from < source.sizeBytes ? await source.read(from) : []) {
      if (currentFeed !== feedId) return;
      at += piece.length;
      if (at > source.sizeBytes) throw new Error('the recording has more bytes than declared');
      await process.write(piece);
      if (currentFeed !== feedId) return;
    }
    if (at < source.sizeBytes) throw new Error('the recording has fewer bytes than declared');
    await process.end();
  };

  return {
    failure: () => failure,
    stop: () => void (currentFeed = -1),
    start(position) {
      currentFeed++;
      const feedId = currentFeed;
      last = last
        .then(() => (currentFeed === feedId ? send(position, feedId) : undefined))
        .catch((error: unknown) => {
          failure = error instanceof Error ? error : new Error(String(error));
          void process.close();
        });
    },
  };
}
