import { ServiceError } from '../core/error.ts';
import type { JobRecord } from '../core/job.ts';
import type { Clock } from '../lib/clock.ts';
import type { JobPage, JobStore } from '../store/jobs.ts';

/** What an operator can do with jobs; whoever makes one inserts it with its subject, in one transaction (`Tables.jobs`). */
export interface JobQueue {
  /** The newest first. */
  list(page: JobPage): Promise<readonly JobRecord[]>;
  /** @throws ServiceError `not-found`. */
  find(id: string): Promise<JobRecord>;
  /** Its handler hears of it soon, wherever it runs. Of no effect on one that has ended. @throws ServiceError `not-found`. */
  cancel(id: string): Promise<JobRecord>;
}

export function createJobQueue({
  jobs,
  clock,
}: {
  readonly jobs: Pick<JobStore, 'list' | 'find' | 'cancel'>;
  readonly clock: Clock;
}): JobQueue {
  return {
    list: (page) => jobs.list(page),
    find: async (id) => (await jobs.find(id)) ?? noJob(id),
    cancel: async (id) => (await jobs.cancel(id, clock.now())) ?? noJob(id),
  };
}

function noJob(id: string): never {
  throw new ServiceError('not-found', `There is no job ${JSON.stringify(id)}; one that ended long ago is not kept.`, {
    param: 'id',
  });
}
