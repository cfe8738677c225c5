import { ServiceError } from '../core/error.ts';

/** SQLite result codes (https://www.sqlite.org/rescode.html); the low byte of an extended code. */
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** Extended codes of failed reads and writes of the disk. Other I/O errors are about locks and shared memory. */
const DISK_ERROR_CODES: ReadonlySet<number> = new Set([
  10, // SQLITE_IOERR
  266, // SQLITE_IOERR_READ
  522, // SQLITE_IOERR_SHORT_READ
  778, // SQLITE_IOERR_WRITE
  1034, // SQLITE_IOERR_FSYNC
  1290, // SQLITE_IOERR_DIR_FSYNC
  1546, // SQLITE_IOERR_TRUNCATE
  8202, // SQLITE_IOERR_DATA
  8458, // SQLITE_IOERR_CORRUPTFS
]);

/** Damage that a query found. `corrupt` stays until a repair; `disk-error` may pass. */
export interface DatabaseDamage {
  readonly type: 'corrupt' | 'disk-error';
  readonly error: Error;
}

/** Returns undefined for an error that says nothing about the file. */
export function findDatabaseDamage(error: unknown): DatabaseDamage | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  const code = error.errcode & 0xff;
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB) return { type: 'corrupt', error };
  return DISK_ERROR_CODES.has(error.errcode) ? { type: 'disk-error', error } : undefined;
}

/** The error for callers; the cause for the log names the file. */
export const createDatabaseDamagedError = ({ error }: DatabaseDamage): ServiceError =>
  new ServiceError(
    'internal',
    'The database of the service is damaged or cannot be read. The operator must repair it.',
    {
      cause: error,
    },
  );
