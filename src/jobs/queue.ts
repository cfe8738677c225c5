import type { JobKind, JobRecord, JobState } from '../core/job.ts';

export interface JobFilter {
  readonly kind?: JobKind | undefined;
  readonly state?: JobState | undefined;
  /** The last id of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** What an operator can do with jobs; whoever makes one inserts it with its subject, in one transaction (`Tables.jobs`). */
export interface JobQueue {
  /** The newest first. */
  list(filter: JobFilter): Promise<readonly JobRecord[]>;
  /** @throws ServiceError `not-found`. */
  find(id: string): Promise<JobRecord>;
  /** Its handler hears of it soon, wherever it runs. Of no effect on one that has ended. @throws ServiceError `not-found`. */
  cancel(id: string): Promise<JobRecord>;
}
