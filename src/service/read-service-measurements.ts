import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { JOB_KINDS } from '../core/job.ts';
import type { Clock } from '../lib/clock.ts';
import { readDiskSpace } from '../lib/read-disk-space.ts';
import type { Store } from '../store/store.ts';
import type { EngineLoad, ServiceMeasurements, WaitingJobs } from '../telemetry/process-metrics.ts';

/** Jobs that one query returns. */
const PAGE_LENGTH = 1_000;

/** Waiting jobs of a kind that are counted. Beyond: the metric stays at this number, and the age is that of a newer job. */
const COUNTED_JOBS_MAX = 10_000;

interface ServiceMeasurementsDeps {
  readonly store: Pick<Store, 'jobs'>;
  readonly databaseFile: string;
  readonly readEngineLoads: () => Promise<readonly EngineLoad[]>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Reads the measurements of the service for its metrics. */
export async function readServiceMeasurements(deps: ServiceMeasurementsDeps): Promise<ServiceMeasurements> {
  const { databaseFile, readEngineLoads } = deps;
  const [databaseBytes, walBytes, freeDiskBytes, engines, waitingJobs] = await Promise.all([
    readSize(databaseFile),
    readSize(`${databaseFile}-wal`),
    readDiskSpace(dirname(databaseFile)).then(
      ({ freeBytes }) => freeBytes,
      () => 0,
    ),
    readEngineLoads(),
    readWaitingJobs(deps),
  ]);
  return { databaseBytes, walBytes, freeDiskBytes, engines, waitingJobs };
}

/** Returns the size of a file in bytes; 0 for a missing one, such as a log that was merged into its database. */
const readSize = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

async function readWaitingJobs({ store, clock }: ServiceMeasurementsDeps): Promise<readonly WaitingJobs[]> {
  const waiting: WaitingJobs[] = [];
  for (const kind of JOB_KINDS) {
    let [count, oldestAt] = [0, clock.now()];
    for (let after: string | undefined; count < COUNTED_JOBS_MAX;) {
      const jobs = await store.jobs.list({ kind, state: 'waiting', after, limit: PAGE_LENGTH });
      count += jobs.length;
      oldestAt = jobs.reduce((earliest, { createdAt }) => Math.min(earliest, createdAt), oldestAt);
      after = jobs.at(-1)?.id;
      if (jobs.length < PAGE_LENGTH) break;
    }
    waiting.push({ kind, count, oldestSeconds: count === 0 ? 0 : (clock.now() - oldestAt) / 1000 });
  }
  return waiting;
}
