import type { Kysely, Selectable } from 'kysely';
import { assert } from '../lib/assert.ts';
import type { Place } from './conversations.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';
import type { FilesTable } from './schema/files.ts';

/** A file that is there. */
export interface FileRecord extends Place {
  readonly id: string;
  /** Of its id, what is sortable by time. */
  readonly sortKey: string;
  /** Counted up over all files that ever were. */
  readonly number: number;
  readonly name: string;
  readonly description: string;
  readonly purpose: string;
  readonly sizeBytes: number;
  readonly md5: string;
  /** Of the key that it was sent with. */
  readonly keyId: string;
  /** UTC milliseconds. */
  readonly createdAt: number;
  /** Name of its bytes in the blob store. */
  readonly blob: string;
}

/** Room for a file that is still coming in. */
export interface Reservation extends Place {
  readonly blob: string;
  readonly keyId: string;
  readonly bytes: number;
  /** UTC milliseconds. */
  readonly leaseUntil: number;
  readonly at: number;
  /** The batch whose results it is for: it is kept while that has not ended. */
  readonly heldFor?: string | undefined;
}

/** What is left to do for a file that nobody can find any more; `files` and `bytes` are what it held until then. */
export interface Retired extends Place {
  readonly blob: string;
  readonly bytes: number;
  /** Undefined where it never was active. */
  readonly purpose: string | undefined;
}

export interface Expired extends Place {
  readonly blob: string;
  readonly isReserved: boolean;
  /** The batch whose results it is for. */
  readonly heldFor: string | undefined;
}

/** What a reservation becomes; whose it is stays. */
export type Activated = Omit<FileRecord, keyof Place | 'keyId' | 'blob'>;

export interface FileList {
  readonly purpose?: string | undefined;
  readonly limit: number;
  /** How many of the newest are passed over. */
  readonly skip?: number | undefined;
  /** Only those whose sort key is less. */
  readonly after?: string | undefined;
  /** At or after, and at or before, in UTC milliseconds. */
  readonly createdFrom?: number | undefined;
  readonly createdTo?: number | undefined;
}

/** Sums and counts are `FileTotals`' matter, and change in the same transaction. */
export interface FileStore {
  reserve(reservation: Reservation): Promise<void>;
  /** Of a reservation that is still there; so too `activate`. False where it is not. */
  grow(blob: string, wish: { bytes: number; leaseUntil: number }): Promise<boolean>;
  /** What comes in now, in the order in which it began: what is held for a batch does not. */
  reservations(place: Place): Promise<readonly { blob: string; bytes: number }[]>;
  /** Of those that are reservations still. */
  renew(blobs: readonly string[], leaseUntil: number): Promise<void>;
  /** Gives a reservation another blob. False where it is none any more. */
  rename(blob: string, to: string): Promise<boolean>;
  /** The record; and what it held as a reservation. */
  activate(blob: string, facts: Activated): Promise<{ record: FileRecord; heldBytes: number } | undefined>;
  /** Undefined where there is none that is active. */
  find(place: Place, id: string): Promise<FileRecord | undefined>;
  findAnywhere(id: string): Promise<FileRecord | undefined>;
  /** The newest first. */
  list(place: Place, wish: FileList): Promise<readonly FileRecord[]>;
  /** From then on it cannot be found. Undefined where there was none. */
  retire(place: Place, id: string, wish: { leaseUntil: number; at: number }): Promise<Retired | undefined>;
  /** The same for a reservation; with `expiredAt` only where its lease ended before that. */
  giveUp(blob: string, wish: { leaseUntil: number; at: number; expiredAt?: number }): Promise<Retired | undefined>;
  /** What nobody works at any more: reservations and half deleted ones whose lease ended before `before`. */
  listExpired(wish: { before: number; limit: number }): Promise<readonly Expired[]>;
  /** The last trace of one that was retired or given up. */
  remove(blob: string): Promise<void>;
  /** Those among them that have a row, in whatever state. */
  known(blobs: readonly string[]): Promise<ReadonlySet<string>>;
}

