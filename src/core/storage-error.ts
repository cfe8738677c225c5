import { ServiceError } from './error.ts';

/** Codes for a full disk: `errno` names, and the SQLSTATE of PostgreSQL (Appendix A of its documentation). */
const DISK_FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100']);

/** SQLITE_FULL, in `errcode` of SQLite errors. */
const SQLITE_FULL_CODE = 13;

/**
 * Creates the error for a full disk of the operator. Unlike an exceeded quota, the request is valid and may succeed
 * later.
 */
export const createDiskFullError = (cause: unknown): ServiceError =>
  new ServiceError('overloaded', 'The disk of the service is full at the moment. Please try again later.', {
    cause,
  });

/** Returns whether an error of a disk or a database, also one that was mapped already, says that the disk is full. */
export function isDiskFull(thrown: unknown): boolean {
  const error = thrown instanceof ServiceError ? thrown.cause : thrown;
  if (!(error instanceof Error)) return false;
  return (
    ('code' in error && DISK_FULL_CODES.has(error.code)) || ('errcode' in error && error.errcode === SQLITE_FULL_CODE)
  );
}

/** Maps an error of a disk or a database: `overloaded` when it is full, otherwise as `ServiceError.from`. */
export const mapStorageError = (thrown: unknown): ServiceError =>
  !(thrown instanceof ServiceError) && isDiskFull(thrown) ? createDiskFullError(thrown) : ServiceError.from(thrown);
