import { JOB_KINDS, type JobKind, type JobRecord } from '../core/job.ts';
import {
  JOB_GRACE_MS,
  JOB_KEPT_MS,
  JOB_LEASE_MS,
  JOB_LOOK_MS,
  JOB_RENEW_MS,
  JOB_SWEEP_MS,
  JOB_SWEEP_PAGE_MAX,
  JOBS_AT_ONCE_DEFAULT,
  JOBS_CANCELLED_AT_ONCE,
  JOBS_PART_OF_OTHERS,
} from '../core/limits.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import { assert } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { every as systemEvery, type Every } from '../lib/every.ts';
import type { JobBell } from '../resources/jobs/job-bell.ts';
import type { JobCrowd, JobStore } from '../store/jobs.ts';
import { attempt } from './attempt.ts';
import type { JobHandlers } from './handler.ts';
import { holdLease, type JobLease } from './job-lease.ts';
import { createLooks } from './looks.ts';
import { createTrouble } from './trouble.ts';

/** In ms; what each is for stands in core/limits.ts. */
export interface JobTiming {
  readonly lookMs: number;
  readonly renewMs: number;
  readonly leaseMs: number;
  readonly graceMs: number;
}

const TIMING: JobTiming = {
  lookMs: JOB_LOOK_MS,
  renewMs: JOB_RENEW_MS,
  leaseMs: JOB_LEASE_MS,
  graceMs: JOB_GRACE_MS,
};

export interface JobWorkerNeeds {
  readonly jobs: JobStore;
  /** Jobs of other kinds are left to other processes. */
  readonly handlers: JobHandlers;
  readonly bell: Pick<JobBell, 'listen'>;
  /** Names this process, and no other one at any time. */
  readonly leaseOwner: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Pick<Meter, 'jobStarted'>;
  readonly every?: Every;
  readonly random?: () => number;
  readonly timing?: Partial<JobTiming> | undefined;
}

export interface JobWorker {
  /** Takes no more jobs from here on; those that run go on. */
  drain(): void;
  /** Stops what runs: it goes on elsewhere, or here later. Resolves when all is given back. */
  close(): Promise<void>;
}

interface Held {
  readonly job: JobRecord;
  readonly lease: JobLease;
  readonly ended: Promise<void>;
}

