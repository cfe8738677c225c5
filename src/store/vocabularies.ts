import type { Kysely } from 'kysely';
import type { Place } from './conversations.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';

/** A word that recognition is to expect, as a caller wrote it down. */
export interface VocabularyEntry {
  readonly text: string;
  readonly weight: number;
  /** The interface's own code of a language; absent: of any. */
  readonly lang?: string;
}

/** A vocabulary without its entries. Times are UTC milliseconds. */
export interface VocabularyHead {
  readonly id: string;
  /** As its maker wrote it. */
  readonly targetModel: string;
  readonly createdAt: number;
  readonly modifiedAt: number;
}

export interface VocabularyRecord extends VocabularyHead, Place {
  /** Of its id. */
  readonly prefix: string;
  readonly entries: readonly VocabularyEntry[];
}

export interface VocabularyList {
  readonly prefix?: string | undefined;
  readonly limit: number;
  /** How many of the newest are passed over. */
  readonly skip: number;
}

/** What a place asks for and does not have is undefined or false. */
export interface VocabularyStore {
  /** How many a place has; until the transaction ends, nobody else adds one. Inside a transaction only. */
  lockCount(place: Place): Promise<number>;
  insert(record: VocabularyRecord): Promise<void>;
  find(place: Place, id: string): Promise<VocabularyRecord | undefined>;
  /** The newest first. */
  list(place: Place, wish: VocabularyList): Promise<readonly VocabularyHead[]>;
  /** The new entries take the place of all there were, in one step. */
  replace(place: Place, id: string, wish: { entries: readonly VocabularyEntry[]; at: number }): Promise<boolean>;
  remove(place: Place, id: string): Promise<boolean>;
}

const HEAD = ['id', 'target_model as targetModel', 'created_at as createdAt', 'modified_at as modifiedAt'] as const;

export function createVocabularyStore(db: Kysely<Database>, run: Run): VocabularyStore {
  return {
    lockCount: ({ region, workspace }) =>
      run(async () => {
        await db
          .insertInto('vocabulary_places')
          .values({ region, workspace })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        // A change that changes nothing: Postgres locks the row for it, and SQLite has no other word for that.
        await db
          .updateTable('vocabulary_places')
          .set(({ ref }) => ({ region: ref('region') }))
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .execute();
        const { count } = await db
          .selectFrom('vocabularies')
          .select(({ fn }) => fn.countAll().as('count'))
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .executeTakeFirstOrThrow();
        return Number(count);
      }),
    insert: ({ id, region, workspace, prefix, targetModel, createdAt, modifiedAt, entries }) =>
      run(async () => {
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
      }),
    find: ({ region, workspace }, id) =>
      run(async () => {
        const row = await db
          .selectFrom('vocabularies')
          .select([...HEAD, 'region', 'workspace', 'prefix', 'entries'])
          .where('id', '=', id)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .executeTakeFirst();
        return row && { ...row, entries: parseEntries(row.entries) };
      }),
    list: ({ region, workspace }, { prefix, limit, skip }) =>
      run(async () => {
        let query = db
          .selectFrom('vocabularies')
          .select(HEAD)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(limit)
          .offset(skip);
        if (prefix !== undefined) query = query.where('prefix', '=', prefix);
        // Rows of SQLite have no prototype.
        return (await query.execute()).map((row) => ({ ...row }));
      }),
    replace: ({ region, workspace }, id, { entries, at }) =>
      run(async () => {
        const row = await db
          .updateTable('vocabularies')
          .set({ entries: JSON.stringify(entries), modified_at: at })
          .where('id', '=', id)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    remove: ({ region, workspace }, id) =>
      run(async () => {
        const row = await db
          .deleteFrom('vocabularies')
          .where('id', '=', id)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
  };
}

/** Parser of what `insert` and `replace` wrote. */
const parseEntries = (json: string): readonly VocabularyEntry[] => JSON.parse(json) as readonly VocabularyEntry[];
