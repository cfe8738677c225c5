import type { Kysely, Selectable } from 'kysely';
import type { JobKind, JobProgress, JobRecord, JobState } from '../core/job.ts';
import type { RegionId } from '../core/region.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';
import type { JobsTable } from './schema/jobs.ts';

/** As it is put into the queue. */
export type NewJob = Pick<
  JobRecord,
  'id' | 'kind' | 'subject' | 'owner' | 'payload' | 'priority' | 'tries' | 'createdAt'
> & { readonly runAfter: number };

export interface JobPage {
  readonly kind?: JobKind | undefined;
  readonly state?: JobState | undefined;
  /** The last id of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** The jobs of a kind in a workspace and region. */
export interface JobCrowd {
  readonly kind: JobKind;
  readonly region: RegionId;
  readonly workspace: string;
}

export interface JobClaim {
  /** Names the process. */
  readonly leaseOwner: string;
  readonly leaseUntil: number;
  readonly now: number;
  readonly kinds: readonly JobKind[];
  /** Also of these kinds, those that were cancelled: there is nothing left to do but to end them. */
  readonly cancelledKinds?: readonly JobKind[];
  /** Ids of jobs that this process still has to do with, whatever the store says of them. */
  readonly except?: readonly string[];
  /** Whose jobs of a kind are left for later, unless they were cancelled. */
  readonly exceptOf?: readonly JobCrowd[];
}

/** Whoever runs a job says so with `leaseOwner`; when another one has it by now, nothing is changed. */
export interface JobStore {
  /** False where its kind has a job for the subject already, also one that has ended. */
  insert(job: NewJob): Promise<boolean>;
  /**
   * As `insert`; and where its kind has a job for the subject already, that one is wanted once more: one that has ended
   * waits again, one that waits for later is due at `runAfter`, both with all of their tries and the new payload.
   *
   * One that runs goes on, and waits again instead of ending. That loses no wish, if the wish is written in the same
   * transaction and whoever runs the job reads it after the claim: a wish before the claim is read, and one after it is
   * what turns the end into another wait, in the statement that would end it.
   */
  requeue(job: NewJob): Promise<void>;
  /**
   * The job whose turn it is: by priority, then by the time it is due. One whose process died has lost a try by that; where
   * `triesLeft` is not above 0, it has to be given up. A lease of more than twice the length was taken before the clock was
   * set back, and counts for nothing: it would hold until then.
   */
  claim(claim: JobClaim): Promise<JobRecord | undefined>;
  /** A sign of life. `hasMoved`: it gets all of its tries again. Undefined when another one has it. */
  renew(
    id: string,
    wish: { leaseOwner: string; leaseUntil: number; progress?: JobProgress | undefined; hasMoved?: boolean },
  ): Promise<{ readonly isCancelled: boolean } | undefined>;
  /** Back into the queue. With an `error` that costs a try, also where it `hasMoved`. Undefined when another one has it. */
  release(
    id: string,
    wish: {
      leaseOwner: string;
      dueAt: number;
      error?: string | undefined;
      progress?: JobProgress | undefined;
      hasMoved?: boolean;
    },
  ): Promise<{ readonly isCancelled: boolean } | undefined>;
  /** False when another one has it. One that is wanted once more (`requeue`) waits again instead. */
  end(
    id: string,
    wish: {
      leaseOwner: string;
      state: 'done' | 'failed' | 'cancelled';
      at: number;
      error?: string | undefined;
      progress?: JobProgress | undefined;
    },
  ): Promise<boolean>;
  /** Those that work at jobs, or did when they were last heard of. */
  leaseOwners(): Promise<readonly string[]>;
  /** What that one works at is due, as when its lease is over. @returns how many jobs. */
  expire(leaseOwner: string, at: number): Promise<number>;
  find(id: string): Promise<JobRecord | undefined>;
  findBySubject(kind: JobKind, subject: string): Promise<JobRecord | undefined>;
  /** The newest first. */
  list(page: JobPage): Promise<readonly JobRecord[]>;
  /** Those among them that were cancelled. */
  cancelledAmong(ids: readonly string[]): Promise<readonly string[]>;
  /** Marks it; one that waits is due at once, so that somebody ends it. Of no effect on one that has ended. */
  cancel(id: string, at: number): Promise<JobRecord | undefined>;
  /** One that waits for later is due at once. Of no effect on one that runs. */
  wake(kind: JobKind, subject: string, at: number): Promise<void>;
  /** In whatever state: its subject is gone. */
  remove(kind: JobKind, subject: string): Promise<void>;
  /** @returns how many. */
  removeEnded(wish: { before: number; limit: number }): Promise<number>;
}

/** So many that are due are tried for before the next look: of several processes each gets one of them. */
const CANDIDATES = 8;

export function createJobStore(db: Kysely<Database>, run: Run): JobStore {
  const find = async (id: string) => await db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst();
  const held = (id: string, leaseOwner: string) =>
    db.updateTable('jobs').where('id', '=', id).where('state', '=', 'running').where('lease_owner', '=', leaseOwner);

  return {
    insert: (job) =>
      run(async () => {
        const row = await db
          .insertInto('jobs')
          .values(encode(job))
          .onConflict((conflict) => conflict.columns(['kind', 'subject']).doNothing())
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    requeue: (job) =>
      run(async () => {
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
      }),
    claim: (wish) =>
      run(async () => {
        for (;;) {
          const due = await listDue(db, wish);
          for (const each of due) {
            const row = await take(db, wish, each);
            if (row) return decode(row);
          }
          // All of them went to others, who were faster: there may be more.
          if (due.length < CANDIDATES) return undefined;
        }
      }),
    renew: (id, { leaseOwner, leaseUntil, progress, hasMoved = false }) =>
      run(async () => {
        const row = await held(id, leaseOwner)
          .set(({ ref }) => ({
            due_at: leaseUntil,
            ...told(progress),
            ...(hasMoved ? { tries_left: ref('tries') } : {}),
          }))
          .returning('is_cancelled')
          .executeTakeFirst();
        return row && { isCancelled: row.is_cancelled === 1 };
      }),
    release: (id, { leaseOwner, dueAt, error, progress, hasMoved = false }) =>
      run(async () => {
        const row = await held(id, leaseOwner)
          .set(({ eb, fn, val }) => ({
            state: 'waiting',
            lease_owner: null,
            due_at: fn.coalesce('again_at', val(dueAt)),
            again_at: null,
            tries_left: eb(hasMoved ? 'tries' : 'tries_left', '-', error === undefined ? 0 : 1),
            ...told(progress),
            ...(error === undefined ? {} : { error }),
          }))
          .returning('is_cancelled')
          .executeTakeFirst();
        return row && { isCancelled: row.is_cancelled === 1 };
      }),
    end: (id, { leaseOwner, state, at, error, progress }) =>
      run(async () => {
        const row = await held(id, leaseOwner)
          .set(({ eb, ref }) => {
            const isOver = eb('again_at', 'is', null);
            return {
              state: eb
                .case()
                .when(isOver)
                .then(state)
                .else('waiting' as const)
                .end(),
              lease_owner: null,
              due_at: ref('again_at'),
              again_at: null,
              ended_at: eb.case().when(isOver).then(at).else(ref('ended_at')).end(),
              ...told(progress),
              ...(error === undefined ? {} : { error }),
            };
          })
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    leaseOwners: () =>
      run(async () => {
        const rows = await db
          .selectFrom('jobs')
          .select('lease_owner')
          .distinct()
          .where('state', '=', 'running')
          .where('lease_owner', 'is not', null)
          .execute();
        return rows.flatMap(({ lease_owner: owner }) => (owner === null ? [] : [owner]));
      }),
    expire: (leaseOwner, at) =>
      run(async () => {
        const rows = await db
          .updateTable('jobs')
          .set({ due_at: at })
          .where('state', '=', 'running')
          .where('lease_owner', '=', leaseOwner)
          .where('due_at', '>', at)
          .returning('id')
          .execute();
        return rows.length;
      }),
    find: (id) =>
      run(async () => {
        const row = await find(id);
        return row && decode(row);
      }),
    findBySubject: (kind, subject) =>
      run(async () => {
        const row = await db
          .selectFrom('jobs')
          .selectAll()
          .where('kind', '=', kind)
          .where('subject', '=', subject)
          .executeTakeFirst();
        return row && decode(row);
      }),
    list: ({ kind, state, after, limit }) =>
      run(async () => {
        let query = db.selectFrom('jobs').selectAll().orderBy('id', 'desc').limit(limit);
        if (kind !== undefined) query = query.where('kind', '=', kind);
        if (state !== undefined) query = query.where('state', '=', state);
        if (after !== undefined) query = query.where('id', '<', after);
        return (await query.execute()).map(decode);
      }),
    cancelledAmong: (ids) =>
      run(async () => {
        if (ids.length === 0) return [];
        const rows = await db
          .selectFrom('jobs')
          .select('id')
          .where('id', 'in', [...ids])
          .where('is_cancelled', '=', 1)
          .execute();
        return rows.map(({ id }) => id);
      }),
    cancel: (id, at) =>
      run(async () => {
        await db
          .updateTable('jobs')
          .set(({ eb }) => ({
            is_cancelled: 1,
            // One that is due already keeps its place.
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
        const row = await find(id);
        return row && decode(row);
      }),
    wake: (kind, subject, at) =>
      run(async () => {
        await db
          .updateTable('jobs')
          .set({ due_at: at })
          .where('kind', '=', kind)
          .where('subject', '=', subject)
          .where('state', '=', 'waiting')
          .where('due_at', '>', at)
          .execute();
      }),
    remove: (kind, subject) =>
      run(async () => {
        await db.deleteFrom('jobs').where('kind', '=', kind).where('subject', '=', subject).execute();
      }),
    removeEnded: ({ before, limit }) =>
      run(async () => {
        const ended = db.selectFrom('jobs').select('id').where('ended_at', '<', before).limit(limit);
        const rows = await db.deleteFrom('jobs').where('id', 'in', ended).returning('id').execute();
        return rows.length;
      }),
  };
}

type Candidate = Pick<Selectable<JobsTable>, 'id' | 'due_at' | 'attempt' | 'state'>;

async function listDue(
  db: Kysely<Database>,
  { now, leaseUntil, kinds, cancelledKinds = [], except = [], exceptOf = [] }: JobClaim,
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
      const wanted = eb.or([
        ...(kinds.length === 0 ? [] : [eb('kind', 'in', [...kinds])]),
        ...(cancelledKinds.length === 0
          ? []
          : [eb.and([eb('is_cancelled', '=', 1), eb('kind', 'in', [...cancelledKinds])])]),
      ]);
      // As a value: as a condition SQLite would look all jobs of these kinds up by it, and sort them, instead of reading in order.
      return eb(eb.case().when(wanted).then(1).else(0).end(), '=', 1);
    })
    .orderBy('priority')
    .orderBy('due_at')
    .orderBy('id')
    .limit(CANDIDATES);
  if (except.length > 0) query = query.where('id', 'not in', [...except]);
  for (const { kind, region, workspace } of exceptOf) {
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

/** Undefined where it is not as it was seen: another one was faster. */
const take = (db: Kysely<Database>, { leaseOwner, leaseUntil, now }: JobClaim, seen: Candidate) =>
  db
    .updateTable('jobs')
    .set(({ eb, fn, val }) => ({
      state: 'running',
      lease_owner: leaseOwner,
      due_at: leaseUntil,
      attempt: seen.attempt + 1,
      started_at: fn.coalesce('started_at', val(now)),
      again_at: null,
      // It was running: its process is dead.
      ...(seen.state === 'running' ? { tries_left: eb('tries_left', '-', 1) } : {}),
    }))
    .where('id', '=', seen.id)
    .where('due_at', '=', seen.due_at)
    .where('attempt', '=', seen.attempt)
    .where('state', '=', seen.state)
    .returningAll()
    .executeTakeFirst();

const told = (progress: JobProgress | undefined) => (progress ? { progress: JSON.stringify(progress) } : {});

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
  tries: job.tries,
  tries_left: job.tries,
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

const decode = (row: Selectable<JobsTable>): JobRecord => ({
  id: row.id,
  kind: row.kind as JobKind,
  subject: row.subject,
  owner: { region: row.region, workspace: row.workspace, keyId: row.key_id },
  payload: JSON.parse(row.payload) as JobRecord['payload'],
  state: row.state,
  priority: row.priority,
  attempt: row.attempt,
  tries: row.tries,
  triesLeft: row.tries_left,
  dueAt: row.due_at ?? undefined,
  leaseOwner: row.lease_owner ?? undefined,
  isCancelled: row.is_cancelled === 1,
  progress: row.progress === null ? undefined : (JSON.parse(row.progress) as JobProgress),
  error: row.error ?? undefined,
  createdAt: row.created_at,
  startedAt: row.started_at ?? undefined,
  endedAt: row.ended_at ?? undefined,
});
