import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../lib/clock.ts';
import type { StoreDialect } from '../dialects/dialect.ts';
import { SqliteConnection } from '../dialects/sqlite-connection.ts';
import { createKyselyDialect, createSqliteDialect, openConnection } from '../dialects/sqlite.ts';
import { openStore, type Store } from '../store.ts';

let migratedImage: Promise<Uint8Array> | undefined;

/**
 * Opens an empty store in memory. It starts from a copy of a migrated database: running all migrations takes several
 * times as long as most tests.
 */
export async function openTestStore({ clock }: { clock?: Clock } = {}): Promise<Store> {
  migratedImage ??= createMigratedImage();
  const database = openDatabase();
  database.deserialize(await migratedImage);
  return openStore({ dialect: createDialect(database), ...(clock && { clock }) });
}

async function createMigratedImage(): Promise<Uint8Array> {
  const database = openDatabase();
  const store = await openStore({ dialect: createDialect(database) });
  const image = database.serialize();
  await store.close();
  return image;
}

const openDatabase = (): DatabaseSync => openConnection(':memory:');

const createDialect = (database: DatabaseSync): StoreDialect => ({
  ...createSqliteDialect({ file: ':memory:' }),
  open: async () => createKyselyDialect({
      name: 'memory',
      writer: new SqliteConnection(database),
      afterWrite: () => Promise.resolve(),
    }),
});
