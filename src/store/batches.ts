import { type Kysely, type Selectable, sql, type Updateable } from 'kysely';
import type { BatchCounts, BatchEnd, BatchProblem, BatchStatus } from '../core/batch.ts';
import type { Metadata } from '../core/item.ts';
import type { Place } from './conversations.ts';
import type { Run } from './run.ts';
import type { BatchesTable } from './schema/batches.ts';
import type { Database } from './schema/database.ts';

/** Times are UTC milliseconds. */
export interface BatchRecord extends Place {
  readonly id: string;
  /** The key that made it: its lines are that key's requests. */
  readonly keyId: string;
  readonly endpoint: string;
  readonly inputFileId: string;
  readonly inputBlob: string;
  /** As it was sent, and what it comes to. */
  readonly completionWindow: string;
  readonly windowMs: number;
  readonly status: BatchStatus;
  /** Once no more results are taken in: what it ends as, unless it is cancelled before. */
  readonly endsAs: BatchEnd | undefined;
  readonly metadata: Metadata;
  /** Of its lines, once they have been looked at. */
  readonly model: string | undefined;
  readonly errors: readonly BatchProblem[] | undefined;
  /** Where its results go when it ends. */
  readonly outputBlob: string;
  readonly errorBlob: string;
  /** Of a file that was made. */
  readonly outputFileId: string | undefined;
  readonly errorFileId: string | undefined;
  readonly counts: BatchCounts;
  readonly createdAt: number;
  readonly inProgressAt: number | undefined;
  readonly expiresAt: number | undefined;
  readonly finalizingAt: number | undefined;
  readonly cancellingAt: number | undefined;
  /** What it ended as is its status. */
  readonly endedAt: number | undefined;
}

/** As it begins: `validating`. */
export type NewBatch = Pick<
  BatchRecord,
  | keyof Place
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

/** What a step changes; what is undefined stays. */
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
  /** When its lines became of no use. */
  readonly linesUntil?: number | undefined;
};

export interface BatchList {
  readonly limit: number;
  /** The last id of the page before. */
  readonly after?: string | undefined;
  /** Part of its name; upper and lower case are the same. */
  readonly name?: string | undefined;
  readonly inputFileIds?: readonly string[] | undefined;
  readonly statuses?: readonly BatchStatus[] | undefined;
  /** At or after, and at or before, in UTC milliseconds. */
  readonly createdFrom?: number | undefined;
  readonly createdTo?: number | undefined;
}

export interface BatchStore {
  insert(batch: NewBatch): Promise<BatchRecord>;
  find(place: Place, id: string): Promise<BatchRecord | undefined>;
  findAnywhere(id: string): Promise<BatchRecord | undefined>;
  /** The newest first. */
  list(place: Place, wish: BatchList): Promise<readonly BatchRecord[]>;
  /** Whether one that has not ended reads that file. */
  usesInput(fileId: string): Promise<boolean>;
  /** Whether it is there and has not ended. */
  isOpen(id: string): Promise<boolean>;
  /** Nobody else changes it until the transaction ends. Inside one only, as `change`. */
  lock(id: string): Promise<BatchRecord | undefined>;
  /** Of one that was locked. */
  change(id: string, changes: BatchChanges): Promise<BatchRecord>;
  /** Those that ended before `before` and whose lines are not all gone, for which `forgetLines` has to be said. */
  listWithLines(wish: { readonly before: number; readonly limit: number }): Promise<readonly string[]>;
  forgetLines(id: string): Promise<void>;
}

