import type { Kysely } from 'kysely';
import type { TenantScope } from './tenant-scope.ts';
import { ownedBy } from './owned-by.ts';
import type { Database } from './schema/database.ts';

/** Reserved and active files of a workspace in a region. */
export interface FileUsage {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Sums kept beside the files, so that rows need not be counted. All but the first two members require a transaction.
 */
export interface FileTotalsStore {
  /** Returns the usage without locking it: it may change at once. */
  getUsage(scope: TenantScope): Promise<FileUsage>;
  /** For the operator: lists the usage of all workspaces, largest first. */
  listAll(): Promise<readonly (TenantScope & FileUsage)[]>;
  /** Counts active files of a purpose, or of all purposes without one. */
  countActive(scope: TenantScope, purpose?: string): Promise<number>;
  /** Returns the usage and keeps it from changing until the transaction ends. */
  lockUsage(scope: TenantScope): Promise<FileUsage>;
  /** Adds to the locked usage; negative numbers subtract. */
  addUsage(scope: TenantScope, change: FileUsage): Promise<void>;
  addToActiveCount(scope: TenantScope, purpose: string, files: number): Promise<void>;
  /** Returns consecutive numbers from 1, each once. */
  nextNumber(): Promise<number>;
}

export function createFileTotalsStore(db: Kysely<Database>): FileTotalsStore {
  return {
    async getUsage(scope) {
      const row = await db
        .selectFrom('file_totals')
        .select(['files', 'bytes'])
        .where(ownedBy(scope))
        .executeTakeFirst();
      return { files: row?.files ?? 0, bytes: row?.bytes ?? 0 };
    },
    async listAll() {
      const rows = await db.selectFrom('file_totals').selectAll().orderBy('bytes', 'desc').execute();
      return rows.map((row) => ({ ...row }));
    },
    async lockUsage({ region, workspace }) {
      await db
        .insertInto('file_totals')
        .values({ region, workspace, files: 0, bytes: 0 })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      // A no-op update locks the row on Postgres; SQLite has no SELECT … FOR UPDATE.
      const { files, bytes } = await db
        .updateTable('file_totals')
        .set(({ ref }) => ({ files: ref('files') }))
        .where(ownedBy({ region, workspace }))
        .returning(['files', 'bytes'])
        .executeTakeFirstOrThrow();
      return { files, bytes };
    },
    async addUsage(scope, { files, bytes }) {
      await db
        .updateTable('file_totals')
        .set(({ eb }) => ({ files: eb('files', '+', files), bytes: eb('bytes', '+', bytes) }))
        .where(ownedBy(scope))
        .execute();
    },
    async countActive(scope, purpose) {
      let query = db.selectFrom('file_counts').select('files').where(ownedBy(scope));
      if (purpose !== undefined) query = query.where('purpose', '=', purpose);
      return (await query.execute()).reduce((sum, { files }) => sum + files, 0);
    },
    async addToActiveCount({ region, workspace }, purpose, files) {
      await db
        .insertInto('file_counts')
        .values({ region, workspace, purpose, files })
        .onConflict((conflict) =>
          conflict
            .columns(['region', 'workspace', 'purpose'])
            .doUpdateSet(({ eb }) => ({ files: eb('file_counts.files', '+', files) })),
        )
        .execute();
    },
    async nextNumber() {
      const { last } = await db
        .insertInto('sequences')
        .values({ name: 'files', last: 1 })
        .onConflict((conflict) =>
          conflict.column('name').doUpdateSet(({ eb }) => ({ last: eb('sequences.last', '+', 1) })),
        )
        .returning('last')
        .executeTakeFirstOrThrow();
      return last;
    },
  };
}
