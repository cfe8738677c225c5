import {
  AUDIO_BYTES_MAX,
  AUDIO_DECODE_MS_BASE,
  AUDIO_DECODE_MS_PER_MIB,
  AUDIO_DECODE_MS_PER_SECOND,
  AUDIO_RESIDENT_BYTES_MAX,
  AUDIO_SECONDS_MAX,
  AUDIO_STALL_MS,
  AUDIOS_AT_ONCE,
  AUDIOS_WAITING_MAX,
  RETRY_AFTER_SECONDS,
} from '../core/limits.ts';
import { ServiceError } from '../core/error.ts';
import { SPEECH_SAMPLE_RATE } from '../core/speech.ts';
import { createTurns } from '../lib/turns.ts';
import type { AudioEvent, ChannelChoice, DecodingLimits } from './audio.ts';
import { startDecoding, type Decoding } from './decoding.ts';

/** A recording that may be read more than once: an MP4 file has its index where it likes. */
export interface AudioSource {
  readonly sizeBytes: number;
  /** The bytes from there to the end; whoever asks may stop before. */
  read(from: number): Promise<AsyncIterable<Uint8Array>>;
}

export interface DecodeWish {
  readonly signal: AbortSignal;
  /** All of them mixed, where it is not given. */
  readonly channel?: ChannelChoice;
}

export interface DecodeAudio {
  /**
   * Decodes a recording in a process of its own, which ends with it; at most a few seconds of it are in memory. What is wrong
   * with the recording is its last event, and so is that it takes too long or too much memory. Whoever stops asking ends it.
   * @throws the signal's reason; whatever the source throws; ServiceError `overloaded` where too many wait; Error where
   * the process failed for no reason that it told: it may work again.
   */
  (source: AudioSource, wish: DecodeWish): AsyncGenerator<AudioEvent, void, undefined>;
}

export const DECODING_LIMITS: DecodingLimits = {
  sourceBytesMax: AUDIO_BYTES_MAX,
  secondsMax: AUDIO_SECONDS_MAX,
  msBase: AUDIO_DECODE_MS_BASE,
  msPerSecond: AUDIO_DECODE_MS_PER_SECOND,
  msPerMib: AUDIO_DECODE_MS_PER_MIB,
  stallMs: AUDIO_STALL_MS,
  residentBytesMax: AUDIO_RESIDENT_BYTES_MAX,
};

export interface DecodeAudioOptions {
  readonly limits?: Partial<DecodingLimits>;
  readonly atOnce?: number;
  readonly waitingMax?: number;
}

export function createDecodeAudio({
  limits: own = {},
  atOnce = AUDIOS_AT_ONCE,
  waitingMax = AUDIOS_WAITING_MAX,
}: DecodeAudioOptions = {}): DecodeAudio {
  const limits = { ...DECODING_LIMITS, ...own };
  const turns = createTurns({ atOnce, waitingMax, refuse: tooMany });
  return async function* decode(source, { signal, channel = 'mix' }) {
    signal.throwIfAborted();
    const { sizeBytes } = source;
    if (sizeBytes > limits.sourceBytesMax) {
      const reason = `The audio has ${sizeBytes} bytes; one that is decoded may have ${limits.sourceBytesMax}.`;
      return yield { type: 'failed', fault: 'too-long', reason };
    }
    if (sizeBytes === 0) return yield { type: 'failed', fault: 'empty', reason: 'The audio is empty.' };
    const leave = await turns.enter(signal);
    try {
      // It may have been over just as its turn came.
      signal.throwIfAborted();
      const decoding = startDecoding({ limits, channel, blockSamples: SPEECH_SAMPLE_RATE, sizeBytes });
      yield* follow(decoding, source, signal);
    } finally {
      leave();
    }
  };
}

const tooMany = (): ServiceError =>
  new ServiceError('overloaded', 'Too many recordings wait to be decoded. Please try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

async function* follow(
  decoding: Decoding,
  source: AudioSource,
  signal: AbortSignal,
): AsyncGenerator<AudioEvent, void, undefined> {
  const feed = createFeed(decoding, source);
  const onAbort = (): void => void decoding.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    feed.from(0);
    yield* decoding.events((to) => feed.from(to));
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw feed.failure() ?? error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    feed.stop();
    await decoding.close();
  }
}

interface Feed {
  /** Sends the bytes from there on, in place of those that are being sent. */
  from(to: number): void;
  stop(): void;
  /** What the source threw; the process was ended by it. */
  failure(): Error | undefined;
}

function createFeed(decoding: Decoding, source: AudioSource): Feed {
  let turn = 0;
  let failure: Error | undefined;
  let last = Promise.resolve();

  const send = async (from: number, own: number): Promise<void> => {
    if (own > 1) await decoding.moved();
    let at = from;
    for await (const piece of from < source.sizeBytes ? await source.read(from) : []) {
      if (turn !== own) return;
      at += piece.length;
      if (at > source.sizeBytes) throw new Error('the recording has more bytes than were announced');
      await decoding.write(piece);
      if (turn !== own) return;
    }
    if (at < source.sizeBytes) throw new Error('the recording has fewer bytes than were announced');
    await decoding.end();
  };

  return {
    failure: () => failure,
    stop: () => void (turn = -1),
    from(to) {
      turn++;
      const own = turn;
      last = last
        .then(() => (turn === own ? send(to, own) : undefined))
        .catch((error: unknown) => {
          failure = error instanceof Error ? error : new Error(String(error));
          void decoding.close();
        });
    },
  };
}
