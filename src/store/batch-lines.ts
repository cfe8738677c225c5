import type { Kysely } from 'kysely';
import type { LineResult, ResultKind } from '../core/batch.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';

/** The results of batches that have not ended. A line has one, whoever else worked on it at the same time. */
export interface BatchLineStore {
  /** While the batch is locked; at most 1,000. Leaves out those whose line has a result already. @returns the others. */
  insert(batch: string, results: readonly LineResult[]): Promise<readonly Omit<LineResult, 'json'>[]>;
  /** Those of the lines from `first` to `last`, both included, that have a result. */
  done(batch: string, range: { readonly first: number; readonly last: number }): Promise<readonly number[]>;
  /** In the order of the lines, behind the line `after`. */
  read(
    batch: string,
    wish: { readonly kind: ResultKind; readonly after: number; readonly limit: number },
  ): Promise<readonly LineResult[]>;
  /** @returns how many; less than `limit` when none is left. */
  remove(batch: string, limit: number): Promise<number>;
}

export function createBatchLineStore(db: Kysely<Database>, run: Run): BatchLineStore {
  return {
    insert: (batch, results) =>
      run(async () => {
        if (results.length === 0) return [];
        return await db
          .insertInto('batch_lines')
          .values(results.map(({ line, kind, json }) => ({ batch, line, kind, json })))
          .onConflict((conflict) => conflict.columns(['batch', 'line']).doNothing())
          .returning(['line', 'kind'])
          .execute();
      }),
    done: (batch, { first, last }) =>
      run(async () => {
        const rows = await db
          .selectFrom('batch_lines')
          .select('line')
          .where('batch', '=', batch)
          .where('line', '>=', first)
          .where('line', '<=', last)
          .orderBy('line')
          .execute();
        return rows.map(({ line }) => line);
      }),
    read: (batch, { kind, after, limit }) =>
      run(() =>
        db
          .selectFrom('batch_lines')
          .select(['line', 'kind', 'json'])
          .where('batch', '=', batch)
          .where('line', '>', after)
          .where('kind', '=', kind)
          .orderBy('line')
          .limit(limit)
          .execute(),
      ),
    remove: (batch, limit) =>
      run(async () => {
        const first = db
          .selectFrom('batch_lines')
          .select('line')
          .where('batch', '=', batch)
          .orderBy('line')
          .limit(limit);
        const rows = await db
          .deleteFrom('batch_lines')
          .where('batch', '=', batch)
          .where('line', 'in', first)
          .returning('line')
          .execute();
        return rows.length;
      }),
  };
}
