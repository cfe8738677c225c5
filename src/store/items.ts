import type { Kysely } from 'kysely';
import type { Item, ItemPage, ItemPageWish } from '../core/item.ts';
import type { Place } from './conversations.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';

/** The conversation or the response that items stand in. */
export interface Container extends Place {
  readonly container: string;
}

export interface ItemsAt {
  /** Of the first of them; the others follow without a gap. */
  readonly position: number;
  readonly side?: 'input' | 'output';
}

export interface PageBounds extends ItemPageWish {
  readonly side?: 'input' | 'output';
  /** A page ends before its JSON grows beyond this, but never before its first item. */
  readonly bytesMax: number;
}

export interface TailBounds {
  readonly itemsMax: number;
  readonly bytesMax: number;
  /** Only what stands before this position. */
  readonly before?: number | undefined;
}

export interface Tail {
  /** The oldest first. */
  readonly items: readonly Item[];
  /** How many stand before them. */
  readonly older: number;
}

/** Whose they are is asked of each row. */
export interface ItemStore {
  insert(into: Container, items: readonly Item[], at: ItemsAt): Promise<void>;
  find(where: Container, id: string): Promise<Item | undefined>;
  /** Of any container of the place; what is not there is left out. */
  findMany(place: Place, ids: readonly string[]): Promise<ReadonlyMap<string, Item>>;
  /** The bytes of their JSON, which is not read for it; otherwise as `findMany`. */
  sizes(place: Place, ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Undefined when `after` names none of these items. */
  page(where: Container, wish: PageBounds): Promise<ItemPage | undefined>;
  /** All of them page by page, the oldest first; what is deleted meanwhile does not end it. */
  walk(where: Container, bounds: Omit<PageBounds, 'after' | 'order'>): AsyncIterable<readonly Item[]>;
  /** The newest items that are within the bounds. */
  tail(where: Container, bounds: TailBounds): Promise<Tail>;
  /** All items of several containers, those of one in their order, the containers in the order given. */
  all(place: Place, containers: readonly string[]): Promise<readonly Item[]>;
  count(where: Container, before: number): Promise<number>;
  remove(where: Container, id: string): Promise<boolean>;
  clear(where: Container): Promise<void>;
}

/** Ours: rows of one statement. Each number of them is a statement to prepare, and the databases limit its parameters. */
const ROWS_AT_ONCE = 20;
/** Ours: values of one list in a statement; the databases limit them. */
const VALUES_AT_ONCE = 200;

export const bytesOf = ({ json }: Item): number => Buffer.byteLength(json);

export function createItemStore(db: Kysely<Database>, run: Run): ItemStore {
  const select = ({ region, workspace, container }: Container) =>
    db
      .selectFrom('items')
      .where('container', '=', container)
      .where('region', '=', region)
      .where('workspace', '=', workspace);
  const named = ({ region, workspace }: Place, ids: readonly string[]) =>
    db.selectFrom('items').where('id', 'in', ids).where('region', '=', region).where('workspace', '=', workspace);
  const remove = ({ region, workspace, container }: Container) =>
    db
      .deleteFrom('items')
      .where('container', '=', container)
      .where('region', '=', region)
      .where('workspace', '=', workspace);

  async function count(where: Container, before: number): Promise<number> {
    const row = await select(where)
      .where('position', '<', before)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  const ofSide = (where: Container, side: 'input' | 'output' | undefined) =>
    side === undefined ? select(where) : select(where).where('side', '=', side);

  /** The next items behind a position, in either direction. */
  const slice = async (
    where: Container,
    { limit, order, side, bytesMax, beyond }: Omit<PageBounds, 'after'> & { readonly beyond?: number | undefined },
  ) => {
    const isAscending = order === 'asc';
    const own = ofSide(where, side);
    const sizes = await (beyond === undefined ? own : own.where('position', isAscending ? '>' : '<', beyond))
      .select(['position', 'bytes'])
      .orderBy('position', order)
      .limit(limit + 1)
      .execute();
    const taken = sizes.slice(0, Math.max(1, Math.min(limit, fitting(sizes, bytesMax))));
    const [first] = taken;
    const last = taken.at(-1);
    if (!first || !last) return { items: [], last: undefined, hasMore: false };
    const items = await own
      .where('position', '>=', Math.min(first.position, last.position))
      .where('position', '<=', Math.max(first.position, last.position))
      .select(['id', 'json'])
      .orderBy('position', order)
      .execute();
    return { items: items.map(toItem), last: last.position, hasMore: sizes.length > taken.length };
  };

  const page = async (where: Container, { after, ...bounds }: PageBounds): Promise<ItemPage | undefined> => {
    const start =
      after === undefined
        ? undefined
        : await ofSide(where, bounds.side).where('id', '=', after).select('position').executeTakeFirst();
    if (after !== undefined && !start) return undefined;
    const { items, hasMore } = await slice(where, { ...bounds, beyond: start?.position });
    return { items, hasMore };
  };

  const tail = async (where: Container, { itemsMax, bytesMax, before }: TailBounds): Promise<Tail> => {
    const newer = before === undefined ? select(where) : select(where).where('position', '<', before);
    const sizes = await newer
      .select(['position', 'bytes'])
      .orderBy('position', 'desc')
      .limit(itemsMax + 1)
      .execute();
    const taken = sizes.slice(0, Math.min(itemsMax, fitting(sizes, bytesMax)));
    const [newest] = sizes;
    const oldest = taken.at(-1);
    if (!newest) return { items: [], older: 0 };
    if (!oldest) return { items: [], older: await count(where, newest.position + 1) };
    const items = await select(where)
      .where('position', '>=', oldest.position)
      .where('position', '<=', newest.position)
      .select(['id', 'json'])
      .orderBy('position')
      .execute();
    return { items: items.map(toItem), older: taken.length === sizes.length ? 0 : await count(where, oldest.position) };
  };

  return {
    insert: ({ container, region, workspace }, items, { position, side }) =>
      run(async () => {
        const rows = items.map((item, at) => ({
          container,
          position: position + at,
          id: item.id,
          region,
          workspace,
          side: side ?? null,
          bytes: bytesOf(item),
          json: item.json,
        }));
        for (const some of chunksOf(rows, ROWS_AT_ONCE)) await db.insertInto('items').values(some).execute();
      }),
    find: (where, id) =>
      run(async () => {
        const row = await select(where).where('id', '=', id).select(['id', 'json']).executeTakeFirst();
        return row && toItem(row);
      }),
    findMany: (place, ids) =>
      run(async () => {
        const found = new Map<string, Item>();
        for (const some of chunksOf([...new Set(ids)], VALUES_AT_ONCE)) {
          const rows = await named(place, some).select(['id', 'json']).execute();
          for (const row of rows) found.set(row.id, toItem(row));
        }
        return found;
      }),
    sizes: (place, ids) =>
      run(async () => {
        const found = new Map<string, number>();
        for (const some of chunksOf([...new Set(ids)], VALUES_AT_ONCE)) {
          const rows = await named(place, some).select(['id', 'bytes']).execute();
          for (const { id, bytes } of rows) found.set(id, bytes);
        }
        return found;
      }),
    page: (where, wish) => run(() => page(where, wish)),
    async *walk(where, bounds) {
      for (let beyond: number | undefined, hasMore = true; hasMore;) {
        const next = await run(() => slice(where, { ...bounds, order: 'asc', beyond }));
        if (next.items.length > 0) yield next.items;
        ({ hasMore } = next);
        beyond = next.last;
      }
    },
    tail: (where, bounds) => run(() => tail(where, bounds)),
    all: ({ region, workspace }, containers) =>
      run(async () => {
        const found = new Map<string, Item[]>(containers.map((container) => [container, []]));
        for (const some of chunksOf(containers, VALUES_AT_ONCE)) {
          const rows = await db
            .selectFrom('items')
            .where('container', 'in', some)
            .where('region', '=', region)
            .where('workspace', '=', workspace)
            .select(['container', 'id', 'json'])
            .orderBy('container')
            .orderBy('position')
            .execute();
          for (const { container, id, json } of rows) found.get(container)?.push({ id, json });
        }
        return [...found.values()].flat();
      }),
    count: (where, before) => run(() => count(where, before)),
    remove: (where, id) =>
      run(async () => (await remove(where).where('id', '=', id).returning('id').executeTakeFirst()) !== undefined),
    clear: (where) =>
      run(async () => {
        await remove(where).execute();
      }),
  };
}

/** A row of SQLite has no prototype, one of Postgres has. */
const toItem = ({ id, json }: Item): Item => ({ id, json });

/** How many of them, from the first on, are within the bytes. */
function fitting(sizes: readonly { readonly bytes: number }[], bytesMax: number): number {
  let sum = 0;
  const over = sizes.findIndex(({ bytes }) => (sum += bytes) > bytesMax);
  return over === -1 ? sizes.length : over;
}

function* chunksOf<T>(values: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < values.length; at += size) yield values.slice(at, at + size);
}
