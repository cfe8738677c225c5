import type { IncomingMessage } from 'node:http';
import { pipeline, Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { FETCH_UNPACK_FREE_BYTES, FETCH_UNPACK_RATIO_MAX } from './limits.ts';
import { toConnectionError, createServerError, createTooLargeError, createEarlyCloseError } from './fetch-errors.ts';

/** Returns the compression of the body. @throws ServiceError `upstream-failed` for a compression not requested. */
export function parseContentEncoding(response: IncomingMessage): ContentEncoding | undefined {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return undefined;
  if (encoding === 'gzip' || encoding === 'x-gzip') return 'gzip';
  if (encoding === 'deflate' || encoding === 'br') return encoding;
  throw createServerError('sent a body with a content encoding that was not requested');
}

export type ContentEncoding = 'gzip' | 'deflate' | 'br';

export interface ResponseBodyLimits {
  readonly encoding: ContentEncoding | undefined;
  /** Limit of the received and of the decompressed body. */
  readonly bytesMax: number;
  /** Aborts on a timeout or when the caller leaves. */
  readonly signal: AbortSignal;
  /** Called when the body has ended, successfully or not; may be called twice. */
  readonly onClose: () => void;
}

/** Returns the decompressed body. Reading fails beyond a limit, or when the connection closes before the body ends. */
export function createBoundedBody(response: IncomingMessage, limits: ResponseBodyLimits): Readable {
  const { signal, onClose } = limits;
  const onAbort = (): void => {
    response.destroy();
    onClose();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const chunks = decodeBody(response, limits);
  // Not Readable.from: destroying that waits for the generator, which waits for the server.
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
      onClose();
      done(error);
    },
  });
}

async function* decodeBody(response: IncomingMessage, limits: ResponseBodyLimits): AsyncGenerator<Uint8Array> {
  const { encoding, bytesMax, signal } = limits;
  let [receivedBytes, decodedBytes] = [0, 0];
  const byteCounter = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      receivedBytes += chunk.byteLength;
      done(receivedBytes > bytesMax ? createTooLargeError(bytesMax) : null, chunk);
    },
  });
  try {
    signal.throwIfAborted();
    for await (const chunk of encoding
      ? decompress(response, byteCounter, encoding)
      : pipeThrough(response, byteCounter)) {
      decodedBytes += chunk.byteLength;
      if (decodedBytes > bytesMax) throw createTooLargeError(bytesMax);
      if (decodedBytes > FETCH_UNPACK_FREE_BYTES && decodedBytes > receivedBytes * FETCH_UNPACK_RATIO_MAX) {
        throw createServerError('sent a body that decompresses to far more than its size');
      }
      yield chunk;
    }
    signal.throwIfAborted();
    if (!response.complete) throw createEarlyCloseError();
  } catch (thrown) {
    signal.throwIfAborted();
    throw toConnectionError(thrown);
  }
}

const pipeThrough = (response: IncomingMessage, transform: Transform): AsyncIterable<Uint8Array> =>
  pipeline(response, transform, () => undefined);

async function* decompress(
  response: IncomingMessage,
  byteCounter: Transform,
  encoding: ContentEncoding,
): AsyncGenerator<Uint8Array> {
  const bytes = pipeThrough(response, byteCounter)[Symbol.asyncIterator]();
  const first = await bytes.next();
  if (first.done === true) return;
  const decoder = createDecompressor(encoding, first.value[0] ?? 0);
  async function* prependFirst(): AsyncGenerator<Uint8Array> {
    if (first.done !== true) yield first.value;
    for (let next = await bytes.next(); next.done !== true; next = await bytes.next()) yield next.value;
  }
  yield* pipeline(Readable.from(prependFirst(), { objectMode: false }), decoder, () => undefined);
}

/** Some servers send `deflate` without the zlib header that RFC 9110 requires; the first byte tells them apart. */
function createDecompressor(encoding: ContentEncoding, firstByte: number): Transform {
  if (encoding === 'gzip') return createGunzip();
  if (encoding === 'br') return createBrotliDecompress();
  return (firstByte & 0x0f) === 0x08 ? createInflate() : createInflateRaw();
}
