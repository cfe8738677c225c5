import { ServiceError } from '../core/error.ts';
import { JOB_KINDS, type JobRecord } from '../core/job.ts';
import type { Clock } from '../lib/clock.ts';
import type { JobPage, JobStore } from '../store/jobs.ts';

/** What an operator can do with jobs; whoever makes one inserts it with its subject, in one transaction (`Tables.jobs`). */
export interface JobQueue {
  /** The newest first. */
  list(page: JobPage): Promise<readonly JobRecord[]>;
  /**
   * @param id Of the job, or of what it works for: a batch, a file, a response. Of a batch that is its work, and not its callback.
   * @throws ServiceError `not-found`.
   */
  find(id: string): Promise<JobRecord>;
  /**
   * Its handler hears of it soon, wherever it runs. Of no effect on one that has ended.
   * @param id As for `find`.
   * @throws ServiceError `not-found`.
   */
  cancel(id: string): Promise<JobRecord>;
}

export function createJobQueue({
  jobs,
  clock,
}: {
  readonly jobs: Pick<JobStore, 'list' | 'find' | 'findBySubject' | 'cancel'>;
  readonly clock: Clock;
}): JobQueue {
  const find = async (id: string): Promise<JobRecord> => {
    const job = await jobs.find(id);
    if (job) return job;
    for (const kind of JOB_KINDS) {
      const one = await jobs.findBySubject(kind, id);
      if (one) return one;
    }
    return noJob(id);
  };
  return {
    list: (page) => jobs.list(page),
    find,
    cancel: async (id) => {
      const job = await find(id);
      return (await jobs.cancel(job.id, clock.now())) ?? noJob(id);
    },
  };
}

function noJob(id: string): never {
  throw new ServiceError(
    'not-found',
    `There is no job ${JSON.stringify(id)}, and none for it; one that ended long ago is not kept.`,
    {
      param: 'id',
    },
  );
}
