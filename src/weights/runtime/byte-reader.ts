import { ServiceError } from '../../core/error.ts';

/** Reads a stream of bytes in the pieces that its format has, and not in those in which it comes. */
export interface ByteReader {
  /** So many bytes in one piece, fewer where the stream ends in them; undefined where it has ended before. */
  take(length: number): Promise<Buffer | undefined>;
  /** The next bytes as they come. Whoever stops early goes on where it stopped. @throws ServiceError where the stream ends in them. */
  stream(length: number): AsyncIterable<Uint8Array>;
}

export function createByteReader(source: AsyncIterable<Uint8Array>): ByteReader {
  const pieces = source[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array(0);

  /** At most so many bytes; none at the end. */
  const next = async (most: number): Promise<Uint8Array> => {
    while (rest.length === 0) {
      const { done, value } = await pieces.next();
      if (done) return rest;
      rest = value;
    }
    const piece = rest.subarray(0, most);
    rest = rest.subarray(piece.length);
    return piece;
  };

  return {
    async take(length) {
      const taken: Uint8Array[] = [];
      let missing = length;
      while (missing > 0) {
        const piece = await next(missing);
        if (piece.length === 0) break;
        taken.push(piece);
        missing -= piece.length;
      }
      return taken.length === 0 && length > 0 ? undefined : Buffer.concat(taken);
    },
    stream(length) {
      let missing = length;
      return {
        async *[Symbol.asyncIterator]() {
          while (missing > 0) {
            const piece = await next(missing);
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
