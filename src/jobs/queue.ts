import { ServiceError } from '../core/error.ts';
import { JOB_KINDS, type JobRecord } from '../core/job.ts';
import type { Clock } from '../lib/clock.ts';
import type { JobListQuery, JobStore } from '../store/jobs.ts';

/**
 * Operations on jobs for the operator. Jobs are inserted together with their subject, in one transaction
 * (`Tables.jobs`).
 */
export interface JobQueue {
  /** Lists jobs, newest first. */
  list(page: JobListQuery): Promise<readonly JobRecord[]>;
  /**
   * @param id ID of the job or of its subject: a batch, a file, a response … A batch ID finds the batch job, not its
   * callback.
   * @throws ServiceError `not-found`.
   */
  find(id: string): Promise<JobRecord>;
  /**
   * Requests cancellation; the process that runs the job notices soon. Does nothing if the job has ended.
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
      const subjectJob = await jobs.findBySubject(kind, id);
      if (subjectJob) return subjectJob;
    }
    return throwNotFound(id);
  };
  return {
    list: (page) => jobs.list(page),
    find,
    cancel: async (id) => {
      const job = await find(id);
      return (await jobs.cancel(job.id, clock.now())) ?? throwNotFound(id);
    },
  };
}

function throwNotFound(id: string): never {
  throw new ServiceError(
    'not-found',
    `No job has the ID ${JSON.stringify(id)} or works on it. Jobs that ended long ago are removed.`,
    {
      param: 'id',
    },
  );
}
