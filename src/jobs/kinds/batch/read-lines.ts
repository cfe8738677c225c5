import { isUtf8 } from 'node:buffer';
import { releaseBytes } from '../../../lib/release-bytes.ts';

/** A line that is not blank. Lines are counted from 1, blank ones with them. */
export type InputLine =
  | { readonly type: 'text'; readonly line: number; /** Valid UTF-8, without its end. */ readonly bytes: Buffer }
  | { readonly type: 'unreadable'; readonly line: number; readonly why: string };

const [NEWLINE, RETURN] = [0x0a, 0x0d];

/**
 * The lines of a JSONL file, however it comes in pieces: ended by LF or CRLF, the last one by nothing perhaps, the first one
 * behind a byte order mark perhaps. A line longer than `lineBytesMax` is not held: its rest is passed over. The memory of
 * the pieces is given back.
 */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  { lineBytesMax }: { readonly lineBytesMax: number },
): AsyncGenerator<InputLine> {
  let line = 0;
  let held: Buffer[] = [];
  let heldBytes = 0;

  const take = (piece: Uint8Array): void => {
    heldBytes += piece.length;
    // One more for a return, of which nobody knows yet whether it is the line's end.
    if (heldBytes > lineBytesMax + 1 + BYTE_ORDER_MARK.length) held = [];
    else if (piece.length > 0) held.push(Buffer.from(piece));
  };
  const end = (): InputLine | undefined => {
    const [bytes, sizeBytes] = [held.length === 1 && held[0] ? held[0] : Buffer.concat(held), heldBytes];
    [held, heldBytes] = [[], 0];
    line += 1;
    // What was not held was longer than any line may be.
    return sizeBytes > bytes.length ? tooLong(line, lineBytesMax) : inputLine(line, bytes, lineBytesMax);
  };

  for await (const chunk of source) {
    let from = 0;
    for (;;) {
      if (heldBytes === 0) {
        const passed = passBlankLines(chunk, from, lineBytesMax);
        line += passed.lines;
        from = passed.from;
      }
      const at = chunk.indexOf(NEWLINE, from);
      if (at < 0) break;
      take(chunk.subarray(from, at));
      from = at + 1;
      const ended = end();
      if (ended) yield ended;
    }
    take(chunk.subarray(from));
    releaseBytes(chunk);
  }
  const last = heldBytes > 0 ? end() : undefined;
  if (last) yield last;
}

/**
 * Past the blank lines that a line begins with, as long as they are whole. There may be hundreds of millions of them, as
 * nothing limits their number: one at a time they would take minutes in which nobody else has a turn.
 */
function passBlankLines(
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

function inputLine(line: number, whole: Buffer, lineBytesMax: number): InputLine | undefined {
  const start = line === 1 && whole.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0;
  const bytes = whole.subarray(start, whole.at(-1) === RETURN ? -1 : undefined);
  if (bytes.length > lineBytesMax) return tooLong(line, lineBytesMax);
  if (!isUtf8(bytes)) return { type: 'unreadable', line, why: 'This line is not valid UTF-8.' };
  if (isBlank(bytes)) return undefined;
  return { type: 'text', line, bytes };
}

const tooLong = (line: number, lineBytesMax: number): InputLine => ({
  type: 'unreadable',
  line,
  why: `A line may have at most ${lineBytesMax} bytes.`,
});

/** Spaces and tabs, or nothing. */
function isBlank(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at++) if (!isBlankByte(bytes[at])) return false;
  return true;
}

const isBlankByte = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09 || byte === RETURN;
