import { createUnsupportedError } from './audio-decoding-error.ts';

/** Input bytes of a recording. Functions return fewer bytes than requested only at the end. */
export interface ByteInput {
  /** Reads bytes. Returns a copy. */
  read(count: number): Uint8Array;
  /**
   * Returns bytes without consuming them, valid until the next call. For small counts, because they are held in memory.
   */
  peek(count: number): Uint8Array;
  /** Skips bytes. Returns whether all of them existed. */
  skip(count: number): boolean;
  /** Moves to a position. @throws AudioDecodingError for a backward move if the source is a stream. */
  seek(to: number): void;
  /** Number of bytes available without waiting. */
  countBuffered(): number;
  /** Position of the next byte, from 0. */
  getPosition(): number;
  /** Size of the input, if known. */
  readonly sizeBytes: number | undefined;
}

export interface ByteSource {
  /** Returns the next chunk, which the reader may keep; undefined at the end. */
  pull(): Uint8Array | undefined;
  /** Makes the next chunk start at a position. Absent for a stream. */
  readonly seekSource?: ((to: number) => void) | undefined;
  readonly sizeBytes?: number | undefined;
}

/** Up to this distance, bytes are read and discarded instead of moving the source. */
const SKIP_BYTES_MAX = 512 * 1024;

export function createByteInput({ pull, seekSource, sizeBytes }: ByteSource): ByteInput {
  let buffer = new Uint8Array();
  let offset = 0;
  let position = 0;
  let isAtEnd = false;

  const readMore = (): boolean => {
    const piece = isAtEnd ? undefined : pull();
    isAtEnd = piece === undefined;
    if (piece === undefined) return false;
    if (offset === buffer.length) buffer = new Uint8Array(piece);
    else {
      const joined = new Uint8Array(buffer.length - offset + piece.length);
      joined.set(buffer.subarray(offset));
      joined.set(piece, buffer.length - offset);
      buffer = joined;
    }
    offset = 0;
    return true;
  };

  const skip = (count: number): boolean => {
    let left = count;
    while (left > buffer.length - offset) {
      left -= buffer.length - offset;
      position += buffer.length - offset;
      offset = buffer.length;
      if (!readMore()) return false;
    }
    offset += left;
    position += left;
    return true;
  };

  const seek = (to: number): void => {
    if (to >= position && (!seekSource || to - position < SKIP_BYTES_MAX)) return void skip(to - position);
    if (!seekSource) throw createUnsupportedError('cannot be streamed because its index is at the end of the file');
    seekSource(to);
    buffer = new Uint8Array();
    offset = 0;
    position = to;
    isAtEnd = false;
  };

  return {
    sizeBytes,
    seek,
    getPosition: () => position,
    countBuffered: () => buffer.length - offset,
    peek(count) {
      while (buffer.length - offset < count && readMore());
      return buffer.subarray(offset, offset + count);
    },
    read(count) {
      const first = buffer.subarray(offset, offset + count);
      if (first.length === count) {
        offset += count;
        position += count;
        return first.slice();
      }
      // The requested count may exceed the input, so memory grows only with received bytes.
      const parts = [first];
      let length = first.length;
      offset = buffer.length;
      while (length < count && readMore()) {
        const part = buffer.subarray(0, count - length);
        parts.push(part);
        length += part.length;
        offset = part.length;
      }
      position += length;
      return concatenate(parts, length);
    },
    skip(count) {
      if (!seekSource || count < SKIP_BYTES_MAX || count <= buffer.length - offset) return skip(count);
      seek(position + count);
      return sizeBytes === undefined || position <= sizeBytes;
    },
  };
}

function concatenate(parts: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
