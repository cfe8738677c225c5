import { startJobWorker, type JobWorker, type JobWorkerNeeds } from '../jobs/worker.ts';
import type { JobBell } from '../resources/jobs/job-bell.ts';
import { isGone, newLeaseName } from './lease-owner.ts';

export interface OpenedJobs {
  /** Jobs are worked at from here on. */
  start(): void;
  drain(): void;
  /** Before what the handlers work with is closed. */
  close(): Promise<void>;
}

/** The worker of this process, which begins when the service does. */
export function openJobs(needs: Omit<JobWorkerNeeds, 'leaseOwner'> & { readonly bell: JobBell }): OpenedJobs {
  const { jobs, bell, clock, log } = needs;
  let worker: JobWorker | undefined;
  let takingOver: Promise<void> | undefined;
  let isClosed = false;

  /** Whoever starts a service again after it was killed does not wait for the end of its leases. */
  const takeOver = async (): Promise<void> => {
    try {
      const gone = (await jobs.leaseOwners()).filter(isGone);
      let due = 0;
      for (const each of gone) due += await jobs.expire(each, clock.now());
      if (due === 0) return;
      log.info('jobs of processes that are gone are taken over', { jobs: due });
      bell.ring('due');
    } catch (error) {
      log.warn('jobs of processes that are gone are taken over later', { error: String(error) });
    }
  };

  return {
    start() {
      if (isClosed || worker) return;
      takingOver = takeOver();
      worker = startJobWorker({ ...needs, leaseOwner: newLeaseName() });
    },
    drain: () => worker?.drain(),
    async close() {
      isClosed = true;
      await worker?.close();
      await takingOver;
    },
  };
}
