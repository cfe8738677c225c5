import { createHash } from 'node:crypto';
import type { BlobFacts, BlobWish } from './blob-store.ts';

/** The bytes of one upload on their way in. */
export interface Intake {
  /** All of `partBytes` but the last, which is shorter and is left out where nothing is left. Read once. */
  readonly parts: AsyncGenerator<Uint8Array>;
  /** Gives back the memory of a part that is done with: a later one comes in it. */
  release(part: Uint8Array): void;
  /** Of what `parts` has handed over or holds: of everything, when it has ended. Asked once, at the end. */
  facts(): BlobFacts;
}

/**
 * Counts, hashes and asks for leave while it cuts a source into parts. What comes is copied at once into memory that is
 * used again and again: pieces that were kept until their part is whole would be collected late, and many of them lie about.
 */
export function takeIn(source: AsyncIterable<Uint8Array>, partBytes: number, wish: BlobWish = {}): Intake {
  const hash = createHash('md5');
  const rooms: Uint8Array[] = [];
  let sizeBytes = 0;
  async function* parts(): AsyncGenerator<Uint8Array> {
    let room: Uint8Array | undefined;
    let used = 0;
    for await (const piece of unlessAborted(source, wish.signal)) {
      await wish.allow?.(sizeBytes + piece.byteLength);
      sizeBytes += piece.byteLength;
      hash.update(piece);
      for (let rest = piece; rest.byteLength > 0;) {
        room ??= rooms.pop() ?? Buffer.allocUnsafeSlow(partBytes);
        const fits = rest.subarray(0, partBytes - used);
        room.set(fits, used);
        used += fits.byteLength;
        rest = rest.subarray(fits.byteLength);
        if (used < partBytes) continue;
        yield room;
        room = undefined;
        used = 0;
      }
    }
    if (room) yield room.subarray(0, used);
  }
  return {
    parts: parts(),
    release(part) {
      if (part.byteLength === partBytes) rooms.push(part);
    },
    facts: () => ({ sizeBytes, md5: hash.digest('hex') }),
  };
}

/** A source that is silent when the signal comes is not waited for: it is told to end, whenever it can. */
async function* unlessAborted<T>(source: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  signal?.throwIfAborted();
  const iterator = source[Symbol.asyncIterator]();
  let giveUp: (reason: unknown) => void = () => undefined;
  const onAbort = (): void => giveUp(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  let isOver = false;
  try {
    for (;;) {
      const step = await new Promise<IteratorResult<T>>((resolve, reject) => {
        giveUp = reject;
        iterator.next().then(resolve, reject);
      });
      signal?.throwIfAborted();
      if (step.done === true) {
        isOver = true;
        return;
      }
      yield step.value;
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    if (!isOver) void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
