import type { Kysely } from 'kysely';
import type { Item, ItemPage, ItemPageQuery } from '../core/item.ts';
import type { TenantScope } from './tenant-scope.ts';
import { ownedBy } from './owned-by.ts';
import { readCount } from './row-queries.ts';
import type { Database } from './schema/database.ts';

/** The conversation or response that holds the items. */
export interface ItemContainer extends TenantScope {
  readonly container: string;
}

export interface ItemPosition {
  /** Position of the first item; the others follow without a gap. */
  readonly position: number;
  readonly side?: 'input' | 'output';
}

/** Page of items, limited in items and bytes. */
export interface BoundedItemPageQuery extends ItemPageQuery {
  readonly side?: 'input' | 'output';
  /** A page ends before its JSON exceeds this size, but has at least one item. */
  readonly bytesMax: number;
}

/** As a page, but after a position: the item there may have been deleted. */
type ItemSliceQuery = Omit<BoundedItemPageQuery, 'after'> & { readonly afterPosition?: number | undefined };

interface ItemSlice extends ItemPage {
  /** Position of the last item; undefined without items. */
  readonly last: number | undefined;
}

/** Limits of the newest items to read. */
export interface ItemTailBounds {
  readonly itemsMax: number;
  readonly bytesMax: number;
  /** Only items before this position. */
  readonly before?: number | undefined;
}

/** The newest items of a container. */
export interface ItemTail {
  /** Oldest first. */
  readonly items: readonly Item[];
  /** Number of items before them. */
  readonly older: number;
}

