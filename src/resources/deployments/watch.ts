import type { DeploymentEvent, DeploymentRecord } from '../../core/deployment.ts';
import { DEPLOYMENT_POLL_MS } from '../../core/limits.ts';
import { DEPLOYMENT_EVENTS_MAX } from '../limits.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import type { Store } from '../../store/store.ts';
import type { DeploymentNotifier, DeploymentChange } from './deployment.ts';
import { isAtRest } from './states.ts';

export interface DeploymentWatchDeps {
  readonly store: Pick<Store, 'deployments'>;
  readonly notifier: Pick<DeploymentNotifier, 'subscribe'>;
  readonly startInterval: StartInterval;
}

/**
 * Implements `Deployments.watch`.
 * @param find Finds the deployment to follow; a later one with the same name is ignored.
 */
export async function* watchDeployment(
  { store, notifier, startInterval }: DeploymentWatchDeps,
  find: () => Promise<DeploymentRecord>,
  signal: AbortSignal,
): AsyncGenerator<readonly DeploymentChange[]> {
  const wakeSignal = createWakeUp(signal);
  const stops = [notifier.subscribe(wakeSignal.wake), startInterval(DEPLOYMENT_POLL_MS, wakeSignal.wake)];
  try {
    const { id } = await find();
    let last = await store.deployments.findLastEvent(id);
    // Read after its event: a newer change is reported with the next event.
    const record = await store.deployments.findById(id);
    if (!last || !record) return;
    yield [{ record: toRecordAt(record, last), event: last }];
    while (!isAtRest(last.to)) {
      await wakeSignal.next();
      const page = { after: last.number, limit: DEPLOYMENT_EVENTS_MAX };
      const events = await store.deployments.listEvents(id, page);
      const current = await store.deployments.findById(id);
      if (!current) return;
      if (events.length === 0) continue;
      last = events.at(-1) ?? last;
      yield events.map((event) => ({ record: toRecordAt(current, event), event }));
    }
  } finally {
    for (const stop of stops) stop();
    wakeSignal.end();
  }
}

/** Returns the record with the properties that it had after an event. */
const toRecordAt = (
  record: DeploymentRecord,
  { to, capacity, readyCapacity, generation, at }: DeploymentEvent,
): DeploymentRecord => ({ ...record, status: to, capacity, readyCapacity, generation, modifiedAt: at });

/** Waits for a wake-up or an abort; a wake-up without a waiter counts for the next wait. */
function createWakeUp(signal: AbortSignal) {
  let isWoken = signal.aborted;
  let woken = Promise.withResolvers<void>();
  const wake = (): void => {
    isWoken = true;
    woken.resolve();
  };
  signal.addEventListener('abort', wake, { once: true });
  return {
    wake,
    async next(): Promise<void> {
      if (!isWoken) await woken.promise;
      signal.throwIfAborted();
      isWoken = false;
      woken = Promise.withResolvers();
    },
    end: () => signal.removeEventListener('abort', wake),
  };
}