/** Runs jobs as they become due: from the first look, which comes at once, until it is closed. */
export function startJobWorker(needs: JobWorkerNeeds): JobWorker {
  const { jobs, handlers, bell, leaseOwner, clock, log, meter, every = systemEvery, random = Math.random } = needs;
  const timing = { ...TIMING, ...needs.timing };
  const held = new Map<string, Held>();
  const trouble = createTrouble(log);
  let isDraining = false;
  let isClosing = false;

  const hold = (job: JobRecord): void => {
    const { id, kind, subject } = job;
    const handler = handlers[kind];
    assert(handler, 'only jobs that have a handler are claimed');
    const startedAt = clock.monotonic();
    const lease = holdLease(job, { jobs, leaseOwner, leaseMs: timing.leaseMs, clock, log, onTrouble: trouble.begin });
    if (isClosing) lease.stop('shutdown');
    const count = meter.jobStarted(kind);
    const ended = attempt(job, { handler, lease, log, random }).then((state) => {
      held.delete(id);
      count(state);
      const ms = Math.round(clock.monotonic() - startedAt);
      log.info('an attempt at a job ended', { job: id, kind, subject, attempt: job.attempt, state, ms });
      looks.ring();
    });
    held.set(id, { job, lease, ended });
  };

  const claim = async (): Promise<JobRecord | undefined> => {
    const now = clock.now();
    const running = [...held.values()];
    const wish = {
      leaseOwner,
      leaseUntil: now + timing.leaseMs,
      now,
      ...roomFor(running, handlers),
      except: [...held.keys()],
    };
    const crowds = crowdsOf(running, handlers);
    if (crowds.length === 0) return await jobs.claim(wish);
    // Those come first of whom nothing runs here.
    const first = await jobs.claim({ ...wish, exceptOf: crowds });
    return first ?? (await jobs.claim({ ...wish, exceptOf: crowds.filter(({ isFull }) => isFull) }));
  };

  const stopCancelled = async (): Promise<void> => {
    for (const id of await jobs.cancelledAmong([...held.keys()])) held.get(id)?.lease.stop('cancelled');
  };

  const looks = createLooks(async () => {
    try {
      await stopCancelled();
      while (!isDraining) {
        const job = await claim();
        if (!job) break;
        hold(job);
      }
      trouble.end();
    } catch (error) {
      trouble.begin(error);
    }
  });

  const sweep = createLooks(async () => {
    try {
      const before = clock.now() - JOB_KEPT_MS;
      let removed = JOB_SWEEP_PAGE_MAX;
      while (!isDraining && removed === JOB_SWEEP_PAGE_MAX)
        removed = await jobs.removeEnded({ before, limit: JOB_SWEEP_PAGE_MAX });
    } catch (error) {
      trouble.begin(error);
    }
  });

  const beat = (): void => held.forEach(({ lease }) => lease.beat());
  const stopBeat = every(timing.renewMs, beat);
  const stops = [bell.listen(looks.ring), every(timing.lookMs, looks.ring), every(JOB_SWEEP_MS, sweep.ring)];
  looks.ring();
  sweep.ring();

  const drain = (): void => {
    isDraining = true;
  };
  return {
    drain,
    async close() {
      drain();
      isClosing = true;
      for (const stop of stops) stop();
      for (const { lease } of held.values()) lease.stop('shutdown');
      // A claim that is on its way may bring one more.
      const allEnded = looks.idle().then(() => Promise.all([...held.values()].map(({ ended }) => ended)));
      await within(timing.graceMs, every, Promise.all([allEnded, sweep.idle()]));
      for (const { job, lease } of held.values()) {
        log.warn('a job did not stop in time', { job: job.id, kind: job.kind, subject: job.subject });
        await lease.abandon();
      }
      stopBeat();
    },
  };
}

/** What may be claimed beside what is held. Jobs that are only ended, because they were cancelled, take no place of their kind. */
function roomFor(held: readonly Held[], handlers: JobHandlers): { kinds: JobKind[]; cancelledKinds: JobKind[] } {
  const served = JOB_KINDS.filter((kind) => handlers[kind]);
  const isFree = (kind: JobKind): boolean => {
    const running = held.filter(({ job }) => job.kind === kind && !job.isCancelled).length;
    return running < (handlers[kind]?.atOnce ?? JOBS_AT_ONCE_DEFAULT);
  };
  const ending = held.filter(({ job }) => job.isCancelled).length;
  const canEnd = ending < JOBS_CANCELLED_AT_ONCE;
  return { kinds: canEnd ? served.filter(isFree) : [], cancelledKinds: canEnd ? served : [] };
}

/** Of whom something runs here; `isFull`: the last places of the kind are for others. */
function crowdsOf(held: readonly Held[], handlers: JobHandlers): readonly (JobCrowd & { readonly isFull: boolean })[] {
  const counts = new Map<string, JobCrowd & { count: number }>();
  for (const { job } of held) {
    if (job.isCancelled) continue;
    const { kind, owner } = job;
    const name = JSON.stringify([kind, owner.region, owner.workspace]);
    const counted = counts.get(name) ?? { kind, region: owner.region, workspace: owner.workspace, count: 0 };
    counted.count += 1;
    counts.set(name, counted);
  }
  return [...counts.values()].map(({ count, ...crowd }) => {
    const atOnce = handlers[crowd.kind]?.atOnce ?? JOBS_AT_ONCE_DEFAULT;
    return { ...crowd, isFull: count >= atOnce - Math.floor(atOnce * JOBS_PART_OF_OTHERS) };
  });
}

async function within(ms: number, every: Every, work: Promise<unknown>): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const stop = every(ms, resolve);
  await Promise.race([work, over]);
  stop();
}
