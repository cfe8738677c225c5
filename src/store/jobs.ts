import type { Kysely, Selectable } from 'kysely';
import type { JobKind, JobProgress, JobRecord, JobState } from '../core/job.ts';
import type { RegionId } from '../core/region.ts';
import { findById } from './owned-by.ts';
import { hasRow, listIds } from './row-queries.ts';
import { decodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';
import type { JobsTable } from './schema/jobs.ts';

/** A job to be enqueued. */
export type NewJob = Pick<
  JobRecord,
  'id' | 'kind' | 'subject' | 'owner' | 'payload' | 'priority' | 'attemptsMax' | 'createdAt'
> & { readonly runAfter: number };

export interface JobListQuery {
  readonly kind?: JobKind | undefined;
  readonly state?: JobState | undefined;
  /** ID of the last job of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Jobs of one kind of a tenant (workspace and region). */
export interface TenantJobGroup {
  readonly kind: JobKind;
  readonly region: RegionId;
  readonly workspace: string;
}

export interface JobClaim {
  /** Name of the claiming process. */
  readonly leaseOwner: string;
  readonly leaseUntil: number;
  readonly now: number;
  readonly kinds: readonly JobKind[];
  /** Kinds from which only canceled jobs are claimed: such jobs only need to be ended. */
  readonly cancelledKinds?: readonly JobKind[];
  /** IDs of jobs that this process still works on, whatever their stored state. */
  readonly exceptIds?: readonly string[];
  /** Groups whose jobs are not claimed, unless they were canceled. */
  readonly exceptGroups?: readonly TenantJobGroup[];
}

interface JobRenewal {
  readonly leaseOwner: string;
  readonly leaseUntil: number;
  readonly progress?: JobProgress | undefined;
  readonly hasAdvanced?: boolean;
}

interface JobRelease {
  readonly leaseOwner: string;
  readonly dueAt: number;
  readonly error?: string | undefined;
  readonly progress?: JobProgress | undefined;
  readonly hasAdvanced?: boolean;
}

interface JobCompletion {
  readonly leaseOwner: string;
  readonly state: 'done' | 'failed' | 'cancelled';
  readonly at: number;
  readonly error?: string | undefined;
  readonly progress?: JobProgress | undefined;
}

/** Job queue. Changes by a process that lost the lease (`leaseOwner` differs) are ignored. */
export interface JobStore {
  /** Returns false if a job of this kind for the subject already exists, even if it has ended. */
  insert(job: NewJob): Promise<boolean>;
  /**
   * Inserts the job, or runs an existing job of the kind for the subject again: an ended job waits again, and a waiting
   * job becomes due at `runAfter` if that is earlier; both get all attempts and the new payload.
   *
   * A running job continues, and waits again instead of ending. No request is lost if it is written in the same
   * transaction and the handler reads it after the claim: a request before the claim is read by that run, and a request
   * after the claim turns the end of that run into another wait, in the same statement that would end it.
   */
  requeue(job: NewJob): Promise<void>;
  /**
   * Claims the next due job by priority, then by due time. Claiming a job of a dead process costs one attempt; if
   * `attemptsLeft` is not above 0, the job must be given up. A lease longer than twice the lease time was taken before
   * the clock was set back: it counts as expired, because it would otherwise last until the old time.
   */
  claim(request: JobClaim): Promise<JobRecord | undefined>;
  /** Extends the lease. `hasAdvanced` restores all attempts. Returns undefined if another process has the job. */
  renew(id: string, renewal: JobRenewal): Promise<{ readonly isCancelled: boolean } | undefined>;
  /**
   * Returns the job to the queue. An `error` costs one attempt, even with `hasAdvanced`. Undefined if the lease is
   * lost.
   */
  release(id: string, release: JobRelease): Promise<{ readonly isCancelled: boolean } | undefined>;
  /** Ends the job, or makes it wait again if it was requeued. Returns false if the lease is lost. */
  finish(id: string, completion: JobCompletion): Promise<boolean>;
  /** Lists the processes that have running jobs, including dead processes whose jobs were not claimed yet. */
  listLeaseOwners(): Promise<readonly string[]>;
  /** Ends the leases of a process, so that its jobs are due. @returns the number of jobs. */
  expireLeases(leaseOwner: string, at: number): Promise<number>;
  find(id: string): Promise<JobRecord | undefined>;
  findBySubject(kind: JobKind, subject: string): Promise<JobRecord | undefined>;
  /** Lists jobs, newest first. */
  list(page: JobListQuery): Promise<readonly JobRecord[]>;
  /** Returns those of the IDs whose jobs were canceled. */
  filterCancelled(ids: readonly string[]): Promise<readonly string[]>;
  /**
   * Marks the job as canceled; a waiting job becomes due at once, so that a worker ends it. Ended jobs do not change.
   */
  cancel(id: string, at: number): Promise<JobRecord | undefined>;
  /** Makes a waiting job due at once. Running jobs do not change. */
  wake(kind: JobKind, subject: string, at: number): Promise<void>;
  /** Removes the job in any state, because its subject was removed. */
  remove(kind: JobKind, subject: string): Promise<void>;
  /** @returns the number of removed jobs. */
  removeFinished(query: { before: number; limit: number }): Promise<number>;
}

/** Due jobs read per query. Concurrent processes race for them, and each usually gets one without another query. */
const CLAIM_CANDIDATES_MAX = 8;

export function createJobStore(db: Kysely<Database>): JobStore {
  return {
    insert: (job) => insertJob(db, job),
    requeue: (job) => requeueJob(db, job),
    claim: (request) => claimJob(db, request),
    renew: (id, renewal) => renewJob(db, id, renewal),
    release: (id, release) => releaseJob(db, id, release),
    finish: (id, completion) => finishJob(db, id, completion),
    listLeaseOwners: () => listLeaseOwners(db),
    expireLeases: (leaseOwner, at) => expireLeases(db, leaseOwner, at),
    find: (id) => findJob(db, id),
    findBySubject: (kind, subject) => findJobBySubject(db, kind, subject),
    list: (page) => listJobs(db, page),
    filterCancelled: (ids) => filterCancelledJobs(db, ids),
    cancel: (id, at) => cancelJob(db, id, at),
    wake: (kind, subject, at) => wakeJob(db, kind, subject, at),
    remove: (kind, subject) => removeJob(db, kind, subject),
    removeFinished: (query) => removeFinishedJobs(db, query),
  };
}

/** Updates a running job whose lease the process holds. */
const updateLeased = (db: Kysely<Database>, id: string, leaseOwner: string) =>
  db.updateTable('jobs').where('id', '=', id).where('state', '=', 'running').where('lease_owner', '=', leaseOwner);

async function insertJob(db: Kysely<Database>, job: NewJob): Promise<boolean> {
  return hasRow(
    db
      .insertInto('jobs')
      .values(encode(job))
      .onConflict((conflict) => conflict.columns(['kind', 'subject']).doNothing())
      .returning('id'),
  );
}

async function requeueJob(db: Kysely<Database>, job: NewJob): Promise<void> {
  await db
    .insertInto('jobs')
    .values(encode(job))
    .onConflict((conflict) =>
      conflict.columns(['kind', 'subject']).doUpdateSet(({ eb, ref }) => {
        const isRunning = eb('jobs.state', '=', 'running');
        const isEarlier = eb.and([eb('jobs.state', '=', 'waiting'), eb('jobs.due_at', '<', job.runAfter)]);
        return {
          state: eb.case().when(isRunning).then(ref('jobs.state')).else(ref('excluded.state')).end(),
          due_at: eb
            .case()
            .when(eb.or([isRunning, isEarlier]))
            .then(ref('jobs.due_at'))
            .else(ref('excluded.due_at'))
            .end(),
          again_at: eb.case().when(isRunning).then(ref('excluded.due_at')).else(ref('excluded.again_at')).end(),
          payload: ref('excluded.payload'),
          priority: ref('excluded.priority'),
          tries: ref('excluded.tries'),
          tries_left: ref('excluded.tries'),
          is_cancelled: 0,
          ended_at: null,
        };
      }),
    )
    .execute();
}

async function claimJob(db: Kysely<Database>, request: JobClaim): Promise<JobRecord | undefined> {
  for (;;) {
    const due = await listDue(db, request);
    for (const candidate of due) {
      const row = await claimCandidate(db, request, candidate);
      if (row) return decode(row);
    }
    // Other processes claimed all candidates first; more jobs may be due.
    if (due.length < CLAIM_CANDIDATES_MAX) return undefined;
  }
}

async function renewJob(
  db: Kysely<Database>,
  id: string,
  { leaseOwner, leaseUntil, progress, hasAdvanced = false }: JobRenewal,
): Promise<{ readonly isCancelled: boolean } | undefined> {
  const row = await updateLeased(db, id, leaseOwner)
    .set(({ ref }) => ({
      due_at: leaseUntil,
      ...encodeProgress(progress),
      ...(hasAdvanced ? { tries_left: ref('tries') } : {}),
    }))
    .returning('is_cancelled')
    .executeTakeFirst();
  return row && { isCancelled: row.is_cancelled === 1 };
}

async function releaseJob(
  db: Kysely<Database>,
  id: string,
  { leaseOwner, dueAt, error, progress, hasAdvanced = false }: JobRelease,
): Promise<{ readonly isCancelled: boolean } | undefined> {
  const row = await updateLeased(db, id, leaseOwner)
    .set(({ eb, fn, val }) => ({
      state: 'waiting',
      lease_owner: null,
      due_at: fn.coalesce('again_at', val(dueAt)),
      again_at: null,
      tries_left: eb(hasAdvanced ? 'tries' : 'tries_left', '-', error === undefined ? 0 : 1),
      ...encodeProgress(progress),
      ...(error === undefined ? {} : { error }),
    }))
    .returning('is_cancelled')
    .executeTakeFirst();
  return row && { isCancelled: row.is_cancelled === 1 };
}

async function finishJob(
  db: Kysely<Database>,
  id: string,
  { leaseOwner, state, at, error, progress }: JobCompletion,
): Promise<boolean> {
  const row = await updateLeased(db, id, leaseOwner)
    .set(({ eb, ref }) => {
      const isFinished = eb('again_at', 'is', null);
      return {
        state: eb
          .case()
          .when(isFinished)
          .then(state)
          .else('waiting' as const)
          .end(),
        lease_owner: null,
        due_at: ref('again_at'),
        again_at: null,
        ended_at: eb.case().when(isFinished).then(at).else(ref('ended_at')).end(),
        ...encodeProgress(progress),
        ...(error === undefined ? {} : { error }),
      };
    })
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

async function listLeaseOwners(db: Kysely<Database>): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('jobs')
    .select('lease_owner')
    .distinct()
    .where('state', '=', 'running')
    .where('lease_owner', 'is not', null)
    .execute();
  return rows.flatMap(({ lease_owner: owner }) => (owner === null ? [] : [owner]));
}

async function expireLeases(db: Kysely<Database>, leaseOwner: string, at: number): Promise<number> {
  const rows = await db
    .updateTable('jobs')
    .set({ due_at: at })
    .where('state', '=', 'running')
    .where('lease_owner', '=', leaseOwner)
    .where('due_at', '>', at)
    .returning('id')
    .execute();
  return rows.length;
}

async function findJob(db: Kysely<Database>, id: string): Promise<JobRecord | undefined> {
  const row = await findById(db, 'jobs', id);
  return row && decode(row);
}

async function findJobBySubject(db: Kysely<Database>, kind: JobKind, subject: string): Promise<JobRecord | undefined> {
  const row = await db
    .selectFrom('jobs')
    .selectAll()
    .where('kind', '=', kind)
    .where('subject', '=', subject)
    .executeTakeFirst();
  return row && decode(row);
}

async function listJobs(
  db: Kysely<Database>,
  { kind, state, after, limit }: JobListQuery,
): Promise<readonly JobRecord[]> {
  let query = db.selectFrom('jobs').selectAll().orderBy('id', 'desc').limit(limit);
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (state !== undefined) query = query.where('state', '=', state);
  if (after !== undefined) query = query.where('id', '<', after);
  return (await query.execute()).map(decode);
}

async function filterCancelledJobs(db: Kysely<Database>, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  return listIds(
    db
      .selectFrom('jobs')
      .select('id')
      .where('id', 'in', [...ids])
      .where('is_cancelled', '=', 1),
  );
}

async function cancelJob(db: Kysely<Database>, id: string, at: number): Promise<JobRecord | undefined> {
  await db
    .updateTable('jobs')
    .set(({ eb }) => ({
      is_cancelled: 1,
      // A job that is already due keeps its position in the queue.
      due_at: eb
        .case()
        .when(eb.and([eb('state', '=', 'waiting'), eb('due_at', '>', at)]))
        .then(at)
        .else(eb.ref('due_at'))
        .end(),
    }))
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
  const row = await findById(db, 'jobs', id);
  return row && decode(row);
}

async function wakeJob(db: Kysely<Database>, kind: JobKind, subject: string, at: number): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ due_at: at })
    .where('kind', '=', kind)
    .where('subject', '=', subject)
    .where('state', '=', 'waiting')
    .where('due_at', '>', at)
    .execute();
}

