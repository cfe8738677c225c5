import type { IncomingMessage } from 'node:http';
import { pipeline, Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { FETCH_UNPACK_FREE_BYTES, FETCH_UNPACK_RATIO_MAX } from '../core/limits.ts';
import { connectionFailure, serverFailed, tooLarge } from './fetch-refusals.ts';

/** How the body is packed. @throws ServiceError `upstream-failed` where we did not offer that. */
export function packingOf(response: IncomingMessage): Packing | undefined {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return undefined;
  if (encoding === 'gzip' || encoding === 'x-gzip') return 'gzip';
  if (encoding === 'deflate' || encoding === 'br') return encoding;
  throw serverFailed('sent a body packed in a way that was not asked for');
}

export type Packing = 'gzip' | 'deflate' | 'br';

export interface BodyBounds {
  readonly packing: Packing | undefined;
  /** Of what is sent, and of what it unpacks to. */
  readonly bytesMax: number;
  /** Aborts when the time is over or the caller has gone. */
  readonly signal: AbortSignal;
  /** When the body has ended, in whatever way; may be called twice. */
  readonly onEnd: () => void;
}

/** The unpacked body; reading it fails as soon as a bound is passed or the connection ends before the body does. */
export function boundedBody(response: IncomingMessage, bounds: BodyBounds): Readable {
  const { signal, onEnd } = bounds;
  const onAbort = (): void => {
    response.destroy();
    onEnd();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const chunks = unpacked(response, bounds);
  // By hand: a stream made of the generator would wait for it when it is destroyed, and it waits for the server.
  return new Readable({
    read() {
      chunks.next().then(
        ({ done, value }) => this.push(done === true ? null : value),
        (thrown: Error) => this.destroy(thrown),
      );
    },
    destroy(error, done) {
      signal.removeEventListener('abort', onAbort);
      response.destroy();
      onEnd();
      done(error);
    },
  });
}

async function* unpacked(response: IncomingMessage, bounds: BodyBounds): AsyncGenerator<Uint8Array> {
  const { packing, bytesMax, signal } = bounds;
  let [sent, size] = [0, 0];
  const count = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      sent += chunk.byteLength;
      done(sent > bytesMax ? tooLarge(bytesMax) : null, chunk);
    },
  });
  try {
    signal.throwIfAborted();
    for await (const chunk of packing ? unpack(response, count, packing) : piped(response, count)) {
      size += chunk.byteLength;
      if (size > bytesMax) throw tooLarge(bytesMax);
      if (size > FETCH_UNPACK_FREE_BYTES && size > sent * FETCH_UNPACK_RATIO_MAX) {
        throw serverFailed('sent a body that unpacks to much more than it is');
      }
      yield chunk;
    }
    signal.throwIfAborted();
    if (!response.complete) throw serverFailed('broke the connection');
  } catch (thrown) {
    signal.throwIfAborted();
    throw connectionFailure(thrown);
  }
}

const piped = (response: IncomingMessage, count: Transform): AsyncIterable<Uint8Array> =>
  pipeline(response, count, () => undefined);

async function* unpack(response: IncomingMessage, count: Transform, packing: Packing): AsyncGenerator<Uint8Array> {
  const bytes = piped(response, count)[Symbol.asyncIterator]();
  const first = await bytes.next();
  if (first.done === true) return;
  const decoder = decoderOf(packing, first.value[0] ?? 0);
  async function* all(): AsyncGenerator<Uint8Array> {
    if (first.done !== true) yield first.value;
    for (let next = await bytes.next(); next.done !== true; next = await bytes.next()) yield next.value;
  }
  yield* pipeline(Readable.from(all(), { objectMode: false }), decoder, () => undefined);
}

/** Half of the servers that say deflate send it without the zlib head that it is defined with. */
function decoderOf(packing: Packing, firstByte: number): Transform {
  if (packing === 'gzip') return createGunzip();
  if (packing === 'br') return createBrotliDecompress();
  return (firstByte & 0x0f) === 0x08 ? createInflate() : createInflateRaw();
}
