import { JOB_KINDS, type JobKind, type JobRecord } from '../core/job.ts';
import { JOB_RETENTION_MS } from '../core/limits.ts';
import {
  JOB_GRACE_MS,
  JOB_LEASE_MS,
  JOB_POLL_MS,
  JOB_LEASE_RENEW_MS,
  JOB_CLEANUP_INTERVAL_MS,
  JOB_CLEANUP_PAGE_MAX,
  JOB_CONCURRENCY_DEFAULT,
  JOB_CANCEL_CONCURRENCY,
  JOB_OTHER_WORKSPACES_SHARE,
} from './limits.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import { assert } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { startInterval as systemStartInterval, type StartInterval } from '../lib/start-interval.ts';
import type { JobNotifier } from '../resources/jobs/job-notifier.ts';
import type { TenantJobGroup, JobStore } from '../store/jobs.ts';
import { runAttempt } from './run-attempt.ts';
import type { JobHandlers } from './handler.ts';
import { createJobLease, type JobLease } from './job-lease.ts';
import { createCoalescedPoll } from './coalesced-poll.ts';
import { createOutageLog } from './outage-log.ts';

/** Intervals in ms; src/jobs/limits.ts explains each. */
export interface JobTiming {
  readonly pollMs: number;
  readonly renewMs: number;
  readonly leaseMs: number;
  readonly graceMs: number;
}

const DEFAULT_TIMING: JobTiming = {
  pollMs: JOB_POLL_MS,
  renewMs: JOB_LEASE_RENEW_MS,
  leaseMs: JOB_LEASE_MS,
  graceMs: JOB_GRACE_MS,
};

export interface JobWorkerDeps {
  readonly jobs: JobStore;
  /** Jobs of kinds without a handler are left to other processes. */
  readonly handlers: JobHandlers;
  readonly notifier: Pick<JobNotifier, 'subscribe'>;
  /** Name of this process; must be unique among all processes, past and present. */
  readonly leaseOwner: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Pick<Meter, 'trackJob'>;
  readonly startInterval?: StartInterval;
  readonly random?: () => number;
  readonly timing?: Partial<JobTiming> | undefined;
}

export interface JobWorker {
  /** Stops claiming jobs; running jobs continue. */
  drain(): void;
  /** Stops running jobs: they continue elsewhere or later. Resolves when all are back in the queue. */
  close(): Promise<void>;
}

/** A job that this process runs. */
interface ActiveJob {
  readonly job: JobRecord;
  readonly lease: JobLease;
  readonly finished: Promise<void>;
}

