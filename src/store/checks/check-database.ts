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

/** Checks a SQLite database in a thread. It changes nothing, and other processes may use the database meanwhile. */
export async function checkDatabase(check: DatabaseCheck): Promise<readonly DatabaseProblem[]> {
  const thread = new Worker(resolveSourceFile(new URL('./database-check-thread', import.meta.url)), {
    name: 'database check',
    workerData: check,
  });
  // The process may end meanwhile: the check changes nothing.
  thread.unref();
  const [problems] = (await once(thread, 'message')) as [readonly DatabaseProblem[]];
  return problems;
}
