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

/** Maps an error of a disk or a database: `overloaded` when it is full, otherwise as `ServiceError.from`. */
export function mapStorageError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError || !(thrown instanceof Error)) return ServiceError.from(thrown);
  const isFull =
    ('code' in thrown && DISK_FULL_CODES.has(thrown.code)) ||
    ('errcode' in thrown && thrown.errcode === SQLITE_FULL_CODE);
  return isFull ? createDiskFullError(thrown) : ServiceError.from(thrown);
}
