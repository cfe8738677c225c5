import { Unreadable } from './unreadable.ts';

/** Bytes that are decoded at once. */
const SLICE_BYTES = 64 * 1024;

/** Byte order marks, each with what it says. */
const MARKS: readonly (readonly [readonly number[], string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/** Tried one after another where nothing says what a text is written in; the last takes whatever it is given. */
const GUESSES = ['utf-8', 'gb18030', 'windows-1252'] as const;

/**
 * The text that bytes are, piece by piece: by their byte order mark, else by `declared`, else the first encoding in which
 * all of them are text. However the bytes are cut, the text is the same.
 *
 * @param declared As a web page or an XML file says it, if it does.
 * @throws Unreadable where they are no text.
 */
export function* decodeText(
  bytes: Uint8Array,
  { declared, sliceBytes = SLICE_BYTES }: { readonly declared?: string | undefined; readonly sliceBytes?: number } = {},
): Generator<string> {
  const encoding = markOf(bytes) ?? (declared !== undefined && isKnown(declared) ? declared : guess(bytes, sliceBytes));
  yield* decodeAs(bytes, encoding, { sliceBytes, fatal: false });
}

function* decodeAs(
  bytes: Uint8Array,
  encoding: string,
  { sliceBytes, fatal }: { readonly sliceBytes: number; readonly fatal: boolean },
): Generator<string> {
  const decoder = new TextDecoder(encoding, { fatal });
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    yield decoder.decode(bytes.subarray(at, at + sliceBytes), { stream: true });
  }
  yield decoder.decode();
}

const markOf = (bytes: Uint8Array): string | undefined =>
  MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1];

function guess(bytes: Uint8Array, sliceBytes: number): string {
  // No encoding that is guessed at has such a byte in its texts, and nearly every file of another kind has one.
  if (bytes.includes(0)) throw new Unreadable('is no text, and of no kind that can be read');
  const found = GUESSES.find((encoding) => {
    try {
      for (const _ of decodeAs(bytes, encoding, { sliceBytes, fatal: true }));
      return true;
    } catch (error) {
      if (error instanceof TypeError) return false;
      throw error;
    }
  });
  return found ?? 'windows-1252';
}

function isKnown(encoding: string): boolean {
  try {
    return new TextDecoder(encoding).encoding !== '';
  } catch {
    return false;
  }
}
