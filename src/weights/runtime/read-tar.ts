import { ServiceError } from '../../core/error.ts';
import { TAR_ENTRIES_MAX, TAR_ENTRY_BYTES_MAX } from '../../core/limits.ts';
import { createByteReader } from './byte-reader.ts';

/** A file of an archive. */
export interface TarEntry {
  /** As the archive names it, with `/` between its parts; it leads nowhere but down. */
  readonly path: string;
  readonly sizeBytes: number;
  /** To be read before the next entry; what is left of it then is skipped. */
  readonly body: AsyncIterable<Uint8Array>;
}

const BLOCK = 512;

/** Where the fields of a header are (POSIX.1-1988 ustar). */
const FIELDS = { name: [0, 100], size: [124, 12], checksum: [148, 8], type: [156, 1], prefix: [345, 155] } as const;

/** Types of entries: plain files (the old mark is a NUL) and folders. */
const FILE_TYPES: readonly string[] = ['0', '\0', ''];
const FOLDER_TYPE = '5';

/**
 * The files of a tar archive, one after the other; memory does not depend on their sizes.
 *
 * Only plain files and folders may be in it: a link, or a header that renames others, is refused like everything else that
 * an archive of a package has no need of.
 * @throws ServiceError `upstream-failed` that says what is wrong with the archive.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const reader = createByteReader(source);
  for (let entries = 0; ; entries++) {
    const header = await reader.take(BLOCK);
    // Some writers leave out the blocks of zeros at the end.
    if (!header || header.every((byte) => byte === 0)) return;
    if (entries >= TAR_ENTRIES_MAX) throw bad(`more than ${TAR_ENTRIES_MAX} entries`);
    if (header.length < BLOCK || !isIntact(header)) throw bad('a damaged header');
    const path = pathOf(header);
    const sizeBytes = numberOf(header, 'size');
    if (sizeBytes === undefined || sizeBytes > TAR_ENTRY_BYTES_MAX) throw bad(`no size that can be for ${path}`);
    const type = textOf(header, 'type');
    if (type !== FOLDER_TYPE && !FILE_TYPES.includes(type)) throw bad(`an entry that is no file: ${path}`);
    const body = reader.stream(sizeBytes);
    if (type !== FOLDER_TYPE) yield { path, sizeBytes, body };
    for await (const _left of body); // what the caller did not want
    await reader.take(padding(sizeBytes));
  }
}

const padding = (sizeBytes: number): number => (BLOCK - (sizeBytes % BLOCK)) % BLOCK;

const fieldOf = (header: Buffer, [at, length]: readonly [number, number]): Buffer => header.subarray(at, at + length);

/** Up to its first NUL. */
const textOf = (header: Buffer, field: keyof typeof FIELDS): string =>
  fieldOf(header, FIELDS[field]).toString('utf8').replace(/\0.*$/s, '');

/** Octal digits; the binary form is for files that are larger than any of ours. */
function numberOf(header: Buffer, field: keyof typeof FIELDS): number | undefined {
  const digits = textOf(header, field).trim();
  return /^[0-7]{1,12}$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
}

/** The sum of all bytes, with blanks in the place of the sum itself. */
function isIntact(header: Buffer): boolean {
  const [at, length] = FIELDS.checksum;
  const sum = header.reduce((all, byte, i) => all + (i >= at && i < at + length ? 0x20 : byte), 0);
  return numberOf(header, 'checksum') === sum;
}

/** @throws ServiceError for a path that could lead out of the folder that the archive is unpacked into. */
function pathOf(header: Buffer): string {
  const prefix = textOf(header, 'prefix');
  const path = `${prefix ? `${prefix}/` : ''}${textOf(header, 'name')}`.replace(/\/$/, '');
  const parts = path.split('/');
  const isSafe = parts.every((part) => /^[^\\:]+$/.test(part) && part !== '.' && part !== '..');
  if (isSafe && !/\p{Cc}/u.test(path)) return path;
  throw bad(`a path that leads elsewhere: ${JSON.stringify(path)}`);
}

const bad = (what: string): ServiceError => new ServiceError('upstream-failed', `The archive has ${what}.`);
