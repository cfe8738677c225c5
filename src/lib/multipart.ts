/** One part of a body that has several. */
export interface Part {
  /** Names in lower case; of a name that stands twice the last. Bytes as they came, one character each (latin1). */
  readonly headers: ReadonlyMap<string, string>;
  /**
   * To be read before the next part is asked for; what is left of it then is passed over. Whoever keeps a piece copies it
   * before he asks for the next.
   */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** What breaks the rules of the format: RFC 2046, 5.1. Its message is for whoever sent it. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError';
}

const CRLF = Buffer.from('\r\n');
const BLANK_LINE = Buffer.from('\r\n\r\n');
const CLOSING = Buffer.from('--');

/** RFC 2046, 5.1.1: at most 70 characters, none of which ends a line. */
const BOUNDARY = /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/;

/**
 * Cuts a multipart body into its parts as it comes in: nothing is gathered but headers and what could be the beginning of
 * a boundary. What stands before the first boundary and behind the last is passed over; the latter is not waited for. The
 * source may use the memory of a piece again when it is asked for the next.
 *
 * @throws MultipartError for a boundary that cannot be, a body that ends before its closing boundary, headers that are
 * too long or cannot be read. Whatever the source throws.
 */
export async function* readParts(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
  { headerBytesMax }: { readonly headerBytesMax: number },
): AsyncGenerator<Part> {
  if (!BOUNDARY.test(boundary)) throw new MultipartError('its boundary is none');
  const cutter = createCutter(source);
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  // The first boundary may stand at the very beginning, and then has no line before it.
  cutter.putBack(CRLF);
  let before = cutter.until(delimiter);
  for (;;) {
    while ((await before.next()) !== undefined);
    if ((await cutter.peek(2)).equals(CLOSING)) return;
    const headers = await readHeaders(cutter, headerBytesMax);
    const piece = cutter.until(delimiter);
    yield {
      headers,
      bytes: { [Symbol.asyncIterator]: () => iterate(piece) },
    };
    before = piece;
  }
}

/** Ends without touching what is left: the next part begins behind it. */
async function* iterate(piece: Pieces): AsyncGenerator<Uint8Array> {
  for (;;) {
    const next = await piece.next();
    if (next === undefined) return;
    yield next;
  }
}

interface Pieces {
  /** Undefined when the mark was reached; from then on always. */
  next(): Promise<Buffer | undefined>;
}

interface Cutter {
  putBack(bytes: Buffer): void;
  /** The next so many bytes, which stay. */
  peek(count: number): Promise<Buffer>;
  /** What comes before the mark; the mark itself is passed over. */
  until(mark: Buffer): Pieces;
}

function createCutter(source: AsyncIterable<Uint8Array>): Cutter {
  const iterator = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  const more = async (): Promise<void> => {
    // At most what could be the beginning of a boundary; the piece that it is of may not be there any more afterwards.
    held = Buffer.from(held);
    const { done, value } = await iterator.next();
    if (done === true) throw new MultipartError('it ends before its closing boundary');
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
  };
  const take = (count: number): Buffer => {
    const taken = held.subarray(0, count);
    held = held.subarray(count);
    return taken;
  };
  return {
    putBack(bytes) {
      held = Buffer.concat([bytes, held]);
    },
    async peek(count) {
      while (held.length < count) await more();
      return held.subarray(0, count);
    },
    until(mark) {
      let isReached = false;
      return {
        async next() {
          while (!isReached) {
            const at = held.indexOf(mark);
            if (at >= 0) {
              isReached = true;
              const last = take(at);
              take(mark.length);
              return last.length === 0 ? undefined : last;
            }
            const sure = held.length - beginningOf(mark, held);
            if (sure > 0) return take(sure);
            await more();
          }
          return undefined;
        },
      };
    },
  };
}

/** How many of the last bytes could be the first ones of the mark. */
function beginningOf(mark: Buffer, held: Buffer): number {
  const first = mark[0] ?? 0;
  let at = Math.max(0, held.length - mark.length + 1);
  for (;;) {
    at = held.indexOf(first, at);
    if (at < 0) return 0;
    if (mark.compare(held, at, held.length, 0, held.length - at) === 0) return held.length - at;
    at += 1;
  }
}

/** From behind a boundary to the blank line: the rest of the boundary's own line, which is blank, and the headers. */
async function readHeaders(cutter: Cutter, bytesMax: number): Promise<ReadonlyMap<string, string>> {
  const pieces = cutter.until(BLANK_LINE);
  let text = '';
  for (let piece = await pieces.next(); piece !== undefined; piece = await pieces.next()) {
    if (text.length + piece.length > bytesMax) {
      throw new MultipartError(`the headers of a part may have at most ${bytesMax} bytes`);
    }
    text += piece.toString('latin1');
  }
  const [rest = '', ...lines] = text.split('\r\n');
  if (!/^[ \t]*$/.test(rest)) throw new MultipartError('a boundary is followed by something on its line');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[\r\n\0]/.test(line)) {
      throw new MultipartError('a header of a part cannot be read');
    }
    headers.set(name.toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}
