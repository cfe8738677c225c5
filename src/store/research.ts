import type { Kysely, Selectable } from 'kysely';
import type { Owner } from '../core/context.ts';
import type { TenantScope } from './tenant-scope.ts';
import { findById, ownedBy } from './owned-by.ts';
import { hasRow, listIds, readCount } from './row-queries.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';
import type { ResearchRunsTable } from './schema/research.ts';

/** Metadata of a deep-research run, without its request. Times are UTC milliseconds. */
export interface ResearchRunSummary extends Owner {
  readonly id: string;
  readonly requestFingerprint: string;
  readonly state: ResearchRunsTable['state'];
  /** Number of the job attempt that owns the run; 0 before the first. */
  readonly attempt: number;
  /** Number of the last stored step; -1 without steps. */
  readonly lastStep: number;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  /** Last time a reader polled the run. */
  readonly readAt: number;
  /** Whether a reader has received the end. */
  readonly isDelivered: boolean;
  readonly endedAt: number | undefined;
  /** JSON of the error of a failed run. */
  readonly error: string | undefined;
}

export interface ResearchRunRecord extends ResearchRunSummary {
  /** JSON of the request. */
  readonly body: string;
}

export interface ResearchRunCompletion {
  readonly state: 'done' | 'failed' | 'cancelled';
  readonly at: number;
  /** Attempt that ends the run; ignored unless it owns the run. Undefined: whichever attempt owns it. */
  readonly attempt?: number | undefined;
  /** Ends the run only if no reader polled it since this time. */
  readonly unreadSince?: number | undefined;
  readonly error?: string | undefined;
}

/** Deep-research runs and their steps. A change of an ended or missing run does nothing and returns false. */
export interface ResearchStore {
  /** Returns false if the key has an unfinished run with the same fingerprint. */
  insert(record: ResearchRunRecord): Promise<boolean>;
  findSummary(id: string): Promise<ResearchRunSummary | undefined>;
  find(id: string): Promise<ResearchRunRecord | undefined>;
  /** Finds the key's unfinished run with the fingerprint, else its newest ended one. */
  findByFingerprint(owner: Owner, fingerprint: string): Promise<ResearchRunSummary | undefined>;
  /** Counts the unfinished runs of a key or of a tenant. */
  countUnfinished(owner: { readonly keyId: string } | TenantScope): Promise<number>;
  /** Takes the run over with this attempt; older attempts can no longer change it. */
  start(id: string, options: { readonly attempt: number; readonly at: number }): Promise<boolean>;
  /**
   * Requires a transaction. Also returns false if another attempt owns the run or `number` does not follow the last
   * step.
   */
  appendStep(
    id: string,
    step: { readonly attempt: number; readonly number: number; readonly json: string },
  ): Promise<boolean>;
  /** Also returns false if the run does not meet the conditions of `end`. */
  finish(id: string, end: ResearchRunCompletion): Promise<boolean>;
  /** Records that a reader polled the run, also an ended one. */
  recordRead(id: string, at: number): Promise<void>;
  markDelivered(id: string): Promise<void>;
  /** Returns the JSON of the steps from number `from` on. */
  listSteps(id: string, page: { readonly from: number; readonly limit: number }): Promise<readonly string[]>;
  /** Lists unfinished runs last polled before `before`. */
  listUnread(query: { readonly before: number; readonly limit: number }): Promise<readonly string[]>;
  /** Lists runs that ended, and were last polled, before `before`. */
  listFinishedBefore(query: { readonly before: number; readonly limit: number }): Promise<readonly string[]>;
  /** Removes the run and its steps. Requires a transaction. */
  remove(id: string): Promise<void>;
}

const SUMMARY_COLUMNS = [
  'id',
  'region',
  'workspace',
  'key_id',
  'likeness',
  'state',
  'attempt',
  'last_step',
  'created_at',
  'started_at',
  'read_at',
  'delivered',
  'ended_at',
  'error',
] as const;

