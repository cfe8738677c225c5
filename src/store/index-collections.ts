import type { Kysely, Selectable } from 'kysely';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';
import type { IndexCollectionsTable } from './schema/search-index.ts';

/** Where documents of a collection come from. Paths are absolute, and for the operator alone. */
export type IndexSource =
  | { readonly type: 'folder' | 'file' | 'url-file'; readonly path: string }
  | { readonly type: 'url'; readonly url: string };

/** What was given to the local index under one name. Times are UTC milliseconds. */
export interface IndexCollection {
  readonly name: string;
  readonly sources: readonly IndexSource[];
  /** Its documents are found only where somebody asks for domains. */
  readonly domain: string | undefined;
  /** Absent: everybody's. */
  readonly workspace: string | undefined;
  readonly createdAt: number;
  /** When all of its sources were last gone through; absent: not to their end yet. */
  readonly refreshedAt: number | undefined;
}

export interface IndexCollectionTotals {
  readonly documents: number;
  readonly passages: number;
  /** Of what they were read from. */
  readonly bytes: number;
  /** Documents that have vectors. */
  readonly vectors: number;
}

export interface IndexCollectionStore {
  /** False where the name is taken. */
  insert(collection: IndexCollection): Promise<boolean>;
  find(name: string): Promise<IndexCollection | undefined>;
  /** By name. */
  list(): Promise<readonly IndexCollection[]>;
  totalsOf(name: string): Promise<IndexCollectionTotals>;
  setSources(name: string, sources: readonly IndexSource[]): Promise<void>;
  setRefreshed(name: string, at: number): Promise<void>;
  /** Of one that has no documents any more; false where there is none, or it has some. */
  remove(name: string): Promise<boolean>;
}

export function createIndexCollectionStore(db: Kysely<Database>, run: Run): IndexCollectionStore {
  return {
    insert: ({ name, sources, domain, workspace, createdAt, refreshedAt }) =>
      run(async () => {
        const row = await db
          .insertInto('index_collections')
          .values({
            name,
            sources: JSON.stringify(sources),
            domain: domain ?? null,
            workspace: workspace ?? null,
            created_at: createdAt,
            refreshed_at: refreshedAt ?? null,
          })
          .onConflict((conflict) => conflict.doNothing())
          .returning('name')
          .executeTakeFirst();
        return row !== undefined;
      }),
    find: (name) =>
      run(async () => {
        const row = await db.selectFrom('index_collections').selectAll().where('name', '=', name).executeTakeFirst();
        return row && decode(row);
      }),
    list: () =>
      run(async () => {
        const rows = await db.selectFrom('index_collections').selectAll().orderBy('name').execute();
        return rows.map(decode);
      }),
    totalsOf: (name) =>
      run(async () => {
        const row = await db
          .selectFrom('index_documents')
          .leftJoin('index_vectors', 'index_vectors.document', 'index_documents.id')
          .select(({ fn }) => [
            fn.count('index_documents.id').as('documents'),
            fn.sum('index_documents.passages').as('passages'),
            fn.sum('index_documents.bytes').as('bytes'),
            fn.count('index_vectors.document').as('vectors'),
          ])
          .where('collection', '=', name)
          .executeTakeFirst();
        return {
          documents: Number(row?.documents ?? 0),
          passages: Number(row?.passages ?? 0),
          bytes: Number(row?.bytes ?? 0),
          vectors: Number(row?.vectors ?? 0),
        };
      }),
    setSources: (name, sources) =>
      run(async () => {
        await db
          .updateTable('index_collections')
          .set({ sources: JSON.stringify(sources), refreshed_at: null })
          .where('name', '=', name)
          .execute();
      }),
    setRefreshed: (name, at) =>
      run(async () => {
        await db.updateTable('index_collections').set({ refreshed_at: at }).where('name', '=', name).execute();
      }),
    remove: (name) =>
      run(async () => {
        const row = await db
          .deleteFrom('index_collections')
          .where('name', '=', name)
          .where(({ not, exists, selectFrom }) =>
            not(exists(selectFrom('index_documents').select('id').where('collection', '=', name))),
          )
          .returning('name')
          .executeTakeFirst();
        return row !== undefined;
      }),
  };
}

const decode = (row: Selectable<IndexCollectionsTable>): IndexCollection => ({
  name: row.name,
  sources: parseSources(row.sources),
  domain: row.domain ?? undefined,
  workspace: row.workspace ?? undefined,
  createdAt: row.created_at,
  refreshedAt: row.refreshed_at ?? undefined,
});

/** Parser of what `insert` and `setSources` wrote. */
const parseSources = (json: string): readonly IndexSource[] => JSON.parse(json) as readonly IndexSource[];
