import type { DocumentKind } from './document.ts';
import { Unreadable } from './unreadable.ts';

/** What a file is, by its first bytes: an office's file and a book are archives, and told apart inside. */
export type DetectedKind = Exclude<DocumentKind, 'docx' | 'xlsx' | 'pptx' | 'epub'> | 'archive';

interface Magic {
  readonly bytes: readonly number[];
  readonly at?: number;
  readonly what: string;
}

const ascii = (text: string): readonly number[] => Array.from(text, (letter) => letter.charCodeAt(0));

/** Kinds of files that are known and not read. */
const UNSUPPORTED: readonly Magic[] = [
  { bytes: [0x89, 0x50, 0x4e, 0x47], what: 'a picture (PNG)' },
  { bytes: [0xff, 0xd8, 0xff], what: 'a picture (JPEG)' },
  { bytes: ascii('GIF8'), what: 'a picture (GIF)' },
  { bytes: ascii('WEBP'), at: 8, what: 'a picture (WebP)' },
  { bytes: ascii('II*\0'), what: 'a picture (TIFF)' },
  { bytes: ascii('MM\0*'), what: 'a picture (TIFF)' },
  { bytes: ascii('BM'), at: 0, what: 'a picture (BMP)' },
  { bytes: ascii('ftyp'), at: 4, what: 'a film or a picture' },
  { bytes: ascii('OggS'), what: 'a recording' },
  { bytes: ascii('ID3'), what: 'a recording' },
  { bytes: ascii('RIFF'), what: 'a recording or a film' },
  { bytes: [0x1f, 0x8b], what: 'a packed file (gzip)' },
  { bytes: ascii('BZh'), what: 'a packed file (bzip2)' },
  { bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a], what: 'a packed file (xz)' },
  { bytes: [0x28, 0xb5, 0x2f, 0xfd], what: 'a packed file (zstd)' },
  { bytes: ascii('7z\xbc\xaf'), what: 'an archive (7z)' },
  { bytes: ascii('Rar!'), what: 'an archive (RAR)' },
  { bytes: ascii('\x7fELF'), what: 'a program' },
  { bytes: ascii('{\\rtf'), what: 'an RTF document: save it as .docx or .txt' },
  { bytes: ascii('SQLite format 3'), what: 'a database' },
];

const OLE = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
const ARCHIVE = [0x50, 0x4b, 0x03, 0x04];
const EMPTY_ARCHIVE = [0x50, 0x4b, 0x05, 0x06];

/** A PDF may have something else before it; ISO 32000-1, Annex H, has readers look so far. */
const PDF_BYTES = 1024;
const HTML_BYTES = 1024;

/** Names of formats that are more than text: what is none of them is not what it says it is. */
const BINARY_ENDINGS = new Set(['pdf', 'docx', 'docm', 'xlsx', 'xlsm', 'pptx', 'pptm', 'epub']);

const TEXT_KINDS: Readonly<Record<string, DetectedKind>> = {
  md: 'markdown',
  markdown: 'markdown',
  csv: 'csv',
  tsv: 'csv',
  json: 'json',
  jsonl: 'json',
  ndjson: 'json',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
};

/**
 * By the bytes, whatever the name; only of texts the name says which kind.
 * @throws Unreadable for what is known not to be read.
 */
export function detectKind(bytes: Uint8Array, name: string): DetectedKind {
  if (bytes.length === 0) throw new Unreadable('is empty');
  if (starts(bytes, ARCHIVE) || starts(bytes, EMPTY_ARCHIVE)) return 'archive';
  const ending = /\.([a-z0-9]{1,8})$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (starts(bytes, OLE)) throw oldOffice(view);
  const isText = Object.hasOwn(TEXT_KINDS, ending) || ending === 'txt';
  const isPdfLater = !isText && view.subarray(0, PDF_BYTES).includes('%PDF-');
  if (isPdfLater || view.subarray(0, 5).equals(Buffer.from('%PDF-'))) return 'pdf';
  const known = UNSUPPORTED.find(({ bytes: magic, at = 0 }) => starts(bytes.subarray(at), magic));
  // Letters alone say little: a text may begin with them as well.
  if (known && (!isPlainAscii(known) || view.subarray(0, PDF_BYTES).includes(0)))
    throw new Unreadable(`is ${known.what}, which is not read`);
  if (BINARY_ENDINGS.has(ending)) throw new Unreadable(`is named .${ending} and is none`);
  const own = Object.hasOwn(TEXT_KINDS, ending) ? TEXT_KINDS[ending] : undefined;
  if (own !== undefined) return own;
  return /^\s*(?:<!doctype html|<html[\s>])/i.test(
    view.toString('latin1', 0, HTML_BYTES).replace(/^\u00ef\u00bb\u00bf/, ''),
  )
    ? 'html'
    : 'text';
}

const isPlainAscii = ({ bytes, at = 0 }: Magic): boolean =>
  at === 0 && bytes.length < 5 && bytes.every((byte) => byte >= 0x20 && byte < 0x7f);

const starts = (bytes: Uint8Array, magic: readonly number[]): boolean => magic.every((byte, at) => bytes[at] === byte);

/** A locked .docx is wrapped in the format of the offices before it. */
function oldOffice(view: Buffer): Unreadable {
  return view.includes(Buffer.from('EncryptedPackage', 'utf16le'))
    ? new Unreadable('is protected by a password')
    : new Unreadable('is of an old office format (.doc, .xls, .ppt): save it as .docx, .xlsx or .pptx');
}