export function createBatchStore(db: Kysely<Database>, run: Run): BatchStore {
  const select = ({ region, workspace }: Place) =>
    db.selectFrom('batches').selectAll().where('region', '=', region).where('workspace', '=', workspace);

  return {
    insert: (batch) =>
      run(async () => {
        return decode(await db.insertInto('batches').values(encode(batch)).returningAll().executeTakeFirstOrThrow());
      }),
    find: (place, id) =>
      run(async () => {
        const row = await select(place).where('id', '=', id).executeTakeFirst();
        return row && decode(row);
      }),
    findAnywhere: (id) =>
      run(async () => {
        const row = await db.selectFrom('batches').selectAll().where('id', '=', id).executeTakeFirst();
        return row && decode(row);
      }),
    list: (place, { limit, after, name, inputFileIds, statuses, createdFrom, createdTo }) =>
      run(async () => {
        let query = select(place).orderBy('id', 'desc').limit(limit);
        if (after !== undefined) query = query.where('id', '<', after);
        if (name !== undefined)
          query = query.where(({ ref }) => sql<boolean>`${ref('name_folded')} like ${containing(name)} escape '\\'`);
        if (inputFileIds !== undefined) query = query.where('input_file_id', 'in', [...inputFileIds]);
        if (statuses !== undefined) query = query.where('status', 'in', [...statuses]);
        if (createdFrom !== undefined) query = query.where('created_at', '>=', createdFrom);
        if (createdTo !== undefined) query = query.where('created_at', '<=', createdTo);
        return (await query.execute()).map(decode);
      }),
    usesInput: (fileId) =>
      run(async () => {
        const row = await db
          .selectFrom('batches')
          .select('id')
          .where('input_file_id', '=', fileId)
          .where('ended_at', 'is', null)
          .executeTakeFirst();
        return row !== undefined;
      }),
    isOpen: (id) =>
      run(async () => {
        const row = await db
          .selectFrom('batches')
          .select('id')
          .where('id', '=', id)
          .where('ended_at', 'is', null)
          .executeTakeFirst();
        return row !== undefined;
      }),
    lock: (id) =>
      run(async () => {
        const row = await db
          .updateTable('batches')
          // A change that changes nothing: Postgres locks the row for it, and SQLite has no other word for that.
          .set(({ ref }) => ({ status: ref('status') }))
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirst();
        return row && decode(row);
      }),
    change: (id, changes) =>
      run(async () => {
        const row = await db
          .updateTable('batches')
          .set(encodeChanges(changes))
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirstOrThrow();
        return decode(row);
      }),
    listWithLines: ({ before, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('batches')
          .select('id')
          .where('lines_until', '<', before)
          .orderBy('lines_until')
          .limit(limit)
          .execute();
        return rows.map(({ id }) => id);
      }),
    forgetLines: (id) =>
      run(async () => {
        await db.updateTable('batches').set({ lines_until: null }).where('id', '=', id).execute();
      }),
  };
}

const containing = (part: string): string => `%${fold(part).replace(/[\\%_]/g, '\\$&')}%`;

/** No database of ours compares texts with NUL in them. */
const fold = (name: string): string => name.normalize('NFC').toLowerCase().replaceAll('\0', '\ufffd');

const encode = ({ name, metadata, ...batch }: NewBatch): BatchesTable => ({
  id: batch.id,
  region: batch.region,
  workspace: batch.workspace,
  key_id: batch.keyId,
  endpoint: batch.endpoint,
  input_file_id: batch.inputFileId,
  input_blob: batch.inputBlob,
  completion_window: batch.completionWindow,
  window_ms: batch.windowMs,
  status: 'validating',
  ends_as: null,
  metadata: JSON.stringify([...metadata]),
  name_folded: fold(name),
  model: null,
  errors: null,
  output_blob: batch.outputBlob,
  error_blob: batch.errorBlob,
  output_file_id: null,
  error_file_id: null,
  total: 0,
  completed: 0,
  failed: 0,
  created_at: batch.createdAt,
  in_progress_at: null,
  expires_at: null,
  finalizing_at: null,
  cancelling_at: null,
  ended_at: null,
  lines_until: null,
});

/** What is undefined is left out by the query builder. */
const encodeChanges = ({ errors, counts, ...changes }: BatchChanges): Updateable<BatchesTable> => ({
  status: changes.status,
  ends_as: changes.endsAs,
  model: changes.model,
  errors: errors && JSON.stringify(errors),
  output_blob: changes.outputBlob,
  error_blob: changes.errorBlob,
  output_file_id: changes.outputFileId,
  error_file_id: changes.errorFileId,
  total: counts?.total,
  completed: counts?.completed,
  failed: counts?.failed,
  in_progress_at: changes.inProgressAt,
  expires_at: changes.expiresAt,
  finalizing_at: changes.finalizingAt,
  cancelling_at: changes.cancellingAt,
  ended_at: changes.endedAt,
  lines_until: changes.linesUntil,
});

const decode = (row: Selectable<BatchesTable>): BatchRecord => ({
  id: row.id,
  region: row.region,
  workspace: row.workspace,
  keyId: row.key_id,
  endpoint: row.endpoint,
  inputFileId: row.input_file_id,
  inputBlob: row.input_blob,
  completionWindow: row.completion_window,
  windowMs: row.window_ms,
  status: row.status,
  endsAs: row.ends_as ?? undefined,
  metadata: new Map(JSON.parse(row.metadata) as readonly (readonly [string, string])[]),
  model: row.model ?? undefined,
  errors: row.errors === null ? undefined : (JSON.parse(row.errors) as readonly BatchProblem[]),
  outputBlob: row.output_blob,
  errorBlob: row.error_blob,
  outputFileId: row.output_file_id ?? undefined,
  errorFileId: row.error_file_id ?? undefined,
  counts: { total: row.total, completed: row.completed, failed: row.failed },
  createdAt: row.created_at,
  inProgressAt: row.in_progress_at ?? undefined,
  expiresAt: row.expires_at ?? undefined,
  finalizingAt: row.finalizing_at ?? undefined,
  cancellingAt: row.cancelling_at ?? undefined,
  endedAt: row.ended_at ?? undefined,
});
