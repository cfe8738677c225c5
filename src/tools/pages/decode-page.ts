/** Byte order marks, each with what it says. */
const MARKS: readonly (readonly [mark: readonly number[], charset: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/** Tried one after another where nothing says what a page is written in; the last takes whatever it is given. */
const GUESSES = ['utf-8', 'gb18030', 'windows-1252'] as const;

/** Ours: bytes at whose beginning a page may say what it is written in; browsers look at 1024. */
const HEAD_BYTES = 4_096;

const IN_META = /<meta\s[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;
const IN_XML = /^<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/;
const IN_HEADER = /;\s*charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;

/** The text of a page: by its byte order mark, else by its server's word, else by its own, else by what the bytes may be. */
export function decodePage(bytes: Uint8Array, contentType: string): string {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1');
  // Whoever says in bytes of one each that there are two for each is wrong.
  const within = (IN_META.exec(head) ?? IN_XML.exec(head))?.[1]?.replace(/^utf-?16\w*$/i, 'utf-8');
  const declared = [IN_HEADER.exec(contentType)?.[1], within];
  const charset = markOf(bytes) ?? declared.find((one) => one !== undefined && isKnown(one));
  if (charset !== undefined) return new TextDecoder(charset).decode(bytes);
  const guess = GUESSES.find((one) => {
    try {
      new TextDecoder(one, { fatal: true }).decode(bytes);
      return true;
    } catch {
      return false;
    }
  });
  return new TextDecoder(guess ?? 'windows-1252').decode(bytes);
}

const markOf = (bytes: Uint8Array): string | undefined =>
  MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1];

function isKnown(charset: string): boolean {
  try {
    return new TextDecoder(charset).encoding !== 'replacement';
  } catch {
    return false;
  }
}
