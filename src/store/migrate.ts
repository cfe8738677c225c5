import type { Kysely, Transaction } from 'kysely';
import { ServiceError } from '../core/error.ts';
import type { Clock } from '../lib/clock.ts';
import type { StoreDialect } from './dialects/dialect.ts';
import type { Database } from './schema/database.ts';

/** A schema change that only adds: an older program can still read and write the database while it runs. */
export interface Migration {
  /** Number and subject, e.g. `0001-keys`. Recorded in the database. */
  readonly name: string;
  /** @param dialect Supplies what differs between databases. */
  up(db: Transaction<Database>, dialect: StoreDialect): Promise<void>;
}

/**
 * Applies all missing migrations in one transaction: the database gets all of them or none.
 *
 * Several processes may start at once: the dialect admits one at a time, and the others find nothing left to do.
 * (Kysely's Migrator takes no lock on SQLite and runs its migrations there without a transaction.)
 * @throws ServiceError `internal` if the database has migrations that this program does not know.
 */
export async function migrate(
  db: Kysely<Database>,
  { dialect, migrations, clock }: { dialect: StoreDialect; migrations: readonly Migration[]; clock: Clock },
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await dialect.lockForMigration(transaction);
    await transaction.schema
      .createTable('migrations')
      .ifNotExists()
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('applied_at', 'bigint', (column) => column.notNull())
      .execute();
    const rows = await transaction.selectFrom('migrations').select('name').execute();
    const applied = new Set(rows.map(({ name }) => name));
    assertNoNewerMigrations(applied, migrations);
    for (const migration of migrations) {
      if (applied.has(migration.name)) continue;
      await migration.up(transaction, dialect);
      await transaction.insertInto('migrations').values({ name: migration.name, applied_at: clock.now() }).execute();
    }
  });
}

/** @throws ServiceError `internal` if a database has migrations that this program does not know. */
export function assertNoNewerMigrations(applied: ReadonlySet<string>, migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const newer = [...applied].filter((name) => !known.has(name)).toSorted();
  if (newer.length === 0) return;
  throw new ServiceError(
    'internal',
    `The database was written by a newer version of Parley (it has ${newer.join(', ')}; this version knows up to ` +
      `${migrations.at(-1)?.name ?? 'nothing'}). Start that version, or restore a backup made before it.`,
  );
}
