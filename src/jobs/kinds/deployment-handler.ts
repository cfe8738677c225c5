import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import { DEPLOYMENT_POLL_MS } from '../../core/limits.ts';
import {
  DEPLOYMENT_CAPACITY_RETRY_MS,
  DEPLOYMENT_DRAIN_POLL_MS,
  DEPLOYMENT_RETRY_MS_MAX,
  DEPLOYMENT_RETRY_MS_MIN,
  DEPLOYMENT_JOB_SLICE_MS,
  DEPLOYMENT_JOB_CONCURRENCY,
} from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { startInterval as systemStartInterval, type StartInterval } from '../../lib/start-interval.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import type { DeploymentNotifier, DeploymentLifecycle } from '../../resources/deployments/deployment.ts';
import type { JobHandler, JobOutcome } from '../handler.ts';

/** Starts and stops the engines of deployments. */
export interface DeploymentRuntime {
  /**
   * Starts the requested units, or as many as resources allow; for reserved tokens, makes sure that the shared engine
   * runs. May be called again, also while a call for the same generation runs. @throws ServiceError if no unit can
   * serve.
   */
  reconcile(
    record: DeploymentRecord,
    signal: AbortSignal,
  ): Promise<{ readonly readyUnits: number; readonly reason?: string }>;
  /** Stops accepting calls for the deployment. Returns true once nothing of it is left. May be called again. */
  retire(id: string): Promise<boolean>;
}

export interface DeploymentHandlerDeps {
  readonly lifecycle: DeploymentLifecycle;
  readonly notifier: Pick<DeploymentNotifier, 'subscribe'>;
  readonly runtime: DeploymentRuntime;
  readonly log: Pick<Log, 'warn'>;
  readonly startInterval?: StartInterval;
}

const DONE: JobOutcome = { type: 'done' };
/** A newer generation is requested, the deployment is gone, or other jobs get their turn first. */
const RUN_AGAIN_NOW: JobOutcome = { type: 'rerun', delayMs: 0 };

/**
 * Reconciles the engines of a deployment with its record. Each run reads the record first and compares, so that a run
 * may restart after any of its steps.
 */
export function createDeploymentHandler({
  lifecycle,
  notifier,
  runtime,
  log,
  startInterval = systemStartInterval,
}: DeploymentHandlerDeps): JobHandler {
  /** Aborts the work as soon as a newer generation is requested: engines for this one would not be used. */
  const watchGeneration = ({ id, generation }: DeploymentRecord, parent: AbortSignal) => {
    const work = createLinkedAbort(parent);
    const poll = (): void => {
      lifecycle.find(id).then(
        (record) => {
          if (record?.generation !== generation)
            work.abort(new ServiceError('cancelled', 'Superseded by a newer deployment generation.'));
        },
        () => undefined, // the next poll may succeed
      );
    };
    const turnLimit = Promise.withResolvers<undefined>();
    const stops = [
      notifier.subscribe(poll),
      startInterval(DEPLOYMENT_POLL_MS, poll),
      startInterval(DEPLOYMENT_JOB_SLICE_MS, () => turnLimit.resolve(undefined)),
    ];
    return {
      signal: work.signal,
      turnEnded: turnLimit.promise,
      stop(): void {
        for (const stop of stops) stop();
        work.unlink();
      },
    };
  };

  const reconcile = async (
    record: DeploymentRecord,
    isLastAttempt: boolean,
    parent: AbortSignal,
  ): Promise<JobOutcome> => {
    const { id, generation, baseCapacity, capacity: requestedCapacity, status } = record;
    if (!(await lifecycle.start(id, { generation }))) return RUN_AGAIN_NOW;
    const work = watchGeneration(record, parent);
    try {
      const status = await Promise.race([runtime.reconcile(record, work.signal), work.turnEnded]);
      // Starting continues in the background; the next run asks for the result.
      if (!status) return RUN_AGAIN_NOW;
      const { readyUnits, reason = '' } = status;
      const readyCapacity = readyUnits * baseCapacity;
      if (!(await lifecycle.reportReached(id, { generation, readyCapacity, reason }))) return RUN_AGAIN_NOW;
      return readyCapacity < requestedCapacity ? { type: 'rerun', delayMs: DEPLOYMENT_CAPACITY_RETRY_MS } : DONE;
    } catch (error) {
      parent.throwIfAborted();
      if (work.signal.aborted) return RUN_AGAIN_NOW;
      const { message: reason, cause } = ServiceError.from(error);
      log.warn('deployment failed to start', { deployment: record.name, id, reason, cause });
      if (!(await lifecycle.reportReady(id, { generation, readyCapacity: 0, reason }))) return RUN_AGAIN_NOW;
      // The deployment ran before: retry as long as it is requested.
      if (status === 'running') return { type: 'rerun', delayMs: DEPLOYMENT_CAPACITY_RETRY_MS };
      if (!isLastAttempt) throw error;
      return (await lifecycle.fail(id, { generation, reason })) ? DONE : RUN_AGAIN_NOW;
    } finally {
      work.stop();
    }
  };

  return {
    concurrency: DEPLOYMENT_JOB_CONCURRENCY,
    backoff: { minMs: DEPLOYMENT_RETRY_MS_MIN, maxMs: DEPLOYMENT_RETRY_MS_MAX },
    async run({ job, signal }) {
      const record = await lifecycle.find(job.subject);
      if (!record || record.status === 'deleting') {
        if (!(await runtime.retire(job.subject))) return { type: 'rerun', delayMs: DEPLOYMENT_DRAIN_POLL_MS };
        if (!record) return DONE;
        return (await lifecycle.finishDeletion(record.id, { generation: record.generation })) ? DONE : RUN_AGAIN_NOW;
      }
      // Only a new request of the owner starts it again.
      if (record.status === 'failed') return DONE;
      return await reconcile(record, job.attemptsLeft <= 1, signal);
    },
    /** Called if every process that ran the job died. */
    async giveUp(job, error) {
      const record = await lifecycle.find(job.subject);
      if (!record) return;
      const { id, status, generation } = record;
      // A deletion must complete, so it has no failed end; and a newer generation was not attempted yet.
      if (status === 'deleting' || generation !== job.payload['generation']) throw error;
      await lifecycle.fail(id, { generation, reason: ServiceError.from(error).message });
    },
  };
}
