import { createHash } from 'node:crypto';
import { createBlockHasher } from './block-hasher.ts';
import type { PutBlobOptions, WrittenBlob } from './blob-store.ts';

/** Cuts the bytes of an upload into parts. */
export interface PartReader {
  /** Parts of `partBytes`; the last one may be shorter, and an empty source has none. Can be iterated once. */
  readonly pieces: AsyncGenerator<Uint8Array>;
  /** Returns the memory of a part that was processed. A later part reuses it. */
  release(part: Uint8Array): void;
  /** Returns size and hashes of all bytes read so far. Call it once, after the last part. */
  getMetadata(): WrittenBlob;
}

/**
 * Counts and hashes a source while it cuts it into parts. Pieces are copied at once into reused buffers: pieces that
 * were kept until their part is complete would be garbage-collected late, so that many of them pile up.
 */
export function createPartReader(
  source: AsyncIterable<Uint8Array>,
  partBytes: number,
  options: PutBlobOptions = {},
): PartReader {
  const hash = createHash('md5');
  const blockHasher = createBlockHasher();
  const freeBuffers: Uint8Array[] = [];
  let sizeBytes = 0;
  async function* readParts(): AsyncGenerator<Uint8Array> {
    let buffer: Uint8Array | undefined;
    let usedBytes = 0;
    for await (const piece of endOnAbort(source, options.signal)) {
      await options.checkSize?.(sizeBytes + piece.byteLength);
      sizeBytes += piece.byteLength;
      hash.update(piece);
      blockHasher.update(piece);
      for (let remaining = piece; remaining.byteLength > 0;) {
        buffer ??= freeBuffers.pop() ?? Buffer.allocUnsafeSlow(partBytes);
        const chunk = remaining.subarray(0, partBytes - usedBytes);
        buffer.set(chunk, usedBytes);
        usedBytes += chunk.byteLength;
        remaining = remaining.subarray(chunk.byteLength);
        if (usedBytes < partBytes) continue;
        yield buffer;
        buffer = undefined;
        usedBytes = 0;
      }
    }
    if (buffer) yield buffer.subarray(0, usedBytes);
  }
  return {
    pieces: readParts(),
    release(part) {
      if (part.byteLength === partBytes) freeBuffers.push(part);
    },
    getMetadata: () => ({ sizeBytes, md5: hash.digest('hex'), blockHashes: blockHasher.digest() }),
  };
}

/** Ends the iteration at the abort. A silent source is not awaited; its `return` is called without waiting for it. */
async function* endOnAbort<T>(source: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  signal?.throwIfAborted();
  const iterator = source[Symbol.asyncIterator]();
  let rejectNext: (reason: unknown) => void = () => undefined;
  const onAbort = (): void => rejectNext(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  let isFinished = false;
  try {
    for (;;) {
      const step = await new Promise<IteratorResult<T>>((resolve, reject) => {
        rejectNext = reject;
        iterator.next().then(resolve, reject);
      });
      signal?.throwIfAborted();
      if (step.done === true) {
        isFinished = true;
        return;
      }
      yield step.value;
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    if (!isFinished) void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
