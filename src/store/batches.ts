import { type Kysely, type Selectable, sql, type Updateable } from 'kysely';
import type { BatchCounts, BatchOutcome, BatchProblem, BatchStatus } from '../core/batch.ts';
import type { Metadata } from '../core/item.ts';
import type { TenantScope } from './tenant-scope.ts';
import { findById, findOwned, ownedBy } from './owned-by.ts';
import type { BatchesTable } from './schema/batches.ts';
import { hasRow, listIds } from './row-queries.ts';
import { decodeRow, encodeChanges, encodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';

/** Times are UTC milliseconds. */
export interface BatchRecord extends TenantScope {
  readonly id: string;
  /** ID of the API key that created the batch; its lines run as requests of this key. */
  readonly keyId: string;
  readonly endpoint: string;
  readonly inputFileId: string;
  readonly inputBlob: string;
  /** The completion window as the client sent it; `windowMs` is its length. */
  readonly completionWindow: string;
  readonly windowMs: number;
  readonly status: BatchStatus;
  /** Final status, set when the batch accepts no more results; a cancellation before the end overrides it. */
  readonly endsAs: BatchOutcome | undefined;
  readonly metadata: Metadata;
  /** Model of the lines; undefined until validation has finished. */
  readonly model: string | undefined;
  readonly errors: readonly BatchProblem[] | undefined;
  /** Blob names reserved for the result files. */
  readonly outputBlob: string;
  readonly errorBlob: string;
  /** ID of the created result file; undefined without one. */
  readonly outputFileId: string | undefined;
  readonly errorFileId: string | undefined;
  readonly counts: BatchCounts;
  readonly createdAt: number;
  readonly inProgressAt: number | undefined;
  readonly expiresAt: number | undefined;
  readonly finalizingAt: number | undefined;
  readonly cancellingAt: number | undefined;
  /** `status` says how the batch ended. */
  readonly endedAt: number | undefined;
}

/** A batch to be created; its first status is `validating`. */
export type NewBatch = Pick<
  BatchRecord,
  | keyof TenantScope
  | 'id'
  | 'keyId'
  | 'endpoint'
  | 'inputFileId'
  | 'inputBlob'
  | 'completionWindow'
  | 'windowMs'
  | 'metadata'
  | 'outputBlob'
  | 'errorBlob'
  | 'createdAt'
> & { readonly name: string };

/** Changes of a batch; undefined fields stay as they are. */
export type BatchChanges = Partial<
  Pick<
    BatchRecord,
    | 'status'
    | 'endsAs'
    | 'model'
    | 'errors'
    | 'outputBlob'
    | 'errorBlob'
    | 'outputFileId'
    | 'errorFileId'
    | 'counts'
    | 'inProgressAt'
    | 'expiresAt'
    | 'finalizingAt'
    | 'cancellingAt'
    | 'endedAt'
  >
> & {
  /** When the stored lines became obsolete. */
  readonly linesUntil?: number | undefined;
};

/** Filters and page of a batch list. */
export interface BatchListQuery {
  readonly limit: number;
  /** ID of the last batch of the previous page. */
  readonly after?: string | undefined;
  /** Part of the name, case-insensitive. */
  readonly name?: string | undefined;
  readonly inputFileIds?: readonly string[] | undefined;
  readonly statuses?: readonly BatchStatus[] | undefined;
  /** Inclusive bounds of the creation time in UTC milliseconds. */
  readonly createdFrom?: number | undefined;
  readonly createdTo?: number | undefined;
}

export interface BatchStore {
  insert(batch: NewBatch): Promise<BatchRecord>;
  find(scope: TenantScope, id: string): Promise<BatchRecord | undefined>;
  findInAnyTenant(id: string): Promise<BatchRecord | undefined>;
  /** Lists batches, newest first. */
  list(scope: TenantScope, query: BatchListQuery): Promise<readonly BatchRecord[]>;
  /** Returns whether an unfinished batch reads the file. */
  isInputInUse(fileId: string): Promise<boolean>;
  /** Returns whether the batch exists and has not ended. */
  isUnfinished(id: string): Promise<boolean>;
  /**
   * Returns the batch and keeps it from changing until the transaction ends. `lock` and `update` require a transaction.
   */
  lock(id: string): Promise<BatchRecord | undefined>;
  /** Changes a locked batch. */
  update(id: string, changes: BatchChanges): Promise<BatchRecord>;
  /**
   * Lists batches that ended before `before` and still have stored lines; call `markLinesRemoved` after removing them.
   */
  listWithStoredLines(query: { readonly before: number; readonly limit: number }): Promise<readonly string[]>;
  markLinesRemoved(id: string): Promise<void>;
  /** Lists batches of all tenants that ended before `before`, oldest first, without those that have stored lines. */
  listEndedBefore(query: { readonly before: number; readonly limit: number }): Promise<readonly string[]>;
  /** Removes an ended batch. Returns false if it does not exist or has not ended. */
  removeEnded(id: string): Promise<boolean>;
}

export function createBatchStore(db: Kysely<Database>): BatchStore {
  const select = (scope: TenantScope) => db.selectFrom('batches').selectAll().where(ownedBy(scope));

  return {
    async insert(batch) {
      return decode(await db.insertInto('batches').values(encode(batch)).returningAll().executeTakeFirstOrThrow());
    },
    async find(scope, id) {
      const row = await findOwned(db, 'batches', scope, id);
      return row && decode(row);
    },
    async findInAnyTenant(id) {
      const row = await findById(db, 'batches', id);
      return row && decode(row);
    },
    async list(scope, { limit, after, name, inputFileIds, statuses, createdFrom, createdTo }) {
      let query = select(scope).orderBy('id', 'desc').limit(limit);
      if (after !== undefined) query = query.where('id', '<', after);
      if (name !== undefined)
        query = query.where(
          ({ ref }) => sql<boolean>`${ref('name_folded')} like ${encodeLikePattern(name)} escape '\\'`,
        );
      if (inputFileIds !== undefined) query = query.where('input_file_id', 'in', [...inputFileIds]);
      if (statuses !== undefined) query = query.where('status', 'in', [...statuses]);
      if (createdFrom !== undefined) query = query.where('created_at', '>=', createdFrom);
      if (createdTo !== undefined) query = query.where('created_at', '<=', createdTo);
      return (await query.execute()).map(decode);
    },
    async isInputInUse(fileId) {
      return hasRow(
        db.selectFrom('batches').select('id').where('input_file_id', '=', fileId).where('ended_at', 'is', null),
      );
    },
    async isUnfinished(id) {
      return hasRow(db.selectFrom('batches').select('id').where('id', '=', id).where('ended_at', 'is', null));
    },
    async lock(id) {
      const row = await db
        .updateTable('batches')
        // A no-op update locks the row on Postgres; SQLite has no SELECT … FOR UPDATE.
        .set(({ ref }) => ({ status: ref('status') }))
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      return row && decode(row);
    },
    async update(id, changes) {
      const row = await db
        .updateTable('batches')
        .set(encodeBatchChanges(changes))
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      return decode(row);
    },
    async listWithStoredLines({ before, limit }) {
      return listIds(
        db.selectFrom('batches').select('id').where('lines_until', '<', before).orderBy('lines_until').limit(limit),
      );
    },
    async listEndedBefore({ before, limit }) {
      return listIds(
        db
          .selectFrom('batches')
          .select('id')
          .where('ended_at', '<', before)
          .where('lines_until', 'is', null)
          .orderBy('ended_at')
          .limit(limit),
      );
    },
    async removeEnded(id) {
      return hasRow(db.deleteFrom('batches').where('id', '=', id).where('ended_at', 'is not', null).returning('id'));
    },
    async markLinesRemoved(id) {
      await db.updateTable('batches').set({ lines_until: null }).where('id', '=', id).execute();
    },
  };
}

const encodeLikePattern = (part: string): string => `%${fold(part).replace(/[\\%_]/g, '\\$&')}%`;

/** Normalizes a name for the case-insensitive search. NUL is replaced because Postgres rejects it in text. */
const fold = (name: string): string => name.normalize('NFC').toLowerCase().replaceAll('\0', '\ufffd');

const encode = ({ name, metadata, ...batch }: NewBatch): BatchesTable => ({
  ...encodeRow(batch),
  status: 'validating',
  ends_as: null,
  metadata: JSON.stringify([...metadata]),
  name_folded: fold(name),
  model: null,
  errors: null,
  output_file_id: null,
  error_file_id: null,
  total: 0,
  completed: 0,
  failed: 0,
  in_progress_at: null,
  expires_at: null,
  finalizing_at: null,
  cancelling_at: null,
  ended_at: null,
  lines_until: null,
});

const encodeBatchChanges = ({ errors, counts, ...changes }: BatchChanges): Updateable<BatchesTable> => ({
  ...encodeChanges(changes),
  ...counts,
  errors: errors && JSON.stringify(errors),
});

const decode = ({
  metadata,
  errors,
  total,
  completed,
  failed,
  name_folded: _name,
  lines_until: _linesUntil,
  ...row
}: Selectable<BatchesTable>): BatchRecord => ({
  ...decodeRow(row),
  metadata: new Map(JSON.parse(metadata) as readonly (readonly [string, string])[]),
  errors: errors === null ? undefined : (JSON.parse(errors) as readonly BatchProblem[]),
  counts: { total, completed, failed },
});
