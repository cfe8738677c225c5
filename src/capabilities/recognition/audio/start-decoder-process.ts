import type { Readable } from 'node:stream';
import { startRestrictedProcess, writeToStdin } from '../../../lib/restricted-process.ts';
import type { DecodingEnd, DecodedAudioEvent } from './audio.ts';
import type { DecodingRequest } from './decoder-thread.ts';
import {
  FRAME_SOURCE_BYTES,
  FRAME_RESULT,
  FRAME_BYTES_MAX,
  FRAME_HEADER_BYTES,
  encodeFrameHeader,
  FRAME_SEEK,
  FRAME_SEEK_DONE,
  FRAME_SOURCE_END,
  FRAME_REQUEST,
  decodeFrameHeader,
  FRAME_SAMPLES,
} from './pipe-frames.ts';

/** A process that decodes one recording. Its owner must close it. */
export interface DecoderProcess {
  /** Sends bytes. Resolves when the process accepts more, or has ended. */
  write(bytes: Uint8Array): Promise<void>;
  /** Declares the end of the input. */
  end(): Promise<void>;
  /** Confirms that the following bytes are from the requested position. */
  confirmSeek(): Promise<void>;
  /** Reads the events. @param onSeek Called when the process requests the bytes from a position on. */
  readEvents(onSeek: (to: number) => void): AsyncGenerator<DecodedAudioEvent, void, undefined>;
  /** Kills the process, and resolves when it is gone. */
  close(): Promise<void>;
}

/** Maximum size of a sent frame. */
const CHUNK_BYTES = 1024 * 1024;

/** Interval of the stall check, in ms. */
const STALL_CHECK_MS = 1_000;

const DECODER_PACKAGES = ['mpg123-decoder', 'opus-decoder', '@wasm-audio-decoders/common'];

export function startDecoderProcess(request: DecodingRequest): DecoderProcess {
  const { stallMs } = request.limits;
  const { child, termination, getStderr, kill } = startRestrictedProcess({
    entryUrl: new URL('./decoder-process', import.meta.url),
    packages: DECODER_PACKAGES,
  });
  let isStalled = false;
  let lastActiveAt = performance.now();
  const markActive = (): void => void (lastActiveAt = performance.now());

  const send = async (kind: number, body: Uint8Array = new Uint8Array()): Promise<void> => {
    await writeToStdin(child, Buffer.concat([encodeFrameHeader(kind, body.length), body]));
    markActive();
  };
  const requestSent = send(FRAME_REQUEST, Buffer.from(JSON.stringify(request)));

  /** Kills the process if it makes no progress although it has input and its output is awaited. */
  const watchForStall = (hasInput: () => boolean): (() => void) => {
    markActive();
    const timer = setInterval(() => {
      if (!hasInput()) return markActive();
      if (performance.now() - lastActiveAt < stallMs) return;
      isStalled = true;
      kill();
    }, STALL_CHECK_MS);
    return () => clearInterval(timer);
  };

  let isInputComplete = false;
  let isConsumerWaiting = true;
  const hasInput = (): boolean => isConsumerWaiting && (isInputComplete || child.stdin?.writableNeedDrain === true);

  const explainTermination = async (): Promise<DecodingEnd> => {
    const exitReason = await termination;
    const limit = isStalled ? 'time' : /^limit exceeded: (time|memory)$/m.exec(getStderr())?.[1];
    if (limit === undefined)
      throw new Error(`the decoder process ended without a result: ${exitReason} ${getStderr()}`);
    const reason = `The audio takes too ${limit === 'time' ? 'long' : 'much memory'} to decode.`;
    return { type: 'failed', fault: 'too-costly', reason };
  };

  return {
    async write(bytes) {
      await requestSent;
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
        await send(FRAME_SOURCE_BYTES, bytes.subarray(at, at + CHUNK_BYTES));
    },
    async end() {
      isInputComplete = true;
      await send(FRAME_SOURCE_END);
    },
    async confirmSeek() {
      isInputComplete = false;
      await send(FRAME_SEEK_DONE);
    },
    async *readEvents(onSeek) {
      const stopWatching = watchForStall(hasInput);
      try {
        for await (const { kind, body } of readFrames(child.stdout)) {
          markActive();
          if (kind === FRAME_SAMPLES) {
            // The process cannot make progress while the consumer does not request more.
            isConsumerWaiting = false;
            yield { type: 'sound', samples: toSamples(body) };
            isConsumerWaiting = true;
          } else if (kind === FRAME_SEEK && body.length === 8) onSeek(body.readDoubleLE(0));
          else if (kind === FRAME_RESULT) return yield parseDecodingEnd(JSON.parse(body.toString('utf8')));
          markActive();
        }
        yield await explainTermination();
      } finally {
        stopWatching();
      }
    },
    async close() {
      kill();
      await termination;
    },
  };
}

interface PipeFrame {
  readonly kind: number;
  readonly body: Buffer;
}

async function* readFrames(stream: Readable | null): AsyncGenerator<PipeFrame, void, undefined> {
  let buffer: Buffer = Buffer.alloc(0);
  for await (const piece of stream ?? []) {
    buffer = buffer.length === 0 ? (piece as Buffer) : Buffer.concat([buffer, piece as Buffer]);
    while (buffer.length >= FRAME_HEADER_BYTES) {
      const { kind, bytes } = decodeFrameHeader(buffer);
      if (bytes > FRAME_BYTES_MAX) throw new Error('the decoder process sent an invalid frame');
      const end = FRAME_HEADER_BYTES + bytes;
      if (buffer.length < end) break;
      const body = buffer.subarray(FRAME_HEADER_BYTES, end);
      buffer = buffer.subarray(end);
      yield { kind, body };
    }
  }
}

/** Copies bytes to aligned memory. */
function toSamples(bytes: Buffer): Float32Array {
  const samples = new Float32Array(Math.floor(bytes.length / Float32Array.BYTES_PER_ELEMENT));
  new Uint8Array(samples.buffer).set(bytes.subarray(0, samples.byteLength));
  return samples;
}

/** Parses the final event. It comes from Parley's code, but a malicious recording may control the process. */
function parseDecodingEnd(value: unknown): DecodingEnd {
  const end = value as DecodingEnd;
  if (end.type === 'end') return end;
  return { type: 'failed', fault: end.fault, reason: String(end.reason).slice(0, 500) };
}