async function removeJob(db: Kysely<Database>, kind: JobKind, subject: string): Promise<void> {
  await db.deleteFrom('jobs').where('kind', '=', kind).where('subject', '=', subject).execute();
}

async function removeFinishedJobs(
  db: Kysely<Database>,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  const ended = db.selectFrom('jobs').select('id').where('ended_at', '<', before).limit(limit);
  const rows = await db.deleteFrom('jobs').where('id', 'in', ended).returning('id').execute();
  return rows.length;
}

type Candidate = Pick<Selectable<JobsTable>, 'id' | 'due_at' | 'attempt' | 'state'>;

async function listDue(
  db: Kysely<Database>,
  { now, leaseUntil, kinds, cancelledKinds = [], exceptIds = [], exceptGroups = [] }: JobClaim,
): Promise<readonly Candidate[]> {
  if (kinds.length + cancelledKinds.length === 0) return [];
  let query = db
    .selectFrom('jobs')
    .select(['id', 'due_at', 'attempt', 'state'])
    .where('due_at', 'is not', null)
    .where((eb) =>
      eb.or([
        eb('due_at', '<=', now),
        eb.and([eb('state', '=', 'running'), eb('due_at', '>', now + 2 * (leaseUntil - now))]),
      ]),
    )
    .where((eb) => {
      const isClaimable = eb.or([
        ...(kinds.length === 0 ? [] : [eb('kind', 'in', [...kinds])]),
        ...(cancelledKinds.length === 0
          ? []
          : [eb.and([eb('is_cancelled', '=', 1), eb('kind', 'in', [...cancelledKinds])])]),
      ]);
      // As a CASE value: as a plain condition, SQLite would look up and sort all jobs of these kinds instead of reading
      // in order.
      return eb(eb.case().when(isClaimable).then(1).else(0).end(), '=', 1);
    })
    .orderBy('priority')
    .orderBy('due_at')
    .orderBy('id')
    .limit(CLAIM_CANDIDATES_MAX);
  if (exceptIds.length > 0) query = query.where('id', 'not in', [...exceptIds]);
  for (const { kind, region, workspace } of exceptGroups) {
    query = query.where((eb) =>
      eb.or([
        eb('kind', '<>', kind),
        eb('workspace', '<>', workspace),
        eb('region', '<>', region),
        eb('is_cancelled', '=', 1),
      ]),
    );
  }
  return await query.execute();
}

