import type { Kysely, Selectable } from 'kysely';
import { assert } from '../lib/assert.ts';
import type { TenantScope } from './tenant-scope.ts';
import { ownedBy } from './owned-by.ts';
import { hasRow } from './row-queries.ts';
import type { Database } from './schema/database.ts';
import type { FilesTable } from './schema/files.ts';

/** Active file. */
export interface FileRecord extends TenantScope {
  readonly id: string;
  /** Time-sortable part of the ID. */
  readonly sortKey: string;
  /** Sequence number over all files ever created. */
  readonly number: number;
  readonly name: string;
  readonly description: string;
  readonly purpose: string;
  readonly sizeBytes: number;
  readonly md5: string;
  /** ID of the API key that uploaded the file. */
  readonly keyId: string;
  /** UTC milliseconds. */
  readonly createdAt: number;
  /** Name of the file's bytes in the blob store. */
  readonly blob: string;
}

/** Storage reserved for a file that is still being uploaded or written. */
export interface FileReservation extends TenantScope {
  readonly blob: string;
  readonly keyId: string;
  readonly bytes: number;
  /** UTC milliseconds. */
  readonly leaseUntil: number;
  readonly at: number;
  /** ID of the batch whose results it will hold: the reservation lasts until that batch ends. */
  readonly batchId?: string | undefined;
}

/** File that can no longer be found but still needs cleanup; `bytes` is what it occupied until then. */
export interface RetiredFile extends TenantScope {
  readonly blob: string;
  readonly bytes: number;
  /** Undefined if the file never became active. */
  readonly purpose: string | undefined;
}

/** Reservation or deletion whose lease has expired. */
export interface ExpiredFile extends TenantScope {
  readonly blob: string;
  readonly isReserved: boolean;
  /** ID of the batch whose results it will hold, or of the upload that it is a part of. */
  readonly batchId: string | undefined;
}

/** Metadata that turns a reservation into an active file. */
export type FileActivation = Omit<FileRecord, keyof TenantScope | 'keyId' | 'blob'>;

export interface FileListQuery {
  readonly purpose?: string | undefined;
  readonly limit: number;
  /** Number of newest files to skip. */
  readonly skip?: number | undefined;
  /** Lists only files with a smaller sort key. */
  readonly after?: string | undefined;
  /** Inclusive bounds of the creation time in UTC milliseconds. */
  readonly createdFrom?: number | undefined;
  readonly createdTo?: number | undefined;
}

interface Retirement {
  /** When the deletion may be repeated if it has not finished. */
  readonly leaseUntil: number;
  readonly at: number;
}

/** Files and reservations. `FileTotalsStore` keeps the sums and counts, changed in the same transaction. */
export interface FileStore {
  reserve(reservation: FileReservation): Promise<void>;
  /** Adds bytes to a reservation and renews its lease; false if the reservation no longer exists. */
  growReservation(blob: string, options: { bytes: number; leaseUntil: number }): Promise<boolean>;
  /** Lists running uploads in the order in which they started; reservations for batch results are left out. */
  listReservations(scope: TenantScope): Promise<readonly { blob: string; bytes: number }[]>;
  /**
   * Keeps a reservation for a holder until a time: it is no running upload any more. False if it no longer exists.
   */
  holdReservation(blob: string, hold: { heldFor: string; until: number }): Promise<boolean>;
  /** Extends the leases, never shortens them; blobs that are not reserved any more are ignored. */
  renewReservations(blobs: readonly string[], leaseUntil: number): Promise<void>;
  /** Gives a reservation another blob name; false if the reservation no longer exists. */
  renameReservedBlob(blob: string, to: string): Promise<boolean>;
  /** Turns a reservation into an active file; undefined if the reservation no longer exists. */
  activate(
    blob: string,
    activation: FileActivation,
  ): Promise<{ record: FileRecord; reservedBytes: number } | undefined>;
  /** Returns undefined if the tenant has no active file with this ID. */
  find(scope: TenantScope, id: string): Promise<FileRecord | undefined>;
  findInAnyTenant(id: string): Promise<FileRecord | undefined>;
  /** Lists active files, newest first. */
  list(scope: TenantScope, query: FileListQuery): Promise<readonly FileRecord[]>;
  /** Starts the deletion of an active file: it can no longer be found. Undefined if there is none. */
  retire(scope: TenantScope, id: string, retirement: Retirement): Promise<RetiredFile | undefined>;
  /** Starts the deletion of a reservation; with `expiredAt`, only if its lease ended before that time. */
  retireReservation(blob: string, retirement: Retirement & { expiredAt?: number }): Promise<RetiredFile | undefined>;
  /** Lists reservations and unfinished deletions whose lease ended before `before`. */
  listExpired(query: { before: number; limit: number }): Promise<readonly ExpiredFile[]>;
  /** Lists files of all tenants created before `before`, oldest first, without inputs of batches that have not ended. */
  listCreatedBefore(query: { before: number; limit: number }): Promise<readonly FileRecord[]>;
  /** Removes the row of a file that is being deleted. */
  remove(blob: string): Promise<void>;
  /** Returns those of the blob names that have a row, in any state. */
  filterReferenced(blobs: readonly string[]): Promise<ReadonlySet<string>>;
}

