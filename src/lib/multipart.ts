/** A part of a multipart body. */
export interface MultipartPart {
  /** Names in lower case; the last value of a repeated name. Values hold the bytes, one character each (latin1). */
  readonly headers: ReadonlyMap<string, string>;
  /**
   * Must be read before the next part is requested; the unread rest is skipped. A chunk is valid only until the next
   * chunk is requested, so copy what must be kept.
   */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Violation of the multipart format (RFC 2046, section 5.1). The message is for the sender of the body. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError';
}

const CRLF = Buffer.from('\r\n');
const BLANK_LINE = Buffer.from('\r\n\r\n');
const CLOSING = Buffer.from('--');

/** RFC 2046, section 5.1.1: at most 70 characters, the last of them not a space. */
const BOUNDARY = /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/;

/**
 * Splits a multipart body into its parts as it arrives. Buffers only headers and a possible start of a boundary. Skips
 * the preamble, and does not wait for the epilogue. The source may reuse the memory of a chunk once the next is
 * requested.
 *
 * @throws MultipartError for an invalid boundary, a body that ends before its closing boundary, and headers that are
 * too long or invalid; any error of the source.
 */
export async function* parseMultipart(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
  { headerBytesMax }: { readonly headerBytesMax: number },
): AsyncGenerator<MultipartPart> {
  if (!BOUNDARY.test(boundary)) throw new MultipartError('its boundary is invalid');
  const reader = createDelimiterReader(source);
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  // The first boundary may be at the very start of the body, without a preceding line break.
  reader.unshift(CRLF);
  let skipped = reader.readUntil(delimiter);
  for (;;) {
    while ((await skipped.next()) !== undefined);
    if ((await reader.peek(2)).equals(CLOSING)) return;
    const headers = await readHeaders(reader, headerBytesMax);
    const chunks = reader.readUntil(delimiter);
    yield {
      headers,
      bytes: { [Symbol.asyncIterator]: () => iterateChunks(chunks) },
    };
    skipped = chunks;
  }
}

/** Iterates over chunks. An early return does not read the rest; the caller skips it. */
async function* iterateChunks(chunks: ByteChunks): AsyncGenerator<Uint8Array> {
  for (;;) {
    const next = await chunks.next();
    if (next === undefined) return;
    yield next;
  }
}

interface ByteChunks {
  /** @returns undefined once the delimiter was reached. */
  next(): Promise<Buffer | undefined>;
}

interface DelimiterReader {
  unshift(bytes: Buffer): void;
  /** Returns the next `count` bytes without consuming them. */
  peek(count: number): Promise<Buffer>;
  /** Yields the bytes before the delimiter, and consumes the delimiter. */
  readUntil(mark: Buffer): ByteChunks;
}

function createDelimiterReader(source: AsyncIterable<Uint8Array>): DelimiterReader {
  const iterator = source[Symbol.asyncIterator]();
  let buffered: Buffer = Buffer.alloc(0);
  const readMore = async (): Promise<void> => {
    // `buffered` is at most a partial delimiter. Copy it: the source may reuse the memory of its chunk.
    buffered = Buffer.from(buffered);
    const { done, value } = await iterator.next();
    if (done === true) throw new MultipartError('it ends before its closing boundary');
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    buffered = buffered.length === 0 ? bytes : Buffer.concat([buffered, bytes]);
  };
  const take = (count: number): Buffer => {
    const taken = buffered.subarray(0, count);
    buffered = buffered.subarray(count);
    return taken;
  };
  return {
    unshift(bytes) {
      buffered = Buffer.concat([bytes, buffered]);
    },
    async peek(count) {
      while (buffered.length < count) await readMore();
      return buffered.subarray(0, count);
    },
    readUntil(mark) {
      let isReached = false;
      return {
        async next() {
          while (!isReached) {
            const at = buffered.indexOf(mark);
            if (at >= 0) {
              isReached = true;
              const last = take(at);
              take(mark.length);
              return last.length === 0 ? undefined : last;
            }
            const safeLength = buffered.length - countDelimiterPrefix(mark, buffered);
            if (safeLength > 0) return take(safeLength);
            await readMore();
          }
          return undefined;
        },
      };
    },
  };
}

/** Counts the bytes at the end of `buffered` that may be the start of the delimiter. */
function countDelimiterPrefix(mark: Buffer, buffered: Buffer): number {
  const first = mark[0] ?? 0;
  let at = Math.max(0, buffered.length - mark.length + 1);
  for (;;) {
    at = buffered.indexOf(first, at);
    if (at < 0) return 0;
    if (mark.compare(buffered, at, buffered.length, 0, buffered.length - at) === 0) return buffered.length - at;
    at += 1;
  }
}

/** Reads from a boundary to the blank line: the rest of the boundary's line, which must be blank, and the headers. */
async function readHeaders(reader: DelimiterReader, bytesMax: number): Promise<ReadonlyMap<string, string>> {
  const pieces = reader.readUntil(BLANK_LINE);
  let text = '';
  for (let piece = await pieces.next(); piece !== undefined; piece = await pieces.next()) {
    if (text.length + piece.length > bytesMax) {
      throw new MultipartError(`the headers of a part may have at most ${bytesMax} bytes`);
    }
    text += piece.toString('latin1');
  }
  const [rest = '', ...lines] = text.split('\r\n');
  if (!/^[ \t]*$/.test(rest)) throw new MultipartError('a boundary is followed by other text on its line');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[\r\n\0]/.test(line)) {
      throw new MultipartError('a header of a part is invalid');
    }
    headers.set(name.toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}
