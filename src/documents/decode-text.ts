import { UnreadableDocumentError } from './unreadable-document-error.ts';

/** Bytes decoded at a time. */
const SLICE_BYTES = 64 * 1024;

/** Byte order marks with their encodings. */
const BYTE_ORDER_MARKS: readonly (readonly [readonly number[], string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/** Encodings tried in turn when a text does not declare its own; the last accepts any bytes. */
const FALLBACK_ENCODINGS = ['utf-8', 'gb18030', 'windows-1252'] as const;

/**
 * Yields the text in pieces, decoded by the byte order mark, else by `declaredEncoding`, else by the first fallback
 * encoding that is valid for all bytes. The result does not depend on the slice size.
 *
 * @param declaredEncoding Encoding that a web page or an XML file declares.
 * @throws UnreadableDocumentError if the bytes are not text.
 */
export function* decodeText(
  bytes: Uint8Array,
  {
    declaredEncoding,
    sliceBytes = SLICE_BYTES,
  }: { readonly declaredEncoding?: string | undefined; readonly sliceBytes?: number } = {},
): Generator<string> {
  const encoding =
    findByteOrderMark(bytes) ??
    (declaredEncoding !== undefined && isKnownEncoding(declaredEncoding)
      ? declaredEncoding
      : detectEncoding(bytes, sliceBytes));
  yield* decodeWithEncoding(bytes, encoding, { sliceBytes, fatal: false });
}

function* decodeWithEncoding(
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

const findByteOrderMark = (bytes: Uint8Array): string | undefined =>
  BYTE_ORDER_MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1];

function detectEncoding(bytes: Uint8Array, sliceBytes: number): string {
  // None of the fallback encodings uses zero bytes in text, and nearly all binary files contain one.
  if (bytes.includes(0)) throw new UnreadableDocumentError('is neither text nor in a supported format');
  const encoding = FALLBACK_ENCODINGS.find((encoding) => {
    try {
      for (const _ of decodeWithEncoding(bytes, encoding, { sliceBytes, fatal: true }));
      return true;
    } catch (error) {
      if (error instanceof TypeError) return false;
      throw error;
    }
  });
  return encoding ?? 'windows-1252';
}

function isKnownEncoding(encoding: string): boolean {
  try {
    return new TextDecoder(encoding).encoding !== '';
  } catch {
    return false;
  }
}
