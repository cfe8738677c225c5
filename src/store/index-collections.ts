import type { RegionId } from '../core/region.ts';
import type { Kysely, Selectable } from 'kysely';
import { hasRow } from './row-queries.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';
import type { IndexCollectionsTable } from './schema/search-index.ts';

/** Source of a collection's documents. Paths are absolute; shown to the operator only. */
export type IndexSource =
  | { readonly type: 'folder' | 'file' | 'url-file'; readonly path: string }
  | { readonly type: 'url'; readonly url: string };

/** A named set of documents in the local index. Times are UTC milliseconds. */
export interface IndexCollection {
  readonly name: string;
  readonly sources: readonly IndexSource[];
  /** If present, only domain searches find the documents. */
  readonly domain: string | undefined;
  /** Workspace that may search the collection; undefined: all workspaces. */
  readonly workspace: string | undefined;
  /** Region whose keys may search the collection; undefined: all regions. */
  readonly region: RegionId | undefined;
  readonly createdAt: number;
  /** When the last complete refresh of all sources finished; undefined before the first. */
  readonly refreshedAt: number | undefined;
}

export interface IndexCollectionTotals {
  readonly documents: number;
  readonly passages: number;
  /** Total size of the source documents. */
  readonly bytes: number;
  /** Number of documents that have vectors. */
  readonly vectors: number;
}

export interface IndexCollectionStore {
  /** Returns false if the name is taken. */
  insert(collection: IndexCollection): Promise<boolean>;
  find(name: string): Promise<IndexCollection | undefined>;
  /** Lists collections by name. */
  list(): Promise<readonly IndexCollection[]>;
  getTotals(name: string): Promise<IndexCollectionTotals>;
  setSources(name: string, sources: readonly IndexSource[]): Promise<void>;
  setRefreshed(name: string, at: number): Promise<void>;
  /** Removes an empty collection; false if it does not exist or has documents. */
  remove(name: string): Promise<boolean>;
}

export function createIndexCollectionStore(db: Kysely<Database>): IndexCollectionStore {
  return {
    async insert({ sources, ...collection }) {
      return hasRow(
        db
          .insertInto('index_collections')
          .values({ ...encodeRow(collection), sources: JSON.stringify(sources) })
          .onConflict((conflict) => conflict.doNothing())
          .returning('name'),
      );
    },
    async find(name) {
      const row = await db.selectFrom('index_collections').selectAll().where('name', '=', name).executeTakeFirst();
      return row && decode(row);
    },
    async list() {
      const rows = await db.selectFrom('index_collections').selectAll().orderBy('name').execute();
      return rows.map(decode);
    },
    async getTotals(name) {
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
    },
    async setSources(name, sources) {
      await db
        .updateTable('index_collections')
        .set({ sources: JSON.stringify(sources), refreshed_at: null })
        .where('name', '=', name)
        .execute();
    },
    async setRefreshed(name, at) {
      await db.updateTable('index_collections').set({ refreshed_at: at }).where('name', '=', name).execute();
    },
    async remove(name) {
      return hasRow(
        db
          .deleteFrom('index_collections')
          .where('name', '=', name)
          .where(({ not, exists, selectFrom }) =>
            not(exists(selectFrom('index_documents').select('id').where('collection', '=', name))),
          )
          .returning('name'),
      );
    },
  };
}

const decode = ({ sources, ...row }: Selectable<IndexCollectionsTable>): IndexCollection => ({
  ...decodeRow(row),
  sources: parseSources(sources),
});

/** Parses what `insert` and `setSources` wrote. */
const parseSources = (json: string): readonly IndexSource[] => JSON.parse(json) as readonly IndexSource[];