export function createFileStore(db: Kysely<Database>, run: Run): FileStore {
  const select = (place: Place) =>
    db
      .selectFrom('files')
      .selectAll()
      .where('region', '=', place.region)
      .where('workspace', '=', place.workspace)
      .where('state', '=', 'active');

  /** Active ones, the newest first: all others have no sort key. */
  const matching = (
    { region, workspace }: Place,
    { purpose, after, createdFrom, createdTo }: Omit<FileList, 'limit' | 'skip'>,
  ) => {
    let query = db
      .selectFrom('files')
      .where('region', '=', region)
      .where('workspace', '=', workspace)
      .where('sort_key', 'is not', null)
      .orderBy('sort_key', 'desc');
    if (purpose !== undefined) query = query.where('purpose', '=', purpose);
    if (after !== undefined) query = query.where('sort_key', '<', after);
    if (createdFrom !== undefined) query = query.where('created_at', '>=', createdFrom);
    if (createdTo !== undefined) query = query.where('created_at', '<=', createdTo);
    return query;
  };

  return {
    reserve: ({ blob, region, workspace, keyId, bytes, leaseUntil, at, heldFor }) =>
      run(async () => {
        await db
          .insertInto('files')
          .values({
            blob,
            state: 'reserved',
            region,
            workspace,
            key_id: keyId,
            bytes,
            lease_until: leaseUntil,
            changed_at: at,
            held_for: heldFor ?? null,
          })
          .execute();
      }),
    grow: (blob, { bytes, leaseUntil }) =>
      run(async () => {
        const row = await db
          .updateTable('files')
          .set(({ eb }) => ({ bytes: eb('bytes', '+', bytes), lease_until: leaseUntil }))
          .where('blob', '=', blob)
          .where('state', '=', 'reserved')
          .returning('blob')
          .executeTakeFirst();
        return row !== undefined;
      }),
    reservations: ({ region, workspace }) =>
      run(() =>
        db
          .selectFrom('files')
          .select(['blob', 'bytes'])
          // All that are active have none: few rows are left.
          .where('lease_until', 'is not', null)
          .where('state', '=', 'reserved')
          .where('held_for', 'is', null)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .orderBy('blob')
          .execute(),
      ),
    renew: (blobs, leaseUntil) =>
      run(async () => {
        await db
          .updateTable('files')
          .set({ lease_until: leaseUntil })
          .where('blob', 'in', [...blobs])
          .where('state', '=', 'reserved')
          .execute();
      }),
    rename: (blob, to) =>
      run(async () => {
        const row = await db
          .updateTable('files')
          .set({ blob: to })
          .where('blob', '=', blob)
          .where('state', '=', 'reserved')
          .returning('blob')
          .executeTakeFirst();
        return row !== undefined;
      }),
    activate: (blob, { id, sortKey, number, name, description, purpose, sizeBytes, md5, createdAt }) =>
      run(async () => {
        const held = await db
          .selectFrom('files')
          .select('bytes')
          .where('blob', '=', blob)
          .where('state', '=', 'reserved')
          .executeTakeFirst();
        const row = await db
          .updateTable('files')
          .set({
            state: 'active',
            bytes: sizeBytes,
            lease_until: null,
            changed_at: createdAt,
            id,
            sort_key: sortKey,
            number,
            name,
            description,
            purpose,
            md5,
            created_at: createdAt,
          })
          .where('blob', '=', blob)
          .where('state', '=', 'reserved')
          .returningAll()
          .executeTakeFirst();
        return held && row && { record: decode(row), heldBytes: held.bytes };
      }),
    find: (place, id) =>
      run(async () => {
        const row = await select(place).where('id', '=', id).executeTakeFirst();
        return row && decode(row);
      }),
    findAnywhere: (id) =>
      run(async () => {
        const row = await db
          .selectFrom('files')
          .selectAll()
          .where('id', '=', id)
          .where('state', '=', 'active')
          .executeTakeFirst();
        return row && decode(row);
      }),
    list: (place, { limit, skip = 0, ...filter }) =>
      run(async () => {
        let query = matching(place, filter).selectAll().limit(limit);
        // What is passed over is so in the index alone: it has all that this asks for, and no row is read.
        if (skip > 0)
          query = query.where('sort_key', '<=', matching(place, filter).select('sort_key').limit(1).offset(skip));
        return (await query.execute()).map(decode);
      }),
    retire: ({ region, workspace }, id, { leaseUntil, at }) =>
      run(async () => {
        const row = await db
          .updateTable('files')
          .set({ state: 'deleting', sort_key: null, lease_until: leaseUntil, changed_at: at })
          .where('id', '=', id)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .where('state', '=', 'active')
          .returningAll()
          .executeTakeFirst();
        return row && retired(row);
      }),
    giveUp: (blob, { leaseUntil, at, expiredAt }) =>
      run(async () => {
        let query = db
          .updateTable('files')
          .set({ state: 'deleting', lease_until: leaseUntil, changed_at: at })
          .where('blob', '=', blob)
          .where('state', '=', 'reserved');
        if (expiredAt !== undefined) query = query.where('lease_until', '<', expiredAt);
        const row = await query.returningAll().executeTakeFirst();
        return row && retired(row);
      }),
    listExpired: ({ before, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('files')
          .select(['blob', 'state', 'region', 'workspace', 'held_for'])
          .where('lease_until', '<', before)
          .orderBy('lease_until')
          .limit(limit)
          .execute();
        return rows.map(({ state, held_for: heldFor, ...row }) => ({
          ...row,
          isReserved: state === 'reserved',
          heldFor: heldFor ?? undefined,
        }));
      }),
    remove: (blob) =>
      run(async () => {
        await db.deleteFrom('files').where('blob', '=', blob).where('state', '=', 'deleting').execute();
      }),
    known: (blobs) =>
      run(async () => {
        if (blobs.length === 0) return new Set();
        const rows = await db
          .selectFrom('files')
          .select('blob')
          .where('blob', 'in', [...blobs])
          .execute();
        return new Set(rows.map(({ blob }) => blob));
      }),
  };
}

const retired = ({ blob, region, workspace, bytes, purpose }: Selectable<FilesTable>): Retired => ({
  blob,
  region,
  workspace,
  bytes,
  purpose: purpose ?? undefined,
});

function decode(row: Selectable<FilesTable>): FileRecord {
  const { id, sort_key: sortKey, number, name, description, purpose, md5, created_at: createdAt } = row;
  assert(
    id !== null && sortKey !== null && number !== null && name !== null && description !== null,
    'an active file has a name',
  );
  assert(purpose !== null && md5 !== null && createdAt !== null, 'an active file has its facts');
  return {
    id,
    sortKey,
    number,
    name,
    description,
    purpose,
    sizeBytes: row.bytes,
    md5,
    region: row.region,
    workspace: row.workspace,
    keyId: row.key_id,
    createdAt,
    blob: row.blob,
  };
}