/** Items of conversations and responses. Every query checks the tenant of each row. */
export interface ItemStore {
  insert(container: ItemContainer, items: readonly Item[], at: ItemPosition): Promise<void>;
  find(container: ItemContainer, id: string): Promise<Item | undefined>;
  /** Finds items in any container of the tenant; missing items are left out. */
  findMany(scope: TenantScope, ids: readonly string[]): Promise<ReadonlyMap<string, Item>>;
  /** As `findMany`, but returns the size of each item's JSON in bytes without reading the JSON. */
  findSizes(scope: TenantScope, ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Returns undefined if `after` is not an item of the container. */
  readPage(container: ItemContainer, query: BoundedItemPageQuery): Promise<ItemPage | undefined>;
  /** Returns the next items after a position, in either direction. */
  readSlice(container: ItemContainer, query: ItemSliceQuery): Promise<ItemSlice>;
  /** Returns the newest items within the bounds. */
  readTail(container: ItemContainer, bounds: ItemTailBounds): Promise<ItemTail>;
  /** Returns all items of several containers: containers in the given order, items in their order. */
  listAll(scope: TenantScope, containers: readonly string[]): Promise<readonly Item[]>;
  countBefore(container: ItemContainer, before: number): Promise<number>;
  remove(container: ItemContainer, id: string): Promise<boolean>;
  clear(container: ItemContainer): Promise<void>;
}

/**
 * Rows per insert; Parley's choice. Each row count needs its own prepared statement, and databases limit parameters.
 */
const ROWS_PER_STATEMENT = 20;
/** Values per list in a statement; Parley's choice. Databases limit the number of parameters. */
const VALUES_PER_STATEMENT = 200;

export const countItemBytes = ({ json }: Item): number => Buffer.byteLength(json);

export function createItemStore(db: Kysely<Database>): ItemStore {
  const select = ({ container, ...scope }: ItemContainer) =>
    db.selectFrom('items').where('container', '=', container).where(ownedBy(scope));
  const named = (scope: TenantScope, ids: readonly string[]) =>
    db.selectFrom('items').where('id', 'in', ids).where(ownedBy(scope));
  const remove = ({ container, ...scope }: ItemContainer) =>
    db.deleteFrom('items').where('container', '=', container).where(ownedBy(scope));

  async function count(container: ItemContainer, before: number): Promise<number> {
    return readCount(
      select(container)
        .where('position', '<', before)
        .select(({ fn }) => fn.countAll<number>().as('count')),
    );
  }

  const selectSide = (container: ItemContainer, side: 'input' | 'output' | undefined) =>
    side === undefined ? select(container) : select(container).where('side', '=', side);

  const readSlice = async (
    container: ItemContainer,
    { limit, order, side, bytesMax, afterPosition }: ItemSliceQuery,
  ): Promise<ItemSlice> => {
    const isAscending = order === 'asc';
    const sideQuery = selectSide(container, side);
    const sizes = await (
      afterPosition === undefined ? sideQuery : sideQuery.where('position', isAscending ? '>' : '<', afterPosition)
    )
      .select(['position', 'bytes'])
      .orderBy('position', order)
      .limit(limit + 1)
      .execute();
    const taken = sizes.slice(0, Math.max(1, Math.min(limit, countFitting(sizes, bytesMax))));
    const [first] = taken;
    const last = taken.at(-1);
    if (!first || !last) return { items: [], last: undefined, hasMore: false };
    const items = await sideQuery
      .where('position', '>=', Math.min(first.position, last.position))
      .where('position', '<=', Math.max(first.position, last.position))
      .select(['id', 'json'])
      .orderBy('position', order)
      .execute();
    return { items: items.map(toItem), last: last.position, hasMore: sizes.length > taken.length };
  };

  const page = async (
    container: ItemContainer,
    { after, ...bounds }: BoundedItemPageQuery,
  ): Promise<ItemPage | undefined> => {
    const start =
      after === undefined
        ? undefined
        : await selectSide(container, bounds.side).where('id', '=', after).select('position').executeTakeFirst();
    if (after !== undefined && !start) return undefined;
    const { items, hasMore } = await readSlice(container, { ...bounds, afterPosition: start?.position });
    return { items, hasMore };
  };

  const tail = async (container: ItemContainer, { itemsMax, bytesMax, before }: ItemTailBounds): Promise<ItemTail> => {
    const newer = before === undefined ? select(container) : select(container).where('position', '<', before);
    const sizes = await newer
      .select(['position', 'bytes'])
      .orderBy('position', 'desc')
      .limit(itemsMax + 1)
      .execute();
    const taken = sizes.slice(0, Math.min(itemsMax, countFitting(sizes, bytesMax)));
    const [newest] = sizes;
    const oldest = taken.at(-1);
    if (!newest) return { items: [], older: 0 };
    if (!oldest) return { items: [], older: await count(container, newest.position + 1) };
    const items = await select(container)
      .where('position', '>=', oldest.position)
      .where('position', '<=', newest.position)
      .select(['id', 'json'])
      .orderBy('position')
      .execute();
    return {
      items: items.map(toItem),
      older: taken.length === sizes.length ? 0 : await count(container, oldest.position),
    };
  };

  return {
    async insert({ container, region, workspace }, items, { position, side }) {
      const rows = items.map((item, at) => ({
        container,
        position: position + at,
        id: item.id,
        region,
        workspace,
        side: side ?? null,
        bytes: countItemBytes(item),
        json: item.json,
      }));
      for (const chunk of splitIntoChunks(rows, ROWS_PER_STATEMENT))
        await db.insertInto('items').values(chunk).execute();
    },
    async find(container, id) {
      const row = await select(container).where('id', '=', id).select(['id', 'json']).executeTakeFirst();
      return row && toItem(row);
    },
    async findMany(scope, ids) {
      const found = new Map<string, Item>();
      for (const chunk of splitIntoChunks([...new Set(ids)], VALUES_PER_STATEMENT)) {
        const rows = await named(scope, chunk).select(['id', 'json']).execute();
        for (const row of rows) found.set(row.id, toItem(row));
      }
      return found;
    },
    async findSizes(scope, ids) {
      const found = new Map<string, number>();
      for (const chunk of splitIntoChunks([...new Set(ids)], VALUES_PER_STATEMENT)) {
        const rows = await named(scope, chunk).select(['id', 'bytes']).execute();
        for (const { id, bytes } of rows) found.set(id, bytes);
      }
      return found;
    },
    readPage: page,
    readSlice,
    readTail: tail,
    async listAll(scope, containers) {
      const found = new Map<string, Item[]>(containers.map((container) => [container, []]));
      for (const chunk of splitIntoChunks(containers, VALUES_PER_STATEMENT)) {
        const rows = await db
          .selectFrom('items')
          .where('container', 'in', chunk)
          .where(ownedBy(scope))
          .select(['container', 'id', 'json'])
          .orderBy('container')
          .orderBy('position')
          .execute();
        for (const { container, id, json } of rows) found.get(container)?.push({ id, json });
      }
      return [...found.values()].flat();
    },
    countBefore: count,
    remove: async (container, id) =>
      (await remove(container).where('id', '=', id).returning('id').executeTakeFirst()) !== undefined,
    async clear(container) {
      await remove(container).execute();
    },
  };
}

/** Yields all items page by page, oldest first; continues if items are deleted meanwhile. */
export async function* iterateItemPages(
  store: ItemStore,
  container: ItemContainer,
  bounds: Omit<BoundedItemPageQuery, 'after' | 'order'>,
): AsyncGenerator<readonly Item[], void, undefined> {
  for (let afterPosition: number | undefined, hasMore = true; hasMore;) {
    const next = await store.readSlice(container, { ...bounds, order: 'asc', afterPosition });
    if (next.items.length > 0) yield next.items;
    ({ hasMore } = next);
    afterPosition = next.last;
  }
}

/** Copies a row: rows of SQLite have no prototype, rows of Postgres do. */
const toItem = ({ id, json }: Item): Item => ({ id, json });

/** Counts how many sizes, from the first on, fit into `bytesMax` together. */
function countFitting(sizes: readonly { readonly bytes: number }[], bytesMax: number): number {
  let sum = 0;
  const firstBeyond = sizes.findIndex(({ bytes }) => (sum += bytes) > bytesMax);
  return firstBeyond === -1 ? sizes.length : firstBeyond;
}

function* splitIntoChunks<T>(values: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < values.length; at += size) yield values.slice(at, at + size);
}
