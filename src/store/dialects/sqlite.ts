import { openSync } from 'node:fs';
import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Dialect, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { STORE_BUSY_MS_MAX, STORE_WAL_BYTES_KEPT } from '../limits.ts';
import type { StoreDialect } from './dialect.ts';
import { createDiskReserve } from './disk-reserve.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { SqliteDriver, type SqliteDriverOptions } from './sqlite-driver.ts';
import { isBusyError } from './sqlite-errors.ts';
import { sqliteFullText } from './sqlite-full-text.ts';

/** Pause between attempts to open a database, in ms. Parley's choice. */
const BUSY_RETRY_MS = 20;

/** Suffix of the file that reserves space for removals, as SQLite names its own files beside the database. */
const RESERVE_SUFFIX = '-reserve';

/**
 * SQLite through `node:sqlite`, without a native build. `file` is a path, or `:memory:` for a private in-memory
 * database.
 */
export function createSqliteDialect({ file }: { file: string }): StoreDialect {
  const name = `SQLite ${file}`;
  const shared = { name, lockForMigration: holdsWriteLock, bytesType: 'blob', fullText: sqliteFullText } as const;
  if (file === ':memory:')
    return {
      ...shared,
      open: async () => createKyselyDialect({ name, writer: new SqliteConnection(openConnection(file)) }),
    };
  const reserve = createDiskReserve({ folder: dirname(file), file: `${file}${RESERVE_SUFFIX}` });
  const openFile = async (): Promise<Dialect> => {
    await makePrivateFile(file);
    const [database, readOnly] = await retryWhileBusy(() => openConnections(file));
    return createKyselyDialect({
      name,
      writer: new SqliteConnection(database),
      reader: new SqliteConnection(readOnly),
      reserve,
      descriptor: openSync(file, 'r'),
    });
  };
  return {
    ...shared,
    reserve,
    async open() {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      return await reserve.open(openFile);
    },
  };
}

/** Every transaction starts as a writer (sqlite-driver.ts), so this transaction already holds the only write lock. */
const holdsWriteLock = (): Promise<void> => Promise.resolve();

/** Opens a connection that never waits for a lock: the driver does that, without blocking the process. */
export const openConnection = (file: string, { readOnly = false } = {}): DatabaseSync =>
  new DatabaseSync(file, { timeout: 0, readOnly, enableForeignKeyConstraints: true });

/** Joins a driver to the other parts of Kysely's SQLite dialect. */
export const createKyselyDialect = (options: SqliteDriverOptions): Dialect => ({
  createDriver: () => new SqliteDriver(options),
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createAdapter: () => new SqliteAdapter(),
  createIntrospector: (db) => new SqliteIntrospector(db),
});

/** Creates the file with mode 0600. SQLite gives the WAL and shared-memory files the same mode. */
async function makePrivateFile(file: string): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  await handle.close();
  await chmod(file, 0o600);
}

/** Opens a connection for writes and one for reads. @throws errors of SQLite; then none stays open. */
function openConnections(file: string): readonly [DatabaseSync, DatabaseSync] {
  const database = openConnection(file);
  try {
    // Only a database without content accepts this: deleted rows then leave pages that can be released in small steps.
    database.exec('pragma auto_vacuum = incremental');
    database.exec('pragma journal_mode = wal');
    // A long transaction or a backup lets the log grow; the next checkpoint cuts it to this size.
    database.exec(`pragma journal_size_limit = ${STORE_WAL_BYTES_KEPT}`);
    // FULL: a commit is on the disk before it is acknowledged, even after a power failure.
    database.exec('pragma synchronous = full');
    return [database, openConnection(file, { readOnly: true })];
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The switch to WAL and the recovery of the log need exclusive access, for which another process may ask as well. */
async function retryWhileBusy<T>(work: () => T): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += BUSY_RETRY_MS) {
    try {
      return work();
    } catch (error) {
      if (!isBusyError(error) || waitedMs >= STORE_BUSY_MS_MAX) throw error;
    }
    await sleep(BUSY_RETRY_MS);
  }
}