export function createResearchStore(db: Kysely<Database>): ResearchStore {
  const updateUnfinished = (id: string) =>
    db.updateTable('research_runs').where('id', '=', id).where('ended_at', 'is', null).returning('id');

  return {
    async insert(record) {
      return hasRow(
        db
          .insertInto('research_runs')
          .values(encode(record))
          .onConflict((conflict) => conflict.doNothing())
          .returning('id'),
      );
    },
    async findSummary(id) {
      const row = await db.selectFrom('research_runs').select(SUMMARY_COLUMNS).where('id', '=', id).executeTakeFirst();
      return row && decodeSummary(row);
    },
    async find(id) {
      const row = await findById(db, 'research_runs', id);
      if (!row) return undefined;
      const { body, ...summary } = row;
      return { ...decodeSummary(summary), body };
    },
    async findByFingerprint(owner, fingerprint) {
      const row = await db
        .selectFrom('research_runs')
        .select(SUMMARY_COLUMNS)
        .where(ownedBy(owner))
        .where('key_id', '=', owner.keyId)
        .where('likeness', '=', fingerprint)
        // Unfinished runs first: creation times alone are unreliable if the clock was set back.
        .orderBy(({ eb }) => eb.case().when('ended_at', 'is', null).then(0).else(1).end())
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst();
      return row && decodeSummary(row);
    },
    async countUnfinished(owner) {
      let query = db
        .selectFrom('research_runs')
        .select(({ fn }) => fn.countAll().as('count'))
        .where('ended_at', 'is', null);
      query = 'keyId' in owner ? query.where('key_id', '=', owner.keyId) : query.where(ownedBy(owner));
      return readCount(query);
    },
    async start(id, { attempt, at }) {
      return hasRow(
        updateUnfinished(id)
          .set(({ fn, val }) => ({ state: 'running', attempt, started_at: fn.coalesce('started_at', val(at)) }))
          .where('attempt', '<', attempt),
      );
    },
    async appendStep(id, { attempt, number, json }) {
      const row = await updateUnfinished(id)
        .set({ last_step: number })
        .where('attempt', '=', attempt)
        .where('last_step', '=', number - 1)
        .executeTakeFirst();
      if (!row) return false;
      await db.insertInto('research_steps').values({ run_id: id, number, json }).execute();
      return true;
    },
    async finish(id, { state, at, attempt, unreadSince, error }) {
      let update = updateUnfinished(id).set({ state, ended_at: at, error: error ?? null });
      if (attempt !== undefined) update = update.where('attempt', '=', attempt);
      if (unreadSince !== undefined) update = update.where('read_at', '<', unreadSince);
      return hasRow(update);
    },
    async recordRead(id, at) {
      await db
        .updateTable('research_runs')
        .set({ read_at: at })
        .where('id', '=', id)
        .where('read_at', '<', at)
        .execute();
    },
    async markDelivered(id) {
      await db.updateTable('research_runs').set({ delivered: 1 }).where('id', '=', id).execute();
    },
    async listSteps(id, { from, limit }) {
      const rows = await db
        .selectFrom('research_steps')
        .select('json')
        .where('run_id', '=', id)
        .where('number', '>=', from)
        .orderBy('number')
        .limit(limit)
        .execute();
      return rows.map(({ json }) => json);
    },
    async listUnread({ before, limit }) {
      return listIds(
        db
          .selectFrom('research_runs')
          .select('id')
          .where('ended_at', 'is', null)
          .where('read_at', '<', before)
          .orderBy('read_at')
          .limit(limit),
      );
    },
    async listFinishedBefore({ before, limit }) {
      return listIds(
        db
          .selectFrom('research_runs')
          .select('id')
          .where('ended_at', '<', before)
          .where('read_at', '<', before)
          .orderBy('ended_at')
          .limit(limit),
      );
    },
    async remove(id) {
      await db.deleteFrom('research_steps').where('run_id', '=', id).execute();
      await db.deleteFrom('research_runs').where('id', '=', id).execute();
    },
  };
}

const encode = ({ requestFingerprint, isDelivered, ...record }: ResearchRunRecord): ResearchRunsTable => ({
  ...encodeRow(record),
  likeness: requestFingerprint,
  delivered: isDelivered ? 1 : 0,
});

const decodeSummary = ({
  likeness,
  delivered,
  ...row
}: Omit<Selectable<ResearchRunsTable>, 'body'>): ResearchRunSummary => ({
  ...decodeRow(row),
  requestFingerprint: likeness,
  isDelivered: delivered === 1,
});
