import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '../core/error.ts';
import { STORE_BUSY_MS_MAX } from './limits.ts';
import { assertNoNewerMigrations } from './migrate.ts';
import { MIGRATIONS } from './migrations/migrations.ts';

export interface MigrationState {
  /** Names of the migrations that the database has. */
  readonly applied: readonly string[];
  /** Names of those that this program would apply, in order. */
  readonly pending: readonly string[];
}

/**
 * Reads which migrations a SQLite file has, without changing it. A missing file has none.
 * @throws ServiceError `internal` if a newer version of Parley wrote it, or it cannot be read.
 */
export function readMigrationState(file: string): MigrationState {
  const applied = existsSync(file) ? tryReadApplied(file) : [];
  assertNoNewerMigrations(new Set(applied), MIGRATIONS);
  return { applied, pending: MIGRATIONS.map(({ name }) => name).filter((name) => !applied.includes(name)) };
}

function tryReadApplied(file: string): readonly string[] {
  try {
    return readApplied(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServiceError('internal', `Cannot open the database SQLite ${file}: ${reason}`, { cause: error });
  }
}

function readApplied(file: string): readonly string[] {
  const database = new DatabaseSync(file, { readOnly: true, timeout: STORE_BUSY_MS_MAX });
  try {
    const hasTable = database.prepare(`select 1 from sqlite_schema where name = 'migrations'`).get() !== undefined;
    if (!hasTable) return [];
    return database
      .prepare('select name from migrations order by name')
      .all()
      .map((row) => String(row['name']));
  } finally {
    database.close();
  }
}
