import type { Kysely } from 'kysely';
import type { BatchLineResult, BatchResultKind } from '../core/batch.ts';
import type { Database } from './schema/database.ts';

/** Results of unfinished batches. A line has at most one result, even if several processes ran it. */
export interface BatchLineStore {
  /**
   * Inserts at most 1,000 results while the batch is locked; skips lines that have a result.
   * @returns the inserted ones.
   */
  insert(batch: string, results: readonly BatchLineResult[]): Promise<readonly Omit<BatchLineResult, 'json'>[]>;
  /** Lists the lines from `first` to `last`, both included, that have a result. */
  listDone(batch: string, range: { readonly first: number; readonly last: number }): Promise<readonly number[]>;
  /** Lists results with line numbers above `after`, in the order of the lines. */
  list(
    batch: string,
    query: { readonly kind: BatchResultKind; readonly after: number; readonly limit: number },
  ): Promise<readonly BatchLineResult[]>;
  /** @returns the number of removed results; less than `limit` when none is left. */
  remove(batch: string, limit: number): Promise<number>;
}

export function createBatchLineStore(db: Kysely<Database>): BatchLineStore {
  return {
    async insert(batch, results) {
      if (results.length === 0) return [];
      return await db
        .insertInto('batch_lines')
        .values(results.map(({ line, kind, json }) => ({ batch, line, kind, json })))
        .onConflict((conflict) => conflict.columns(['batch', 'line']).doNothing())
        .returning(['line', 'kind'])
        .execute();
    },
    async listDone(batch, { first, last }) {
      const rows = await db
        .selectFrom('batch_lines')
        .select('line')
        .where('batch', '=', batch)
        .where('line', '>=', first)
        .where('line', '<=', last)
        .orderBy('line')
        .execute();
      return rows.map(({ line }) => line);
    },
    list: (batch, { kind, after, limit }) =>
      db
        .selectFrom('batch_lines')
        .select(['line', 'kind', 'json'])
        .where('batch', '=', batch)
        .where('line', '>', after)
        .where('kind', '=', kind)
        .orderBy('line')
        .limit(limit)
        .execute(),
    async remove(batch, limit) {
      const first = db.selectFrom('batch_lines').select('line').where('batch', '=', batch).orderBy('line').limit(limit);
      const rows = await db
        .deleteFrom('batch_lines')
        .where('batch', '=', batch)
        .where('line', 'in', first)
        .returning('line')
        .execute();
      return rows.length;
    },
  };
}
