/** Result codes of SQLite (https://www.sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

/** Returns whether another connection holds the lock that a statement needs. */
export const isBusyError = (thrown: unknown): boolean => getPrimaryCode(thrown) === SQLITE_BUSY;

/** Returns whether the disk of the database is full. */
export const isFullError = (thrown: unknown): boolean => getPrimaryCode(thrown) === SQLITE_FULL;

/** Returns the result code without the details that its higher bits add; undefined for errors of others. */
function getPrimaryCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number') return undefined;
  return thrown.errcode & 0xff;
}
