import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { STORE_BUSY_MS_MAX } from '../limits.ts';
import type { StoreDialect } from './dialect.ts';
import { createSqliteAdapter } from './sqlite-adapter.ts';
import { sqliteFullText } from './sqlite-full-text.ts';
import { YieldingSqliteDialect } from './yielding-sqlite-dialect.ts';

/** SQLite result code: another connection holds the lock. */
const SQLITE_BUSY = 5;
/** Pause between attempts to switch to WAL mode, in ms. Parley's choice. */
const BUSY_RETRY_MS = 20;

/**
 * SQLite through `node:sqlite`, without a native build. `file` is a path, or `:memory:` for a private in-memory
 * database.
 */
export function createSqliteDialect({ file }: { file: string }): StoreDialect {
  return {
    name: `SQLite ${file}`,
    async open() {
      if (file !== ':memory:') await makePrivateFile(file);
      const database = new DatabaseSync(file, { timeout: STORE_BUSY_MS_MAX, enableForeignKeyConstraints: true });
      try {
        await useWriteAheadLog(database);
        // FULL: a commit is on the disk before it is acknowledged, even after a power failure.
        database.exec('pragma synchronous = full');
      } catch (error) {
        database.close();
        throw error;
      }
      return new YieldingSqliteDialect(createSqliteAdapter(database));
    },
    // Every transaction starts as a writer (sqlite-adapter.ts), so this transaction already holds the only write lock.
    lockForMigration: () => Promise.resolve(),
    bytesType: 'blob',
    fullText: sqliteFullText,
  };
}

/** Creates the file with mode 0600. SQLite gives the WAL and shared-memory files the same mode. */
async function makePrivateFile(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'a', 0o600);
  await handle.close();
  await chmod(file, 0o600);
}

/** The switch to WAL needs exclusive access, and SQLite does not apply its busy timeout to it. */
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
