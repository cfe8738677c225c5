import type { Kysely } from 'kysely';
import type { TenantScope } from './tenant-scope.ts';
import { ownedBy, removeOwned } from './owned-by.ts';
import { hasRow, readCount } from './row-queries.ts';
import type { Database } from './schema/database.ts';

/** A word that speech recognition should expect, as the client wrote it. */
export interface VocabularyEntry {
  readonly text: string;
  readonly weight: number;
  /** Language code of the API; absent: any language. */
  readonly lang?: string;
}

/** Vocabulary without its entries. Times are UTC milliseconds. */
export interface VocabularyRecordSummary {
  readonly id: string;
  /** Model name as the client wrote it. */
  readonly targetModel: string;
  readonly createdAt: number;
  readonly modifiedAt: number;
}

export interface VocabularyRecord extends VocabularyRecordSummary, TenantScope {
  /** Prefix of the ID. */
  readonly prefix: string;
  readonly entries: readonly VocabularyEntry[];
}

export interface VocabularyListQuery {
  readonly prefix?: string | undefined;
  readonly limit: number;
  /** Number of newest vocabularies to skip. */
  readonly skip: number;
}

/** Vocabularies that the tenant does not own yield undefined or false. */
export interface VocabularyStore {
  /**
   * Counts the tenant's vocabularies and keeps others from adding one until the transaction ends. Requires a
   * transaction.
   */
  lockCount(scope: TenantScope): Promise<number>;
  insert(record: VocabularyRecord): Promise<void>;
  find(scope: TenantScope, id: string): Promise<VocabularyRecord | undefined>;
  /** Lists vocabularies, newest first. */
  list(scope: TenantScope, query: VocabularyListQuery): Promise<readonly VocabularyRecordSummary[]>;
  /** Replaces all entries in one statement. */
  replace(
    scope: TenantScope,
    id: string,
    options: { entries: readonly VocabularyEntry[]; at: number },
  ): Promise<boolean>;
  remove(scope: TenantScope, id: string): Promise<boolean>;
}

const SUMMARY_COLUMNS = [
  'id',
  'target_model as targetModel',
  'created_at as createdAt',
  'modified_at as modifiedAt',
] as const;

export function createVocabularyStore(db: Kysely<Database>): VocabularyStore {
  return {
    async lockCount({ region, workspace }) {
      await db
        .insertInto('vocabulary_places')
        .values({ region, workspace })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      // A no-op update locks the row on Postgres; SQLite has no SELECT … FOR UPDATE.
      await db
        .updateTable('vocabulary_places')
        .set(({ ref }) => ({ region: ref('region') }))
        .where(ownedBy({ region, workspace }))
        .execute();
      return readCount(
        db
          .selectFrom('vocabularies')
          .select(({ fn }) => fn.countAll().as('count'))
          .where(ownedBy({ region, workspace })),
      );
    },
    async insert({ id, region, workspace, prefix, targetModel, createdAt, modifiedAt, entries }) {
      await db
        .insertInto('vocabularies')
        .values({
          id,
          region,
          workspace,
          prefix,
          target_model: targetModel,
          created_at: createdAt,
          modified_at: modifiedAt,
          entries: JSON.stringify(entries),
        })
        .execute();
    },
    async find(scope, id) {
      const row = await db
        .selectFrom('vocabularies')
        .select([...SUMMARY_COLUMNS, 'region', 'workspace', 'prefix', 'entries'])
        .where('id', '=', id)
        .where(ownedBy(scope))
        .executeTakeFirst();
      return row && { ...row, entries: parseEntries(row.entries) };
    },
    async list(scope, { prefix, limit, skip }) {
      let query = db
        .selectFrom('vocabularies')
        .select(SUMMARY_COLUMNS)
        .where(ownedBy(scope))
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .offset(skip);
      if (prefix !== undefined) query = query.where('prefix', '=', prefix);
      // Copies, because rows of SQLite have no prototype.
      return (await query.execute()).map((row) => ({ ...row }));
    },
    async replace(scope, id, { entries, at }) {
      return hasRow(
        db
          .updateTable('vocabularies')
          .set({ entries: JSON.stringify(entries), modified_at: at })
          .where('id', '=', id)
          .where(ownedBy(scope))
          .returning('id'),
      );
    },
    remove: (scope, id) => removeOwned(db, 'vocabularies', scope, id),
  };
}

/** Parses what `insert` and `replace` wrote. */
const parseEntries = (json: string): readonly VocabularyEntry[] => JSON.parse(json) as readonly VocabularyEntry[];