/** Claims a candidate; undefined if another process changed it since it was read. */
const claimCandidate = (db: Kysely<Database>, { leaseOwner, leaseUntil, now }: JobClaim, candidate: Candidate) =>
  db
    .updateTable('jobs')
    .set(({ eb, fn, val }) => ({
      state: 'running',
      lease_owner: leaseOwner,
      due_at: leaseUntil,
      attempt: candidate.attempt + 1,
      started_at: fn.coalesce('started_at', val(now)),
      again_at: null,
      // The job was running, so its process died.
      ...(candidate.state === 'running' ? { tries_left: eb('tries_left', '-', 1) } : {}),
    }))
    .where('id', '=', candidate.id)
    .where('due_at', '=', candidate.due_at)
    .where('attempt', '=', candidate.attempt)
    .where('state', '=', candidate.state)
    .returningAll()
    .executeTakeFirst();

const encodeProgress = (progress: JobProgress | undefined) => (progress ? { progress: JSON.stringify(progress) } : {});

const encode = (job: NewJob): JobsTable => ({
  id: job.id,
  kind: job.kind,
  subject: job.subject,
  region: job.owner.region,
  workspace: job.owner.workspace,
  key_id: job.owner.keyId,
  payload: JSON.stringify(job.payload),
  state: 'waiting',
  priority: job.priority,
  attempt: 0,
  tries: job.attemptsMax,
  tries_left: job.attemptsMax,
  due_at: job.runAfter,
  lease_owner: null,
  again_at: null,
  is_cancelled: 0,
  progress: null,
  error: null,
  created_at: job.createdAt,
  started_at: null,
  ended_at: null,
});

const decode = ({
  kind,
  region,
  workspace,
  key_id: keyId,
  payload,
  tries: attemptsMax,
  tries_left: attemptsLeft,
  is_cancelled: isCancelled,
  progress,
  again_at: _againAt,
  ...row
}: Selectable<JobsTable>): JobRecord => ({
  ...decodeRow(row),
  kind: kind as JobKind,
  owner: { region, workspace, keyId },
  payload: JSON.parse(payload) as JobRecord['payload'],
  attemptsMax,
  attemptsLeft,
  isCancelled: isCancelled === 1,
  progress: progress === null ? undefined : (JSON.parse(progress) as JobProgress),
});
