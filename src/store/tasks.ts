import type { Kysely, Selectable, SelectQueryBuilder } from 'kysely';
import type { TenantScope } from './tenant-scope.ts';
import { findById, findOwned, ownedBy } from './owned-by.ts';
import { hasRow, listIds } from './row-queries.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';
import type { TasksTable } from './schema/tasks.ts';

export type StoredTaskStatus = TasksTable['status'];

/** Times are UTC milliseconds. */
export interface TaskRecord extends TenantScope {
  readonly id: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly model: string;
  /** Group, task and function, separated by slashes. */
  readonly service: string;
  readonly status: StoredTaskStatus;
  readonly submittedAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** JSON of the error of a failed task. */
  readonly error: string | undefined;
  /** JSON of the request; interpreted by the task's kind only. */
  readonly requestJson: string;
}

export interface TaskRecordFilter {
  readonly id?: string | undefined;
  readonly status?: StoredTaskStatus | undefined;
  readonly model?: string | undefined;
  readonly keyId?: string | undefined;
  /** Inclusive bounds of the submission time. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface TaskCompletion {
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly at: number;
  readonly error?: string | undefined;
}

export interface TaskStore {
  insert(record: TaskRecord): Promise<void>;
  find(scope: TenantScope, id: string): Promise<TaskRecord | undefined>;
  findInAnyTenant(id: string): Promise<TaskRecord | undefined>;
  /** Lists tasks, newest first. */
  list(
    scope: TenantScope,
    filter: TaskRecordFilter,
    page: { readonly skip: number; readonly take: number },
  ): Promise<{ readonly total: number; readonly records: readonly TaskRecord[] }>;
  /** Marks a pending task as running. @returns whether the task runs now; false if it has ended or does not exist. */
  start(id: string, at: number): Promise<boolean>;
  /** Returns false if the task has ended or does not exist. */
  finish(id: string, end: TaskCompletion): Promise<boolean>;
  /** Cancels a pending task. @returns whether the task was pending. */
  cancel(scope: TenantScope, id: string, at: number): Promise<boolean>;
  /** Lists IDs of tasks of all tenants that ended before `before`, oldest first. */
  listFinishedBefore(query: { before: number; limit: number }): Promise<readonly string[]>;
  remove(id: string): Promise<void>;
}

export function createTaskStore(db: Kysely<Database>): TaskStore {
  return {
    async insert(record) {
      await db.insertInto('tasks').values(encode(record)).execute();
    },
    async find(scope, id) {
      const row = await findOwned(db, 'tasks', scope, id);
      return row && decode(row);
    },
    async findInAnyTenant(id) {
      const row = await findById(db, 'tasks', id);
      return row && decode(row);
    },
    async list(scope, filter, { skip, take }) {
      const all = db.selectFrom('tasks').where(ownedBy(scope));
      const matching = applyFilter(all, filter);
      const { count } = await matching.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
      const rows = await matching
        .selectAll()
        .orderBy('submitted_at', 'desc')
        .orderBy('id', 'desc')
        .offset(skip)
        .limit(take)
        .execute();
      return { total: Number(count), records: rows.map(decode) };
    },
    async start(id, at) {
      await db
        .updateTable('tasks')
        .set({ status: 'running', started_at: at })
        .where('id', '=', id)
        .where('status', '=', 'pending')
        .execute();
      const row = await db.selectFrom('tasks').select('status').where('id', '=', id).executeTakeFirst();
      return row?.status === 'running';
    },
    async finish(id, { status, at, error }) {
      return hasRow(
        db
          .updateTable('tasks')
          .set({ status, ended_at: at, error: error ?? null })
          .where('id', '=', id)
          .where('ended_at', 'is', null)
          .returning('id'),
      );
    },
    async cancel(scope, id, at) {
      return hasRow(
        db
          .updateTable('tasks')
          .set({ status: 'cancelled', ended_at: at })
          .where('id', '=', id)
          .where(ownedBy(scope))
          .where('status', '=', 'pending')
          .returning('id'),
      );
    },
    async listFinishedBefore({ before, limit }) {
      return listIds(
        db.selectFrom('tasks').select('id').where('ended_at', '<', before).orderBy('ended_at').limit(limit),
      );
    },
    async remove(id) {
      await db.deleteFrom('tasks').where('id', '=', id).execute();
    },
  };
}

function applyFilter<T>(
  query: SelectQueryBuilder<Database, 'tasks', T>,
  { id, status, model, keyId, from, to }: TaskRecordFilter,
): SelectQueryBuilder<Database, 'tasks', T> {
  let narrowed = query;
  if (id !== undefined) narrowed = narrowed.where('id', '=', id);
  if (status !== undefined) narrowed = narrowed.where('status', '=', status);
  if (model !== undefined) narrowed = narrowed.where('model', '=', model);
  if (keyId !== undefined) narrowed = narrowed.where('key_id', '=', keyId);
  if (from !== undefined) narrowed = narrowed.where('submitted_at', '>=', from);
  if (to !== undefined) narrowed = narrowed.where('submitted_at', '<=', to);
  return narrowed;
}

const encode = ({ requestJson, ...record }: TaskRecord): TasksTable => ({ ...encodeRow(record), wish: requestJson });

const decode = ({ wish: requestJson, ...row }: Selectable<TasksTable>): TaskRecord => ({
  ...decodeRow(row),
  requestJson,
});
