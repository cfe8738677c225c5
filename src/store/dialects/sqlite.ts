import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { SqliteDialect } from 'kysely';
import { STORE_BUSY_MS_MAX } from '../../core/limits.ts';
import type { StoreDialect } from './dialect.ts';
import { sqliteAdapter } from './sqlite-adapter.ts';
import { sqliteFullText } from './sqlite-full-text.ts';

/** What SQLite answers when another connection has the lock. */
const SQLITE_BUSY = 5;
/** Ours, in ms: between two tries at the switch to WAL. */
const BUSY_RETRY_MS = 20;

/** SQLite by the runtime's own module: no native build. `file` is a path, or `:memory:` for a database of its own. */
export function sqliteDialect({ file }: { file: string }): StoreDialect {
  return {
    name: `SQLite ${file}`,
    async open() {
      if (file !== ':memory:') await makePrivateFile(file);
      const database = new DatabaseSync(file, { timeout: STORE_BUSY_MS_MAX, enableForeignKeyConstraints: true });
      try {
        await useWriteAheadLog(database);
        // FULL: what was acknowledged is on the disk, also after a power cut.
        database.exec('pragma synchronous = full');
      } catch (error) {
        database.close();
        throw error;
      }
      return new SqliteDialect({ database: sqliteAdapter(database) });
    },
    // Every transaction of ours begins as a writer (sqlite-adapter.ts), so this one already has the only lock.
    lockForMigration: () => Promise.resolve(),
    bytesType: 'blob',
    fullText: sqliteFullText,
  };
}

/** The log and the shared-memory file beside it take their mode from the database. */
async function makePrivateFile(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'a', 0o600);
  await handle.close();
  await chmod(file, 0o600);
}

/** The switch needs the database for itself, and SQLite does not apply its busy timeout to it. */
async function useWriteAheadLog(database: DatabaseSync): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += BUSY_RETRY_MS) {
    try {
      database.exec('pragma journal_mode = wal');
      return;
    } catch (error) {
      const isBusy = error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
      if (!isBusy || waitedMs >= STORE_BUSY_MS_MAX) throw error;
    }
    await sleep(BUSY_RETRY_MS);
  }
}
