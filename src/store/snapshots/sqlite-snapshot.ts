import { stat } from 'node:fs/promises';
import { backup, DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { ServiceError } from '../../core/error.ts';
import { getErrorCode } from '../../lib/error-code.ts';
import { createBlobHashStore } from '../blob-hashes.ts';
import { SqliteConnection } from '../dialects/sqlite-connection.ts';
import { createKyselyDialect } from '../dialects/sqlite.ts';
import { STORE_BUSY_MS_MAX } from '../limits.ts';
import { assertNoNewerMigrations } from '../migrate.ts';
import { MIGRATIONS } from '../migrations/migrations.ts';
import { listReferencedBlobs } from '../referenced-blobs.ts';
import type { Database } from '../schema/database.ts';
import type { SnapshotContent, SnapshotHashes, SnapshotOptions, SnapshotSource } from './snapshot.ts';

/** Pages per step: about 4 MB, between which the signal is checked and progress reported. */
const STEP_PAGES = 1_000;

/** Copies a SQLite database with SQLite's backup API. */
export function createSqliteSnapshotSource({ file }: { readonly file: string }): SnapshotSource {
  return {
    kind: 'sqlite',
    async getSizeBytes() {
      const sizes = await Promise.all([file, `${file}-wal`].map(readSizeBytes));
      if (sizes[0] === undefined) throw new ServiceError('not-found', `There is no database at ${file}.`);
      return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
    },
    async write(target, options = {}) {
      await copyDatabase(file, target, options);
      return await readSnapshot(target);
    },
    openHashes: async (target) => openHashes(target),
  };
}

function openHashes(file: string): SnapshotHashes {
  const database = new DatabaseSync(file, { readOnly: true });
  const hasHashes = database.prepare(`select 1 from sqlite_schema where name = 'blob_hashes'`).get() !== undefined;
  const writer = new SqliteConnection(database);
  const db = new Kysely<Database>({ dialect: createKyselyDialect({ name: file, writer }) });
  const { find } = createBlobHashStore(db);
  return {
    find: async (blob) => (hasHashes ? await find(blob) : undefined),
    close: () => db.destroy(),
  };
}

/**
 * A read transaction stays open on the source, so that each step copies the same state: without it, SQLite begins again
 * whenever another process has written between two steps, and never ends while a service writes.
 */
async function copyDatabase(file: string, target: string, { onProgress, signal }: SnapshotOptions): Promise<void> {
  const source = new DatabaseSync(file, { readOnly: true, timeout: STORE_BUSY_MS_MAX });
  try {
    source.exec('begin');
    source.prepare('select count(*) from sqlite_schema').get();
    const pageBytes = Number(source.prepare('pragma page_size').get()?.['page_size']);
    await backup(source, target, {
      rate: STEP_PAGES,
      progress({ totalPages, remainingPages }) {
        signal?.throwIfAborted();
        onProgress?.({ doneBytes: (totalPages - remainingPages) * pageBytes, totalBytes: totalPages * pageBytes });
      },
    });
    signal?.throwIfAborted();
  } finally {
    source.close();
  }
}

/**
 * Checks a copy of a database, makes it a single file, and reads what it contains.
 * @throws ServiceError `internal` if it is corrupt, or of a newer version of Parley.
 */
export async function readSnapshot(file: string): Promise<SnapshotContent> {
  const database = new DatabaseSync(file);
  const writer = new SqliteConnection(database);
  const db = new Kysely<Database>({ dialect: createKyselyDialect({ name: file, writer }) });
  try {
    database.exec('pragma journal_mode = delete');
    const rows = database
      .prepare('pragma quick_check(5)')
      .all()
      .map((row) => String(row['quick_check']));
    if (rows.join() !== 'ok') throw createCorruptError(rows.join('; '));
    const hasMigrations = database.prepare(`select 1 from sqlite_schema where name = 'migrations'`).get() !== undefined;
    const applied = hasMigrations ? await db.selectFrom('migrations').select('name').orderBy('name').execute() : [];
    const migrations = applied.map(({ name }) => name);
    assertNoNewerMigrations(new Set(migrations), MIGRATIONS);
    return { migrations, blobs: await listReferencedBlobs(db, new Set(migrations)) };
  } finally {
    await db.destroy();
  }
}

const createCorruptError = (problems: string): ServiceError =>
  new ServiceError('internal', `The database is corrupt: ${problems}`);

async function readSizeBytes(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (thrown) {
    if (getErrorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}
