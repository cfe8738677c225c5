import { unsupported } from './unreadable.ts';

/** The bytes of a recording in order, whatever pieces they come in. Fewer come back than asked for only at the end. */
export interface ByteInput {
  /** A copy. */
  read(count: number): Uint8Array;
  /** The next bytes, which stay; good until the next call. For small counts: so much is held in memory. */
  peek(count: number): Uint8Array;
  /** @returns whether all of them were there. */
  skip(count: number): boolean;
  /** On to a place that is known, forwards or back. @throws Unreadable where this source only goes forwards. */
  seek(to: number): void;
  /** Bytes that are there without waiting for more. */
  held(): number;
  /** Of the next byte, from 0. */
  at(): number;
  /** Where it is known. */
  readonly sizeBytes: number | undefined;
}

export interface ByteSource {
  /** The next piece, whose memory is ours then; undefined behind the last one. */
  pull(): Uint8Array | undefined;
  /** The next piece is the one from there. Absent where the source only goes forwards. */
  readonly jump?: ((to: number) => void) | undefined;
  readonly sizeBytes?: number | undefined;
}

/** Ours: bytes that are read and dropped rather than asked for anew. */
const NEAR_BYTES = 512 * 1024;

export function createByteInput({ pull, jump, sizeBytes }: ByteSource): ByteInput {
  let held = new Uint8Array();
  let from = 0;
  let at = 0;
  let isOver = false;

  const more = (): boolean => {
    const piece = isOver ? undefined : pull();
    isOver = piece === undefined;
    if (piece === undefined) return false;
    if (from === held.length) held = new Uint8Array(piece);
    else {
      const joined = new Uint8Array(held.length - from + piece.length);
      joined.set(held.subarray(from));
      joined.set(piece, held.length - from);
      held = joined;
    }
    from = 0;
    return true;
  };

  const skip = (count: number): boolean => {
    let left = count;
    while (left > held.length - from) {
      left -= held.length - from;
      at += held.length - from;
      from = held.length;
      if (!more()) return false;
    }
    from += left;
    at += left;
    return true;
  };

  const seek = (to: number): void => {
    if (to >= at && (!jump || to - at < NEAR_BYTES)) return void skip(to - at);
    if (!jump) throw unsupported('cannot be read in one go: its index stands behind it');
    jump(to);
    held = new Uint8Array();
    from = 0;
    at = to;
    isOver = false;
  };

  return {
    sizeBytes,
    seek,
    at: () => at,
    held: () => held.length - from,
    peek(count) {
      while (held.length - from < count && more());
      return held.subarray(from, from + count);
    },
    read(count) {
      const first = held.subarray(from, from + count);
      if (first.length === count) {
        from += count;
        at += count;
        return first.slice();
      }
      // What is asked for may be more than there is: memory grows with what comes only.
      const parts = [first];
      let length = first.length;
      from = held.length;
      while (length < count && more()) {
        const part = held.subarray(0, count - length);
        parts.push(part);
        length += part.length;
        from = part.length;
      }
      at += length;
      return join(parts, length);
    },
    skip(count) {
      if (!jump || count < NEAR_BYTES || count <= held.length - from) return skip(count);
      seek(at + count);
      return sizeBytes === undefined || at <= sizeBytes;
    },
  };
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