export function createFileStore(db: Kysely<Database>): FileStore {
  return {
    reserve: (reservation) => reserveFile(db, reservation),
    growReservation: (blob, growth) => growReservation(db, blob, growth),
    listReservations: (scope) => listReservations(db, scope),
    holdReservation: (blob, hold) => holdReservation(db, blob, hold),
    renewReservations: (blobs, leaseUntil) => renewReservations(db, blobs, leaseUntil),
    renameReservedBlob: (blob, to) => renameReservedBlob(db, blob, to),
    activate: (blob, activation) => activateFile(db, blob, activation),
    find: (scope, id) => findFile(db, scope, id),
    findInAnyTenant: (id) => findFileInAnyTenant(db, id),
    list: (scope, query) => listFiles(db, scope, query),
    retire: (scope, id, retirement) => retireFile(db, scope, id, retirement),
    retireReservation: (blob, retirement) => retireReservation(db, blob, retirement),
    listExpired: (query) => listExpiredFiles(db, query),
    listCreatedBefore: (query) => listFilesCreatedBefore(db, query),
    remove: (blob) => removeFile(db, blob),
    filterReferenced: (blobs) => filterReferencedBlobs(db, blobs),
  };
}

const selectActive = (db: Kysely<Database>, scope: TenantScope) =>
  db.selectFrom('files').selectAll().where(ownedBy(scope)).where('state', '=', 'active');

/** Selects active files, newest first: other rows have no sort key. */
function selectMatching(
  db: Kysely<Database>,
  scope: TenantScope,
  { purpose, after, createdFrom, createdTo }: Omit<FileListQuery, 'limit' | 'skip'>,
) {
  let query = db
    .selectFrom('files')
    .where(ownedBy(scope))
    .where('sort_key', 'is not', null)
    .orderBy('sort_key', 'desc');
  if (purpose !== undefined) query = query.where('purpose', '=', purpose);
  if (after !== undefined) query = query.where('sort_key', '<', after);
  if (createdFrom !== undefined) query = query.where('created_at', '>=', createdFrom);
  if (createdTo !== undefined) query = query.where('created_at', '<=', createdTo);
  return query;
}

async function reserveFile(
  db: Kysely<Database>,
  { blob, region, workspace, keyId, bytes, leaseUntil, at, batchId }: FileReservation,
): Promise<void> {
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
      held_for: batchId ?? null,
    })
    .execute();
}

async function growReservation(
  db: Kysely<Database>,
  blob: string,
  { bytes, leaseUntil }: { bytes: number; leaseUntil: number },
): Promise<boolean> {
  return hasRow(
    db
      .updateTable('files')
      .set(({ eb }) => ({ bytes: eb('bytes', '+', bytes), lease_until: leaseUntil }))
      .where('blob', '=', blob)
      .where('state', '=', 'reserved')
      .returning('blob'),
  );
}

async function listReservations(
  db: Kysely<Database>,
  scope: TenantScope,
): Promise<readonly { blob: string; bytes: number }[]> {
  return (
    db
      .selectFrom('files')
      .select(['blob', 'bytes'])
      // Active files have no lease: few rows are left.
      .where('lease_until', 'is not', null)
      .where('state', '=', 'reserved')
      .where('held_for', 'is', null)
      .where(ownedBy(scope))
      .orderBy('blob')
      .execute()
  );
}

async function holdReservation(
  db: Kysely<Database>,
  blob: string,
  { heldFor, until }: { heldFor: string; until: number },
): Promise<boolean> {
  return hasRow(
    db
      .updateTable('files')
      .set({ held_for: heldFor, lease_until: until })
      .where('blob', '=', blob)
      .where('state', '=', 'reserved')
      .returning('blob'),
  );
}

async function renewReservations(db: Kysely<Database>, blobs: readonly string[], leaseUntil: number): Promise<void> {
  await db
    .updateTable('files')
    .set({ lease_until: leaseUntil })
    .where('blob', 'in', [...blobs])
    .where('state', '=', 'reserved')
    .where('lease_until', '<', leaseUntil)
    .execute();
}

