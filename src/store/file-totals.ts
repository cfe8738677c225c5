import type { Kysely } from 'kysely';
import type { Place } from './conversations.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';

/** What a workspace holds in a region, reserved or active. */
export interface FileTotal {
  readonly files: number;
  readonly bytes: number;
}

/** Sums that are kept beside the files, so that nobody has to count them. All but the first two inside a transaction only. */
export interface FileTotals {
  /** What was held a moment ago. */
  look(place: Place): Promise<FileTotal>;
  /** Active files of a purpose, of all without one. */
  countOf(place: Place, purpose?: string): Promise<number>;
  /** What is held now; until the transaction ends, nobody else changes it. */
  lock(place: Place): Promise<FileTotal>;
  /** Adds to what was locked; negative takes away. */
  add(place: Place, change: FileTotal): Promise<void>;
  addToCount(place: Place, purpose: string, files: number): Promise<void>;
  /** From 1 on, each once. */
  nextNumber(): Promise<number>;
}

export function createFileTotals(db: Kysely<Database>, run: Run): FileTotals {
  return {
    look: ({ region, workspace }) =>
      run(async () => {
        const row = await db
          .selectFrom('file_totals')
          .select(['files', 'bytes'])
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .executeTakeFirst();
        return { files: row?.files ?? 0, bytes: row?.bytes ?? 0 };
      }),
    lock: ({ region, workspace }) =>
      run(async () => {
        await db
          .insertInto('file_totals')
          .values({ region, workspace, files: 0, bytes: 0 })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        // A change that changes nothing: Postgres locks the row for it, and SQLite has no other word for that.
        const { files, bytes } = await db
          .updateTable('file_totals')
          .set(({ ref }) => ({ files: ref('files') }))
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .returning(['files', 'bytes'])
          .executeTakeFirstOrThrow();
        return { files, bytes };
      }),
    add: ({ region, workspace }, { files, bytes }) =>
      run(async () => {
        await db
          .updateTable('file_totals')
          .set(({ eb }) => ({ files: eb('files', '+', files), bytes: eb('bytes', '+', bytes) }))
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .execute();
      }),
    countOf: ({ region, workspace }, purpose) =>
      run(async () => {
        let query = db
          .selectFrom('file_counts')
          .select('files')
          .where('region', '=', region)
          .where('workspace', '=', workspace);
        if (purpose !== undefined) query = query.where('purpose', '=', purpose);
        return (await query.execute()).reduce((sum, { files }) => sum + files, 0);
      }),
    addToCount: ({ region, workspace }, purpose, files) =>
      run(async () => {
        await db
          .insertInto('file_counts')
          .values({ region, workspace, purpose, files })
          .onConflict((conflict) =>
            conflict
              .columns(['region', 'workspace', 'purpose'])
              .doUpdateSet(({ eb }) => ({ files: eb('file_counts.files', '+', files) })),
          )
          .execute();
      }),
    nextNumber: () =>
      run(async () => {
        const { last } = await db
          .insertInto('sequences')
          .values({ name: 'files', last: 1 })
          .onConflict((conflict) =>
            conflict.column('name').doUpdateSet(({ eb }) => ({ last: eb('sequences.last', '+', 1) })),
          )
          .returning('last')
          .executeTakeFirstOrThrow();
        return last;
      }),
  };
}
