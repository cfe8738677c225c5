import { ServiceError } from '../../core/error.ts';
import { TAR_ENTRIES_MAX, TAR_ENTRY_BYTES_MAX } from '../limits.ts';
import { createByteReader } from './byte-reader.ts';

/** A file in a tar archive. */
export interface TarEntry {
  /** Relative path with `/` as separator; verified not to leave the target folder. */
  readonly path: string;
  readonly sizeBytes: number;
  /** Content, to be read before the next entry. The unread rest is skipped. */
  readonly body: AsyncIterable<Uint8Array>;
}

const BLOCK_BYTES = 512;

/** Offset and length of the header fields (POSIX.1-1988 ustar). */
const FIELDS = { name: [0, 100], size: [124, 12], checksum: [148, 8], type: [156, 1], prefix: [345, 155] } as const;

/** Entry types: plain files (older archives use NUL) and folders. */
const FILE_TYPES: readonly string[] = ['0', '\0', ''];
const FOLDER_TYPE = '5';

/**
 * Yields the files of a tar archive in order; memory does not depend on their sizes.
 *
 * Accepts plain files and folders only. Links and headers that rename other entries are rejected, because npm packages
 * do not need them.
 * @throws ServiceError `upstream-failed` that says what is wrong with the archive.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const reader = createByteReader(source);
  for (let entries = 0; ; entries++) {
    const header = await reader.read(BLOCK_BYTES);
    // Some writers omit the zero blocks at the end.
    if (!header || header.every((byte) => byte === 0)) return;
    if (entries >= TAR_ENTRIES_MAX) throw createArchiveError(`more than ${TAR_ENTRIES_MAX} entries`);
    if (header.length < BLOCK_BYTES || !hasValidChecksum(header)) throw createArchiveError('a damaged header');
    const path = parsePath(header);
    const sizeBytes = parseOctalField(header, 'size');
    if (sizeBytes === undefined || sizeBytes > TAR_ENTRY_BYTES_MAX)
      throw createArchiveError(`an invalid size for ${path}`);
    const type = parseTextField(header, 'type');
    if (type !== FOLDER_TYPE && !FILE_TYPES.includes(type))
      throw createArchiveError(`an entry that is not a file: ${path}`);
    const body = reader.stream(sizeBytes);
    if (type !== FOLDER_TYPE) yield { path, sizeBytes, body };
    for await (const _left of body); // skips what the caller did not read
    await reader.read(countPaddingBytes(sizeBytes));
  }
}

const countPaddingBytes = (sizeBytes: number): number => (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;

const sliceField = (header: Buffer, [at, length]: readonly [number, number]): Buffer =>
  header.subarray(at, at + length);

/** Decodes a text field up to its first NUL. */
const parseTextField = (header: Buffer, field: keyof typeof FIELDS): string =>
  sliceField(header, FIELDS[field]).toString('utf8').replace(/\0.*$/s, '');

/** Parses a number of octal digits. The binary form is for files larger than any that Parley reads. */
function parseOctalField(header: Buffer, field: keyof typeof FIELDS): number | undefined {
  const digits = parseTextField(header, field).trim();
  return /^[0-7]{1,12}$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
}

/** Verifies the checksum: the sum of all header bytes, with spaces in place of the checksum field. */
function hasValidChecksum(header: Buffer): boolean {
  const [at, length] = FIELDS.checksum;
  const sum = header.reduce((all, byte, i) => all + (i >= at && i < at + length ? 0x20 : byte), 0);
  return parseOctalField(header, 'checksum') === sum;
}

/** Parses the path. @throws ServiceError for a path that could leave the folder into which the archive is unpacked. */
function parsePath(header: Buffer): string {
  const prefix = parseTextField(header, 'prefix');
  const path = `${prefix ? `${prefix}/` : ''}${parseTextField(header, 'name')}`.replace(/\/$/, '');
  const parts = path.split('/');
  const isSafe = parts.every((part) => /^[^\\:]+$/.test(part) && part !== '.' && part !== '..');
  if (isSafe && !/\p{Cc}/u.test(path)) return path;
  throw createArchiveError(`an unsafe path: ${JSON.stringify(path)}`);
}

const createArchiveError = (what: string): ServiceError =>
  new ServiceError('upstream-failed', `The archive has ${what}.`);
