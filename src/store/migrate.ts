import type { Kysely, Transaction } from 'kysely';
import { ServiceError } from '../core/error.ts';
import type { Clock } from '../lib/clock.ts';
import type { StoreDialect } from './dialects/dialect.ts';
import type { Database } from './schema/database.ts';

/** A step that only adds: what an older program wrote and reads stays valid while it still runs. */
export interface Migration {
  /** Number and subject, e.g. `0001-keys`. */
  readonly name: string;
  /** @param dialect For what one database has and another has not. */
  up(db: Transaction<Database>, dialect: StoreDialect): Promise<void>;
}

/**
 * Brings a database to the newest schema, all steps in one transaction: it has every step or none.
 *
 * Several processes may start at once: the dialect lets one in at a time, and the others find nothing left to do.
 * (Kysely's own Migrator has no lock on SQLite and no transaction around its steps there.)
 * @throws ServiceError `internal`, when the database has steps that this program does not know.
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
    refuseNewer(applied, migrations);
    for (const migration of migrations) {
      if (applied.has(migration.name)) continue;
      await migration.up(transaction, dialect);
      await transaction.insertInto('migrations').values({ name: migration.name, applied_at: clock.now() }).execute();
    }
  });
}

function refuseNewer(applied: ReadonlySet<string>, migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const newer = [...applied].filter((name) => !known.has(name)).toSorted();
  if (newer.length === 0) return;
  throw new ServiceError(
    'internal',
    `The database was written by a newer version of Parley (it has ${newer.join(', ')}; this version knows up to ` +
      `${migrations.at(-1)?.name ?? 'nothing'}). Start that version, or restore a backup made before it.`,
  );
}
