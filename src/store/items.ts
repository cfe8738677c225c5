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

export const createItemStore = (db: Kysely<Database>): ItemStore => ({
  insert: (container, items, at) => insertItems(db, container, items, at),
  find: (container, id) => findItem(db, container, id),
  findMany: async (scope, ids) =>
    new Map(
      (await readRows(ids, (chunk) => selectById(db, scope, chunk).select(['id', 'json']).execute())).map((row) => [
        row.id,
        toItem(row),
      ]),
    ),
  findSizes: async (scope, ids) =>
    new Map(
      (await readRows(ids, (chunk) => selectById(db, scope, chunk).select(['id', 'bytes']).execute())).map(
        ({ id, bytes }) => [id, bytes],
      ),
    ),
  readPage: (container, query) => readPage(db, container, query),
  readSlice: (container, query) => readSlice(db, container, query),
  readTail: (container, bounds) => readTail(db, container, bounds),
  listAll: (scope, containers) => listAll(db, scope, containers),
  countBefore: (container, before) => countBefore(db, container, before),
  remove: async (container, id) =>
    (await deleteFrom(db, container).where('id', '=', id).returning('id').executeTakeFirst()) !== undefined,
  async clear(container) {
    await deleteFrom(db, container).execute();
  },
});

type Db = Kysely<Database>;

const select = (db: Db, { container, ...scope }: ItemContainer) =>
  db.selectFrom('items').where('container', '=', container).where(ownedBy(scope));

const selectSide = (db: Db, container: ItemContainer, side: 'input' | 'output' | undefined) =>
  side === undefined ? select(db, container) : select(db, container).where('side', '=', side);

const selectById = (db: Db, scope: TenantScope, ids: readonly string[]) =>
  db.selectFrom('items').where('id', 'in', ids).where(ownedBy(scope));

const deleteFrom = (db: Db, { container, ...scope }: ItemContainer) =>
  db.deleteFrom('items').where('container', '=', container).where(ownedBy(scope));

const countBefore = (db: Db, container: ItemContainer, before: number): Promise<number> =>
  readCount(
    select(db, container)
      .where('position', '<', before)
      .select(({ fn }) => fn.countAll<number>().as('count')),
  );

async function insertItems(
  db: Db,
  { container, region, workspace }: ItemContainer,
  items: readonly Item[],
  { position, side }: ItemPosition,
): Promise<void> {
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
  for (const chunk of splitIntoChunks(rows, ROWS_PER_STATEMENT)) await db.insertInto('items').values(chunk).execute();
}

async function findItem(db: Db, container: ItemContainer, id: string): Promise<Item | undefined> {
  const row = await select(db, container).where('id', '=', id).select(['id', 'json']).executeTakeFirst();
  return row && toItem(row);
}

/** Reads the rows of all ids, in several statements if necessary. */
async function readRows<Row>(
  ids: readonly string[],
  read: (chunk: readonly string[]) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const chunk of splitIntoChunks([...new Set(ids)], VALUES_PER_STATEMENT)) rows.push(...(await read(chunk)));
  return rows;
}

async function readSlice(
  db: Db,
  container: ItemContainer,
  { limit, order, side, bytesMax, afterPosition }: ItemSliceQuery,
): Promise<ItemSlice> {
  const isAscending = order === 'asc';
  const sideQuery = selectSide(db, container, side);
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
}

async function readPage(
  db: Db,
  container: ItemContainer,
  { after, ...bounds }: BoundedItemPageQuery,
): Promise<ItemPage | undefined> {
  const start =
    after === undefined
      ? undefined
      : await selectSide(db, container, bounds.side).where('id', '=', after).select('position').executeTakeFirst();
  if (after !== undefined && !start) return undefined;
  const { items, hasMore } = await readSlice(db, container, { ...bounds, afterPosition: start?.position });
  return { items, hasMore };
}

async function readTail(
  db: Db,
  container: ItemContainer,
  { itemsMax, bytesMax, before }: ItemTailBounds,
): Promise<ItemTail> {
  const newer = before === undefined ? select(db, container) : select(db, container).where('position', '<', before);
  const sizes = await newer
    .select(['position', 'bytes'])
    .orderBy('position', 'desc')
    .limit(itemsMax + 1)
    .execute();
  const taken = sizes.slice(0, Math.min(itemsMax, countFitting(sizes, bytesMax)));
  const [newest] = sizes;
  const oldest = taken.at(-1);
  if (!newest) return { items: [], older: 0 };
  if (!oldest) return { items: [], older: await countBefore(db, container, newest.position + 1) };
  const items = await select(db, container)
    .where('position', '>=', oldest.position)
    .where('position', '<=', newest.position)
    .select(['id', 'json'])
    .orderBy('position')
    .execute();
  return {
    items: items.map(toItem),
    older: taken.length === sizes.length ? 0 : await countBefore(db, container, oldest.position),
  };
}

async function listAll(db: Db, scope: TenantScope, containers: readonly string[]): Promise<readonly Item[]> {
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