/** Claims and runs due jobs, immediately and then at every poll, until closed. */
export function startJobWorker(deps: JobWorkerDeps): JobWorker {
  const {
    jobs,
    handlers,
    notifier,
    leaseOwner,
    clock,
    log,
    meter,
    startInterval = systemStartInterval,
    random = Math.random,
  } = deps;
  const timing = { ...DEFAULT_TIMING, ...deps.timing };
  const activeJobs = new Map<string, ActiveJob>();
  const outageLog = createOutageLog(log);
  let isDraining = false;
  let isClosing = false;

  const startAttempt = (job: JobRecord): void => {
    const { id, kind, subject } = job;
    const handler = handlers[kind];
    assert(handler, 'only jobs with a handler are claimed');
    const startedAt = clock.monotonic();
    const lease = createJobLease(job, {
      jobs,
      leaseOwner,
      leaseMs: timing.leaseMs,
      clock,
      log,
      onOutage: outageLog.reportFailure,
    });
    if (isClosing) lease.stop('shutdown');
    const countAttempt = meter.trackJob(kind);
    const finished = runAttempt(job, { handler, lease, log, random }).then((state) => {
      activeJobs.delete(id);
      countAttempt(state);
      const ms = Math.round(clock.monotonic() - startedAt);
      log.info('job attempt finished', { job: id, kind, subject, attempt: job.attempt, state, ms });
      claimPoll.trigger();
    });
    activeJobs.set(id, { job, lease, finished: finished });
  };

  const claim = async (): Promise<JobRecord | undefined> => {
    const now = clock.now();
    const running = [...activeJobs.values()];
    const request = {
      leaseOwner,
      leaseUntil: now + timing.leaseMs,
      now,
      ...findClaimableKinds(running, handlers),
      exceptIds: [...activeJobs.keys()],
    };
    const groups = groupByTenant(running, handlers);
    if (groups.length === 0) return await jobs.claim(request);
    // Tenants without a running job come first.
    const first = await jobs.claim({ ...request, exceptGroups: groups });
    return first ?? (await jobs.claim({ ...request, exceptGroups: groups.filter(({ isFull }) => isFull) }));
  };

  const stopCancelled = async (): Promise<void> => {
    for (const id of await jobs.filterCancelled([...activeJobs.keys()])) activeJobs.get(id)?.lease.stop('cancelled');
  };

  const claimPoll = createCoalescedPoll(async () => {
    try {
      await stopCancelled();
      while (!isDraining) {
        const job = await claim();
        if (!job) break;
        startAttempt(job);
      }
      outageLog.reportSuccess();
    } catch (error) {
      outageLog.reportFailure(error);
    }
  });

  const retentionPoll = createCoalescedPoll(async () => {
    try {
      const before = clock.now() - JOB_RETENTION_MS;
      let removed = JOB_CLEANUP_PAGE_MAX;
      while (!isDraining && removed === JOB_CLEANUP_PAGE_MAX)
        removed = await jobs.removeFinished({ before, limit: JOB_CLEANUP_PAGE_MAX });
    } catch (error) {
      outageLog.reportFailure(error);
    }
  });

  const sendHeartbeats = (): void => activeJobs.forEach(({ lease }) => lease.heartbeat());
  const stopHeartbeats = startInterval(timing.renewMs, sendHeartbeats);
  const stops = [
    notifier.subscribe(claimPoll.trigger),
    startInterval(timing.pollMs, claimPoll.trigger),
    startInterval(JOB_CLEANUP_INTERVAL_MS, retentionPoll.trigger),
  ];
  claimPoll.trigger();
  retentionPoll.trigger();

  const drain = (): void => {
    isDraining = true;
  };
  return {
    drain,
    async close() {
      drain();
      isClosing = true;
      for (const stop of stops) stop();
      for (const { lease } of activeJobs.values()) lease.stop('shutdown');
      // A pending claim may still return a job.
      const allEnded = claimPoll
        .waitUntilIdle()
        .then(() => Promise.all([...activeJobs.values()].map(({ finished }) => finished)));
      await waitAtMost(timing.graceMs, startInterval, Promise.all([allEnded, retentionPoll.waitUntilIdle()]));
      for (const { job, lease } of activeJobs.values()) {
        log.warn('job did not stop in time', { job: job.id, kind: job.kind, subject: job.subject });
        await lease.abandon();
      }
      stopHeartbeats();
    },
  };
}

/** Returns the kinds with a free slot. Canceled jobs that only need to be ended do not occupy a slot of their kind. */
function findClaimableKinds(
  activeJobs: readonly ActiveJob[],
  handlers: JobHandlers,
): { kinds: JobKind[]; cancelledKinds: JobKind[] } {
  const handledKinds = JOB_KINDS.filter((kind) => handlers[kind]);
  const isFree = (kind: JobKind): boolean => {
    const running = activeJobs.filter(({ job }) => job.kind === kind && !job.isCancelled).length;
    return running < (handlers[kind]?.concurrency ?? JOB_CONCURRENCY_DEFAULT);
  };
  const cancelledCount = activeJobs.filter(({ job }) => job.isCancelled).length;
  const canCancelMore = cancelledCount < JOB_CANCEL_CONCURRENCY;
  return { kinds: canCancelMore ? handledKinds.filter(isFree) : [], cancelledKinds: canCancelMore ? handledKinds : [] };
}

/** Groups running jobs by kind and tenant. `isFull`: the remaining slots of the kind are reserved for other tenants. */
function groupByTenant(
  activeJobs: readonly ActiveJob[],
  handlers: JobHandlers,
): readonly (TenantJobGroup & { readonly isFull: boolean })[] {
  const counts = new Map<string, TenantJobGroup & { count: number }>();
  for (const { job } of activeJobs) {
    if (job.isCancelled) continue;
    const { kind, owner } = job;
    const name = JSON.stringify([kind, owner.region, owner.workspace]);
    const counted = counts.get(name) ?? { kind, region: owner.region, workspace: owner.workspace, count: 0 };
    counted.count += 1;
    counts.set(name, counted);
  }
  return [...counts.values()].map(({ count, ...group }) => {
    const concurrency = handlers[group.kind]?.concurrency ?? JOB_CONCURRENCY_DEFAULT;
    const reserved = concurrency > 1 ? Math.max(1, Math.floor(concurrency * JOB_OTHER_WORKSPACES_SHARE)) : 0;
    return { ...group, isFull: count >= concurrency - reserved };
  });
}

async function waitAtMost(ms: number, startInterval: StartInterval, work: Promise<unknown>): Promise<void> {
  const { promise: timeLimit, resolve } = Promise.withResolvers<void>();
  const stop = startInterval(ms, resolve);
  await Promise.race([work, timeLimit]);
  stop();
}
