import type { DocumentKind } from './document.ts';
import { UnreadableDocumentError, createPasswordError } from './unreadable-document-error.ts';

/** Kind of a file by its first bytes. Office files and EPUBs are ZIP archives; their content tells them apart. */
export type DetectedKind = Exclude<DocumentKind, 'docx' | 'xlsx' | 'pptx' | 'epub'> | 'archive';

interface FileSignature {
  readonly bytes: readonly number[];
  readonly offset?: number;
  readonly description: string;
}

const ascii = (text: string): readonly number[] => Array.from(text, (letter) => letter.charCodeAt(0));

/** Formats that are recognized but not supported. */
const UNSUPPORTED_SIGNATURES: readonly FileSignature[] = [
  { bytes: [0x89, 0x50, 0x4e, 0x47], description: 'a picture (PNG)' },
  { bytes: [0xff, 0xd8, 0xff], description: 'a picture (JPEG)' },
  { bytes: ascii('GIF8'), description: 'a picture (GIF)' },
  { bytes: ascii('WEBP'), offset: 8, description: 'a picture (WebP)' },
  { bytes: ascii('II*\0'), description: 'a picture (TIFF)' },
  { bytes: ascii('MM\0*'), description: 'a picture (TIFF)' },
  { bytes: ascii('BM'), offset: 0, description: 'a picture (BMP)' },
  { bytes: ascii('ftyp'), offset: 4, description: 'a video or a picture' },
  { bytes: ascii('OggS'), description: 'an audio file' },
  { bytes: ascii('ID3'), description: 'an audio file' },
  { bytes: ascii('RIFF'), description: 'an audio or video file' },
  { bytes: [0x1f, 0x8b], description: 'a compressed file (gzip)' },
  { bytes: ascii('BZh'), description: 'a compressed file (bzip2)' },
  { bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a], description: 'a compressed file (xz)' },
  { bytes: [0x28, 0xb5, 0x2f, 0xfd], description: 'a compressed file (zstd)' },
  { bytes: ascii('7z\xbc\xaf'), description: 'an archive (7z)' },
  { bytes: ascii('Rar!'), description: 'an archive (RAR)' },
  { bytes: ascii('\x7fELF'), description: 'a program' },
  { bytes: ascii('{\\rtf'), description: 'an RTF document: save it as .docx or .txt' },
  { bytes: ascii('SQLite format 3'), description: 'a database' },
];

const OLE_SIGNATURE = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
const ZIP_SIGNATURE = [0x50, 0x4b, 0x03, 0x04];
const EMPTY_ZIP_SIGNATURE = [0x50, 0x4b, 0x05, 0x06];

/** Other bytes may precede a PDF header; ISO 32000-1, Annex H: readers search the first 1024 bytes. */
const PDF_SEARCH_BYTES = 1024;
const HTML_SEARCH_BYTES = 1024;

/** Extensions of binary formats. A file with such an extension and other bytes is refused. */
const BINARY_EXTENSIONS = new Set(['pdf', 'docx', 'docm', 'xlsx', 'xlsm', 'pptx', 'pptm', 'epub']);

const TEXT_KINDS_BY_EXTENSION: Readonly<Record<string, DetectedKind>> = {
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
 * Detects the kind by the bytes. The name only tells text formats apart.
 * @throws UnreadableDocumentError for a format that is recognized but not supported.
 */
export function detectKind(bytes: Uint8Array, name: string): DetectedKind {
  if (bytes.length === 0) throw new UnreadableDocumentError('is empty');
  if (startsWithBytes(bytes, ZIP_SIGNATURE) || startsWithBytes(bytes, EMPTY_ZIP_SIGNATURE)) return 'archive';
  const extension = /\.([a-z0-9]{1,8})$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (startsWithBytes(bytes, OLE_SIGNATURE)) throw createOldOfficeError(view);
  const isText = Object.hasOwn(TEXT_KINDS_BY_EXTENSION, extension) || extension === 'txt';
  const hasPdfHeader = !isText && view.subarray(0, PDF_SEARCH_BYTES).includes('%PDF-');
  if (hasPdfHeader || view.subarray(0, 5).equals(Buffer.from('%PDF-'))) return 'pdf';
  const signature = UNSUPPORTED_SIGNATURES.find(({ bytes: magic, offset = 0 }) =>
    startsWithBytes(bytes.subarray(offset), magic),
  );
  // A short ASCII signature is not enough: a text may begin with the same letters.
  if (signature && (!isShortAscii(signature) || view.subarray(0, PDF_SEARCH_BYTES).includes(0)))
    throw new UnreadableDocumentError(`is ${signature.description}; this format is not supported`);
  if (BINARY_EXTENSIONS.has(extension))
    throw new UnreadableDocumentError(`is named .${extension}, but does not have this format`);
  const kind = Object.hasOwn(TEXT_KINDS_BY_EXTENSION, extension) ? TEXT_KINDS_BY_EXTENSION[extension] : undefined;
  if (kind !== undefined) return kind;
  return /^\s*(?:<!doctype html|<html[\s>])/i.test(
    view.toString('latin1', 0, HTML_SEARCH_BYTES).replace(/^\u00ef\u00bb\u00bf/, ''),
  )
    ? 'html'
    : 'text';
}

const isShortAscii = ({ bytes, offset = 0 }: FileSignature): boolean =>
  offset === 0 && bytes.length < 5 && bytes.every((byte) => byte >= 0x20 && byte < 0x7f);

const startsWithBytes = (bytes: Uint8Array, signature: readonly number[]): boolean =>
  signature.every((byte, at) => bytes[at] === byte);

/** An encrypted .docx is wrapped in the container format of the old office formats. */
function createOldOfficeError(view: Buffer): UnreadableDocumentError {
  return view.includes(Buffer.from('EncryptedPackage', 'utf16le'))
    ? createPasswordError()
    : new UnreadableDocumentError('has an old office format (.doc, .xls, .ppt): save it as .docx, .xlsx or .pptx');
}