async function renameReservedBlob(db: Kysely<Database>, blob: string, to: string): Promise<boolean> {
  return hasRow(
    db
      .updateTable('files')
      .set({ blob: to })
      .where('blob', '=', blob)
      .where('state', '=', 'reserved')
      .returning('blob'),
  );
}

async function activateFile(
  db: Kysely<Database>,
  blob: string,
  { id, sortKey, number, name, description, purpose, sizeBytes, md5, createdAt }: FileActivation,
): Promise<{ record: FileRecord; reservedBytes: number } | undefined> {
  const reservation = await db
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
  return reservation && row && { record: decode(row), reservedBytes: reservation.bytes };
}

async function findFile(db: Kysely<Database>, scope: TenantScope, id: string): Promise<FileRecord | undefined> {
  const row = await selectActive(db, scope).where('id', '=', id).executeTakeFirst();
  return row && decode(row);
}

async function findFileInAnyTenant(db: Kysely<Database>, id: string): Promise<FileRecord | undefined> {
  const row = await db
    .selectFrom('files')
    .selectAll()
    .where('id', '=', id)
    .where('state', '=', 'active')
    .executeTakeFirst();
  return row && decode(row);
}

async function listFiles(
  db: Kysely<Database>,
  scope: TenantScope,
  { limit, skip = 0, ...filter }: FileListQuery,
): Promise<readonly FileRecord[]> {
  let query = selectMatching(db, scope, filter).selectAll().limit(limit);
  // Skipped rows are counted in the index alone, which has all columns of the filter: no row is read.
  if (skip > 0)
    query = query.where('sort_key', '<=', selectMatching(db, scope, filter).select('sort_key').limit(1).offset(skip));
  return (await query.execute()).map(decode);
}

async function retireFile(
  db: Kysely<Database>,
  scope: TenantScope,
  id: string,
  { leaseUntil, at }: Retirement,
): Promise<RetiredFile | undefined> {
  const row = await db
    .updateTable('files')
    .set({ state: 'deleting', sort_key: null, lease_until: leaseUntil, changed_at: at })
    .where('id', '=', id)
    .where(ownedBy(scope))
    .where('state', '=', 'active')
    .returningAll()
    .executeTakeFirst();
  return row && decodeRetired(row);
}

async function retireReservation(
  db: Kysely<Database>,
  blob: string,
  { leaseUntil, at, expiredAt }: Retirement & { expiredAt?: number },
): Promise<RetiredFile | undefined> {
  let query = db
    .updateTable('files')
    .set({ state: 'deleting', lease_until: leaseUntil, changed_at: at })
    .where('blob', '=', blob)
    .where('state', '=', 'reserved');
  if (expiredAt !== undefined) query = query.where('lease_until', '<', expiredAt);
  const row = await query.returningAll().executeTakeFirst();
  return row && decodeRetired(row);
}

async function listExpiredFiles(
  db: Kysely<Database>,
  { before, limit }: { before: number; limit: number },
): Promise<readonly ExpiredFile[]> {
  const rows = await db
    .selectFrom('files')
    .select(['blob', 'state', 'region', 'workspace', 'held_for'])
    .where('lease_until', '<', before)
    .orderBy('lease_until')
    .limit(limit)
    .execute();
  return rows.map(({ state, held_for: batchId, ...row }) => ({
    ...row,
    isReserved: state === 'reserved',
    batchId: batchId ?? undefined,
  }));
}

async function listFilesCreatedBefore(
  db: Kysely<Database>,
  { before, limit }: { before: number; limit: number },
): Promise<readonly FileRecord[]> {
  const rows = await db
    .selectFrom('files')
    .selectAll()
    .where('created_at', '<', before)
    .where('state', '=', 'active')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('batches')
            .select('batches.id')
            .whereRef('batches.input_file_id', '=', 'files.id')
            .where('batches.ended_at', 'is', null),
        ),
      ),
    )
    .orderBy('created_at')
    .limit(limit)
    .execute();
  return rows.map(decode);
}

async function removeFile(db: Kysely<Database>, blob: string): Promise<void> {
  await db.deleteFrom('files').where('blob', '=', blob).where('state', '=', 'deleting').execute();
}

async function filterReferencedBlobs(db: Kysely<Database>, blobs: readonly string[]): Promise<ReadonlySet<string>> {
  if (blobs.length === 0) return new Set();
  const rows = await db
    .selectFrom('files')
    .select('blob')
    .where('blob', 'in', [...blobs])
    .execute();
  return new Set(rows.map(({ blob }) => blob));
}

const decodeRetired = ({ blob, region, workspace, bytes, purpose }: Selectable<FilesTable>): RetiredFile => ({
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
    'an active file has an ID and a name',
  );
  assert(purpose !== null && md5 !== null && createdAt !== null, 'an active file has its metadata');
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
