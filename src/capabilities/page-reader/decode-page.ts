/** Byte order marks with their encodings. */
const BYTE_ORDER_MARKS: readonly (readonly [mark: readonly number[], charset: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/** Encodings tried in turn when nothing declares one; the last accepts any bytes. */
const FALLBACK_CHARSETS = ['utf-8', 'gb18030', 'windows-1252'] as const;

/** Chosen: leading bytes that may declare an encoding; browsers search 1024. */
const HEAD_BYTES = 4_096;

const META_CHARSET = /<meta\s[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;
const XML_ENCODING = /^<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/;
const HEADER_CHARSET = /;\s*charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;

/** Decodes a page by its byte order mark, else the Content-Type header, else its own declaration, else by trial. */
export function decodePage(bytes: Uint8Array, contentType: string): string {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1');
  // A page that declares UTF-16 in single-byte characters is not UTF-16; the HTML standard reads it as UTF-8.
  const declaredInPage = (META_CHARSET.exec(head) ?? XML_ENCODING.exec(head))?.[1]?.replace(/^utf-?16\w*$/i, 'utf-8');
  const declared = [HEADER_CHARSET.exec(contentType)?.[1], declaredInPage];
  const charset = findByteOrderMark(bytes) ?? declared.find((label) => label !== undefined && isKnownCharset(label));
  if (charset !== undefined) return new TextDecoder(charset).decode(bytes);
  const guess = FALLBACK_CHARSETS.find((candidate) => {
    try {
      new TextDecoder(candidate, { fatal: true }).decode(bytes);
      return true;
    } catch {
      return false;
    }
  });
  return new TextDecoder(guess ?? 'windows-1252').decode(bytes);
}

const findByteOrderMark = (bytes: Uint8Array): string | undefined =>
  BYTE_ORDER_MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1];

function isKnownCharset(charset: string): boolean {
  try {
    return new TextDecoder(charset).encoding !== 'replacement';
  } catch {
    return false;
  }
}
