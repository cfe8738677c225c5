import { startJobWorker, type JobWorker, type JobWorkerDeps } from '../jobs/worker.ts';
import type { JobNotifier } from '../resources/jobs/job-notifier.ts';
import { isLeaseOwnerGone, createLeaseOwnerName } from './lease-owner.ts';

export interface JobWorkerHandle {
  /** Starts the job worker. */
  start(): void;
  drain(): void;
  /** Must finish before the collaborators of the handlers are closed. */
  close(): Promise<void>;
}

/** Opens the job worker of this process, without starting it. */
export function openJobWorker(
  deps: Omit<JobWorkerDeps, 'leaseOwner'> & { readonly notifier: JobNotifier },
): JobWorkerHandle {
  const { jobs, notifier, clock, log } = deps;
  let worker: JobWorker | undefined;
  let leaseExpiry: Promise<void> | undefined;
  let isClosed = false;

  /** Expires leases of processes that no longer run, so that a service restarted after a crash does not wait for them. */
  const expireDeadLeases = async (): Promise<void> => {
    try {
      const deadOwners = (await jobs.listLeaseOwners()).filter(isLeaseOwnerGone);
      let expired = 0;
      for (const owner of deadOwners) expired += await jobs.expireLeases(owner, clock.now());
      if (expired === 0) return;
      log.info('released jobs of terminated processes', { jobs: expired });
      notifier.notify('due');
    } catch (error) {
      log.warn('releasing jobs of terminated processes failed; they become due when their leases expire', {
        error: String(error),
      });
    }
  };

  return {
    start() {
      if (isClosed || worker) return;
      leaseExpiry = expireDeadLeases();
      worker = startJobWorker({ ...deps, leaseOwner: createLeaseOwnerName() });
    },
    drain: () => worker?.drain(),
    async close() {
      isClosed = true;
      await worker?.close();
      await leaseExpiry;
    },
  };
}
