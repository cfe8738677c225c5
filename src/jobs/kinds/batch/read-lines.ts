import { isUtf8 } from 'node:buffer';
import { releaseBytes } from '../../../lib/release-bytes.ts';

/** A non-blank line. Lines count from 1, including blank lines. */
export type InputLine =
  | { readonly type: 'text'; readonly line: number; /** Valid UTF-8, without the line break. */ readonly bytes: Buffer }
  | { readonly type: 'unreadable'; readonly line: number; readonly reason: string };

const [NEWLINE, RETURN] = [0x0a, 0x0d];

/**
 * Splits JSONL bytes into lines, whatever the chunk boundaries. Lines end with LF or CRLF, the last one optionally
 * without; the first may start with a byte order mark. A line longer than `lineBytesMax` is skipped without being kept
 * in memory. The memory of the chunks is released.
 */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  { lineBytesMax }: { readonly lineBytesMax: number },
): AsyncGenerator<InputLine> {
  let line = 0;
  let buffered: Buffer[] = [];
  let bufferedBytes = 0;

  const append = (piece: Uint8Array): void => {
    bufferedBytes += piece.length;
    // One byte more for a carriage return, which may belong to the line break.
    if (bufferedBytes > lineBytesMax + 1 + BYTE_ORDER_MARK.length) buffered = [];
    else if (piece.length > 0) buffered.push(Buffer.from(piece));
  };
  const endLine = (): InputLine | undefined => {
    const [bytes, sizeBytes] = [
      buffered.length === 1 && buffered[0] ? buffered[0] : Buffer.concat(buffered),
      bufferedBytes,
    ];
    [buffered, bufferedBytes] = [[], 0];
    line += 1;
    // Skipped bytes mean that the line exceeded the limit.
    return sizeBytes > bytes.length ? createTooLong(line, lineBytesMax) : createInputLine(line, bytes, lineBytesMax);
  };

  for await (const chunk of source) {
    let from = 0;
    for (;;) {
      if (bufferedBytes === 0) {
        const skipped = skipBlankLines(chunk, from, lineBytesMax);
        line += skipped.lines;
        from = skipped.from;
      }
      const at = chunk.indexOf(NEWLINE, from);
      if (at < 0) break;
      append(chunk.subarray(from, at));
      from = at + 1;
      const finished = endLine();
      if (finished) yield finished;
    }
    append(chunk.subarray(from));
    releaseBytes(chunk);
  }
  const last = bufferedBytes > 0 ? endLine() : undefined;
  if (last) yield last;
}

/**
 * Skips complete blank lines at the start of a chunk. A file may have hundreds of millions of them: handled one by one,
 * they would block the event loop for minutes.
 */
function skipBlankLines(
  chunk: Uint8Array,
  start: number,
  lineBytesMax: number,
): { readonly lines: number; readonly from: number } {
  let lines = 0;
  let from = start;
  for (let at = start; at - from <= lineBytesMax; at++) {
    const byte = chunk[at];
    if (byte === NEWLINE) {
      lines += 1;
      from = at + 1;
    } else if (!isBlankByte(byte)) break;
  }
  return { lines, from };
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

function createInputLine(line: number, whole: Buffer, lineBytesMax: number): InputLine | undefined {
  const start = line === 1 && whole.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0;
  const bytes = whole.subarray(start, whole.at(-1) === RETURN ? -1 : undefined);
  if (bytes.length > lineBytesMax) return createTooLong(line, lineBytesMax);
  if (!isUtf8(bytes)) return { type: 'unreadable', line, reason: 'This line is not valid UTF-8.' };
  if (isBlank(bytes)) return undefined;
  return { type: 'text', line, bytes };
}

const createTooLong = (line: number, lineBytesMax: number): InputLine => ({
  type: 'unreadable',
  line,
  reason: `A line may have at most ${lineBytesMax} bytes.`,
});

/** Returns whether the line has only spaces and tabs. */
function isBlank(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at++) if (!isBlankByte(bytes[at])) return false;
  return true;
}

const isBlankByte = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09 || byte === RETURN;
