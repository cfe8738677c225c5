import { accessSync, constants, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { getErrorCode } from './error-code.ts';

/**
 * An exclusive lock on a path. It ends with `release`, or with its process, however that ends. Keep a reference: the lock
 * of a collected object ends, too.
 */
export interface FileLock {
  release(): void;
}

/**
 * Locks a path, at which it creates a file while the lock is held. Returns undefined when the path is locked already, by
 * this process or another one.
 *
 * The lock is the one that SQLite takes on its files, as Node offers no other: the operating system ends it with its
 * process, so nothing has to be refreshed and no lock is ever stale.
 *
 * @throws when the folder does not exist or is not writable, or a file of another user is at the path.
 */
export function tryLockFile(path: string): FileLock | undefined {
  for (;;) {
    const file = getFileId(path);
    // SQLite would open a file of another user for reading, and lock nothing.
    if (file !== undefined) requireWritable(path);
    const database = new DatabaseSync(path, { timeout: 0 });
    const error = startExclusiveTransaction(database);
    // A holder removes the file before it releases the lock, so the file that was locked may no longer be at the path.
    const isAtPath = file !== undefined && getFileId(path) === file;
    if (error === undefined && isAtPath)
      return {
        release() {
          rmSync(path, { force: true });
          database.close();
        },
      };
    database.close();
    if (error?.errcode === SQLITE_BUSY) return undefined;
    // Earlier versions wrote JSON into their lock files.
    if (error?.errcode === SQLITE_NOTADB) {
      if (isAtPath) rmSync(path, { force: true });
    } else if (error && isAtPath) throw error;
  }
}

/**
 * Tells whether a process holds the lock of a path. A lock whose state cannot be read, because its file belongs to
 * another user, counts as held.
 */
export function isFileLocked(path: string): boolean {
  if (getFileId(path) === undefined) return false;
  try {
    const lock = tryLockFile(path);
    lock?.release();
    return lock === undefined;
  } catch {
    return true;
  }
}

/** Result codes of SQLite (https://www.sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;
const SQLITE_NOTADB = 26;

/** Returns the error of SQLite; undefined when the transaction was started. */
function startExclusiveTransaction(database: DatabaseSync): (Error & { readonly errcode: unknown }) | undefined {
  try {
    // In memory: a journal in a file could not be written on a full disk, and would outlive a killed process.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Error && 'errcode' in thrown) return thrown;
    throw thrown;
  }
}

function requireWritable(path: string): void {
  try {
    accessSync(path, constants.W_OK);
  } catch (thrown) {
    // Removed meanwhile by its holder.
    if (getErrorCode(thrown) !== 'ENOENT') throw thrown;
  }
}

/** Identifies the file at a path. While a file is open, no other one has its number. */
function getFileId(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
}
