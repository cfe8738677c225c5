import type { Readable } from 'node:stream';
import { startSealed, writeTo } from '../lib/sealed-process.ts';
import type { AudioEnd, AudioEvent } from './audio.ts';
import type { DecoderOrder } from './decoder-thread.ts';
import {
  BYTES,
  ENDED,
  FRAME_BYTES_MAX,
  FRAME_HEAD_BYTES,
  frameHead,
  MOVE,
  MOVED,
  NO_MORE,
  ORDER,
  readFrameHead,
  SOUND,
} from './frames.ts';

/** A process that decodes one recording. Whoever has it, closes it. */
export interface Decoding {
  /** Resolves when the process takes more, or has ended. */
  write(bytes: Uint8Array): Promise<void>;
  /** No more bytes come. */
  end(): Promise<void>;
  /** Bytes from another place follow, as the process asked. */
  moved(): Promise<void>;
  /** @param onMove The process wants the bytes from a place on. */
  events(onMove: (to: number) => void): AsyncGenerator<AudioEvent, void, undefined>;
  /** Kills it, and resolves when it is gone. */
  close(): Promise<void>;
}

/** Bytes of a frame that are sent at once. */
const PIECE_BYTES = 1024 * 1024;

/** Ours: ms between looks whether it has come to a stand. */
const LOOK_MS = 1_000;

const LIBRARIES = ['mpg123-decoder', 'opus-decoder', '@wasm-audio-decoders/common'];

export function startDecoding(order: DecoderOrder): Decoding {
  const { stallMs } = order.limits;
  const { child, ended, said, kill } = startSealed({
    main: new URL('./decoder-process', import.meta.url),
    packages: LIBRARIES,
  });
  let isStalled = false;
  let livedAt = performance.now();
  const live = (): void => void (livedAt = performance.now());

  const send = async (kind: number, body: Uint8Array = new Uint8Array()): Promise<void> => {
    await writeTo(child, Buffer.concat([frameHead(kind, body.length), body]));
    live();
  };
  const ordered = send(ORDER, Buffer.from(JSON.stringify(order)));

  /** While sound is waited for and bytes are there, something has to happen. */
  const watch = (isFed: () => boolean): (() => void) => {
    live();
    const timer = setInterval(() => {
      if (!isFed()) return live();
      if (performance.now() - livedAt < stallMs) return;
      isStalled = true;
      kill();
    }, LOOK_MS);
    return () => clearInterval(timer);
  };

  let isOver = false;
  let isAwaited = true;
  const isFed = (): boolean => isAwaited && (isOver || child.stdin?.writableNeedDrain === true);

  const toEnd = async (): Promise<AudioEnd> => {
    const how = await ended;
    const limit = isStalled ? 'time' : /^over: (time|memory)$/m.exec(said())?.[1];
    if (limit === undefined) throw new Error(`the process that decodes audio ended without a word: ${how} ${said()}`);
    const reason = `The audio takes too ${limit === 'time' ? 'long' : 'much memory'} to decode.`;
    return { type: 'failed', fault: 'too-costly', reason };
  };

  return {
    async write(bytes) {
      await ordered;
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) await send(BYTES, bytes.subarray(at, at + PIECE_BYTES));
    },
    async end() {
      isOver = true;
      await send(NO_MORE);
    },
    async moved() {
      isOver = false;
      await send(MOVED);
    },
    async *events(onMove) {
      const unwatch = watch(isFed);
      try {
        for await (const { kind, body } of framesOf(child.stdout)) {
          live();
          if (kind === SOUND) {
            // As long as nobody asks for more, the process can give none.
            isAwaited = false;
            yield { type: 'sound', samples: toSamples(body) };
            isAwaited = true;
          } else if (kind === MOVE && body.length === 8) onMove(body.readDoubleLE(0));
          else if (kind === ENDED) return yield toKnownEnd(JSON.parse(body.toString('utf8')));
          live();
        }
        yield await toEnd();
      } finally {
        unwatch();
      }
    },
    async close() {
      kill();
      await ended;
    },
  };
}

interface Frame {
  readonly kind: number;
  readonly body: Buffer;
}

async function* framesOf(stream: Readable | null): AsyncGenerator<Frame, void, undefined> {
  let held: Buffer = Buffer.alloc(0);
  for await (const piece of stream ?? []) {
    held = held.length === 0 ? (piece as Buffer) : Buffer.concat([held, piece as Buffer]);
    while (held.length >= FRAME_HEAD_BYTES) {
      const { kind, bytes } = readFrameHead(held);
      if (bytes > FRAME_BYTES_MAX) throw new Error('the process that decodes audio speaks in other words than ours');
      const end = FRAME_HEAD_BYTES + bytes;
      if (held.length < end) break;
      const body = held.subarray(FRAME_HEAD_BYTES, end);
      held = held.subarray(end);
      yield { kind, body };
    }
  }
}

/** A copy, in memory that is aligned. */
function toSamples(bytes: Buffer): Float32Array {
  const samples = new Float32Array(Math.floor(bytes.length / Float32Array.BYTES_PER_ELEMENT));
  new Uint8Array(samples.buffer).set(bytes.subarray(0, samples.byteLength));
  return samples;
}

/** Our own code wrote it, in a process that a recording may have got hold of: what it says is looked at. */
function toKnownEnd(told: unknown): AudioEnd {
  const end = told as AudioEnd;
  if (end.type === 'end') return end;
  return { type: 'failed', fault: end.fault, reason: String(end.reason).slice(0, 500) };
}
