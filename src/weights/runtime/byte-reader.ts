import { ServiceError } from '../../core/error.ts';

/** Reads a byte stream in the lengths that a format prescribes, independent of the stream's own chunks. */
export interface ByteReader {
  /** Reads `length` bytes; fewer when the stream ends before; undefined when it has already ended. */
  read(length: number): Promise<Buffer | undefined>;
  /**
   * Streams the next `length` bytes in chunks. A second iteration continues where the first stopped.
   * @throws ServiceError when the stream ends before.
   */
  stream(length: number): AsyncIterable<Uint8Array>;
}

export function createByteReader(source: AsyncIterable<Uint8Array>): ByteReader {
  const pieces = source[Symbol.asyncIterator]();
  let remaining: Uint8Array = new Uint8Array(0);

  /** Returns at most `lengthMax` bytes; an empty array at the end of the stream. */
  const readPiece = async (lengthMax: number): Promise<Uint8Array> => {
    while (remaining.length === 0) {
      const { done, value } = await pieces.next();
      if (done) return remaining;
      remaining = value;
    }
    const piece = remaining.subarray(0, lengthMax);
    remaining = remaining.subarray(piece.length);
    return piece;
  };

  return {
    async read(length) {
      const chunks: Uint8Array[] = [];
      let missing = length;
      while (missing > 0) {
        const piece = await readPiece(missing);
        if (piece.length === 0) break;
        chunks.push(piece);
        missing -= piece.length;
      }
      return chunks.length === 0 && length > 0 ? undefined : Buffer.concat(chunks);
    },
    stream(length) {
      let missing = length;
      return {
        async *[Symbol.asyncIterator]() {
          while (missing > 0) {
            const piece = await readPiece(missing);
            if (piece.length === 0)
              throw new ServiceError('upstream-failed', 'The archive ends in the middle of a file.');
            missing -= piece.length;
            yield piece;
          }
        },
      };
    },
  };
}
