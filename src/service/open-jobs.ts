import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { startJobWorker, type JobWorker, type JobWorkerNeeds } from '../jobs/worker.ts';

export interface OpenedJobs {
  /** Jobs are worked at from here on. */
  start(): void;
  drain(): void;
  /** Before what the handlers work with is closed. */
  close(): Promise<void>;
}

/** The worker of this process, which begins when the service does. */
export function openJobs(needs: Omit<JobWorkerNeeds, 'leaseOwner'>): OpenedJobs {
  let worker: JobWorker | undefined;
  return {
    start() {
      worker ??= startJobWorker({ ...needs, leaseOwner: ownName() });
    },
    drain: () => worker?.drain(),
    async close() {
      await worker?.close();
    },
  };
}

/** Says to a person where it is; the last part tells it from a process that had its number before. */
const ownName = (): string => `${hostname()}:${process.pid}:${randomBytes(6).toString('hex')}`;
