import { createHash } from 'node:crypto';
import type { BlobFacts, BlobWish } from './blob-store.ts';

/** Bytes that follow each other, in the pieces in which they came. */
export type Part = readonly Uint8Array[];

/** The bytes of one upload on their way in. */
export interface Intake {
  /** All of `partBytes` but the last, which is shorter and is left out where nothing is left. Read once. */
  readonly parts: AsyncIterable<Part>;
  /** Of what `parts` has handed over or holds: of everything, when it has ended. Asked once, at the end. */
  facts(): BlobFacts;
}

/**
 * Counts, hashes and asks for leave while it cuts a source into parts. Holds one part at most, and of that only what has
 * come: a slow source costs no memory that it has not sent.
 */
export function takeIn(source: AsyncIterable<Uint8Array>, partBytes: number, wish: BlobWish = {}): Intake {
  const hash = createHash('md5');
  let sizeBytes = 0;
  async function* parts(): AsyncGenerator<Part> {
    let part: Uint8Array[] = [];
    let room = partBytes;
    for await (const piece of unlessAborted(source, wish.signal)) {
      await wish.allow?.(sizeBytes + piece.byteLength);
      sizeBytes += piece.byteLength;
      hash.update(piece);
      let rest = piece;
      while (rest.byteLength >= room) {
        part.push(rest.subarray(0, room));
        yield part;
        rest = rest.subarray(room);
        part = [];
        room = partBytes;
      }
      if (rest.byteLength > 0) part.push(rest);
      room -= rest.byteLength;
    }
    if (part.length > 0) yield part;
  }
  return { parts: parts(), facts: () => ({ sizeBytes, md5: hash.digest('hex') }) };
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
