import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import {
  DEPLOYMENT_AGAIN_MS,
  DEPLOYMENT_ENDING_LOOK_MS,
  DEPLOYMENT_LOOK_MS,
  DEPLOYMENT_RETRY_MS_MAX,
  DEPLOYMENT_RETRY_MS_MIN,
  DEPLOYMENT_TURN_MS,
  DEPLOYMENTS_AT_ONCE,
} from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { every as systemEvery } from '../../lib/every.ts';
import type { Every } from '../../lib/every.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import type { DeploymentBell, DeploymentSteps } from '../../resources/deployments/deployment.ts';
import type { JobHandler, JobOutcome } from '../handler.ts';

/** Where engines are kept. */
export interface DeploymentCapacity {
  /**
   * Makes what is wanted of it, or as much as there can be; of reserved tokens, sees to it that what they are served by is
   * there. May be asked again, also while it is at it for the same generation. @throws ServiceError why not one unit serves.
   */
  bringAbout(
    record: DeploymentRecord,
    signal: AbortSignal,
  ): Promise<{ readonly readyUnits: number; readonly reason?: string }>;
  /** Takes no calls for it from here on. True when nothing of it is left. May be asked again. */
  retire(id: string): Promise<boolean>;
}

export interface DeploymentJobNeeds {
  readonly steps: DeploymentSteps;
  readonly bell: Pick<DeploymentBell, 'listen'>;
  readonly capacity: DeploymentCapacity;
  readonly log: Pick<Log, 'warn'>;
  readonly every?: Every;
}

const DONE: JobOutcome = { type: 'done' };
/** Another generation is wanted by now, or it is gone, or others have their turn first. */
const AT_ONCE: JobOutcome = { type: 'again', afterMs: 0 };

/**
 * Brings about what is wanted of a deployment, from whatever is there: each run reads the record first and compares, so a
 * run may begin anew after any of its steps.
 */
export function deploymentJob({ steps, bell, capacity, log, every = systemEvery }: DeploymentJobNeeds): JobHandler {
  /** Aborts as soon as another generation is wanted: what is made for this one would be for nobody. */
  const whileWanted = ({ id, generation }: DeploymentRecord, parent: AbortSignal) => {
    const work = linkedAbort(parent);
    const look = (): void => {
      steps.find(id).then(
        (record) => {
          if (record?.generation !== generation) work.abort(new ServiceError('cancelled', 'It is wanted otherwise.'));
        },
        () => undefined, // the next look may tell
      );
    };
    const turn = Promise.withResolvers<undefined>();
    const stops = [
      bell.listen(look),
      every(DEPLOYMENT_LOOK_MS, look),
      every(DEPLOYMENT_TURN_MS, () => turn.resolve(undefined)),
    ];
    return {
      signal: work.signal,
      turnOver: turn.promise,
      end(): void {
        for (const stop of stops) stop();
        work.unlink();
      },
    };
  };

  const bringAbout = async (record: DeploymentRecord, isLastTry: boolean, parent: AbortSignal): Promise<JobOutcome> => {
    const { id, generation, baseCapacity, capacity: wanted, status } = record;
    if (!(await steps.begin(id, { generation }))) return AT_ONCE;
    const work = whileWanted(record, parent);
    try {
      const standing = await Promise.race([capacity.bringAbout(record, work.signal), work.turnOver]);
      // It goes on meanwhile, and is asked again.
      if (!standing) return AT_ONCE;
      const { readyUnits, reason = '' } = standing;
      const readyCapacity = readyUnits * baseCapacity;
      if (!(await steps.reached(id, { generation, readyCapacity, reason }))) return AT_ONCE;
      return readyCapacity < wanted ? { type: 'again', afterMs: DEPLOYMENT_AGAIN_MS } : DONE;
    } catch (error) {
      parent.throwIfAborted();
      if (work.signal.aborted) return AT_ONCE;
      const { message: reason, cause } = ServiceError.from(error);
      log.warn('a deployment does not come up', { deployment: record.name, id, reason, cause });
      if (!(await steps.ready(id, { generation, readyCapacity: 0, reason }))) return AT_ONCE;
      // It was there before: as long as it is wanted, it is tried.
      if (status === 'running') return { type: 'again', afterMs: DEPLOYMENT_AGAIN_MS };
      if (!isLastTry) throw error;
      return (await steps.fail(id, { generation, reason })) ? DONE : AT_ONCE;
    } finally {
      work.end();
    }
  };

  return {
    atOnce: DEPLOYMENTS_AT_ONCE,
    retry: { firstMs: DEPLOYMENT_RETRY_MS_MIN, mostMs: DEPLOYMENT_RETRY_MS_MAX },
    async run({ job, signal }) {
      const record = await steps.find(job.subject);
      if (!record || record.status === 'deleting') {
        if (!(await capacity.retire(job.subject))) return { type: 'again', afterMs: DEPLOYMENT_ENDING_LOOK_MS };
        if (!record) return DONE;
        return (await steps.gone(record.id, { generation: record.generation })) ? DONE : AT_ONCE;
      }
      // Its owner has to want it once more.
      if (record.status === 'failed') return DONE;
      return await bringAbout(record, job.triesLeft <= 1, signal);
    },
    /** Each process that tried it ended while it did. */
    async giveUp(job, error) {
      const record = await steps.find(job.subject);
      if (!record) return;
      const { id, status, generation } = record;
      // What goes has to go: there is no other end of it. And what is wanted since then was not tried.
      if (status === 'deleting' || generation !== job.payload['generation']) throw error;
      await steps.fail(id, { generation, reason: ServiceError.from(error).message });
    },
  };
}
