import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { resolveSourceFile } from '../../lib/restricted-process.ts';

/**
 * Parts of a check. `wal`: damage within the write-ahead log; must come first, because SQLite drops what follows the
 * damage when it opens the database. `quick`: pages and rows. `full`: also that indexes match their tables.
 */
export type DatabaseCheckPart = 'wal' | 'quick' | 'full' | 'foreign-keys';

export interface DatabaseCheck {
  /** Path of the database. */
  readonly file: string;
  readonly parts: readonly DatabaseCheckPart[];
}

export interface DatabaseProblem {
  readonly part: DatabaseCheckPart;
  readonly file: string;
  /** SQLite's description, or that of the scan. */
  readonly detail: string;
}

export interface DatabaseCheckResult {
  readonly problems: readonly DatabaseProblem[];
  /** Why a part could not run, such as a lock or missing rights; absent if all parts ran. It says nothing about damage. */
  readonly failure?: string;
}

/**
 * Checks a SQLite database in a thread. It changes nothing, and other processes may use the database meanwhile. Waits some
 * seconds for a lock.
 */
export async function checkDatabase(check: DatabaseCheck): Promise<DatabaseCheckResult> {
  const thread = new Worker(resolveSourceFile(new URL('./database-check-thread', import.meta.url)), {
    name: 'database check',
    workerData: check,
  });
  // The process may end meanwhile: the check changes nothing.
  thread.unref();
  const [result] = (await once(thread, 'message')) as [DatabaseCheckResult];
  return result;
}
