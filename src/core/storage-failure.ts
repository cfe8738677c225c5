import { ServiceError } from './error.ts';

/** As the system says it, and Postgres (Appendix A of its documentation). */
const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100']);

/** As SQLite does. */
const SQLITE_FULL = 13;

/** The operator's disk, not the caller's quota: it may work again, and nothing in the request was wrong. */
export const diskFull = (cause: unknown): ServiceError =>
  new ServiceError('overloaded', 'The service has no room left on its disk at the moment. Please try again later.', {
    cause,
  });

/** What a disk or a database failed with: `overloaded` where there is no room left on it, otherwise as `ServiceError.from`. */
export function storageFailure(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError || !(thrown instanceof Error)) return ServiceError.from(thrown);
  const isFull =
    ('code' in thrown && FULL_CODES.has(thrown.code)) || ('errcode' in thrown && thrown.errcode === SQLITE_FULL);
  return isFull ? diskFull(thrown) : ServiceError.from(thrown);
}
