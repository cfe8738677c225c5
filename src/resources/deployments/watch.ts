import type { DeploymentEvent, DeploymentRecord } from '../../core/deployment.ts';
import { DEPLOYMENT_EVENTS_MAX, DEPLOYMENT_LOOK_MS } from '../../core/limits.ts';
import type { Every } from '../../lib/every.ts';
import type { Store } from '../../store/store.ts';
import type { DeploymentBell, DeploymentChange } from './deployment.ts';
import { isAtRest } from './states.ts';

export interface WatchNeeds {
  readonly store: Pick<Store, 'deployments'>;
  readonly bell: Pick<DeploymentBell, 'listen'>;
  readonly every: Every;
}

/** What `Deployments.watch` promises. @param find The deployment that is followed, whatever takes its name later. */
export async function* watchDeployment(
  { store, bell, every }: WatchNeeds,
  find: () => Promise<DeploymentRecord>,
  signal: AbortSignal,
): AsyncGenerator<readonly DeploymentChange[]> {
  const waiting = createWaiting(signal);
  const stops = [bell.listen(waiting.wake), every(DEPLOYMENT_LOOK_MS, waiting.wake)];
  try {
    const { id } = await find();
    let last = await store.deployments.lastEvent(id);
    // Read behind its event: what is newer is told with the next one.
    const record = await store.deployments.findById(id);
    if (!last || !record) return;
    yield [{ record: asOf(record, last), event: last }];
    while (!isAtRest(last.to)) {
      await waiting.next();
      const page = { after: last.number, limit: DEPLOYMENT_EVENTS_MAX };
      const events = await store.deployments.listEvents(id, page);
      const current = await store.deployments.findById(id);
      if (!current) return;
      if (events.length === 0) continue;
      last = events.at(-1) ?? last;
      yield events.map((event) => ({ record: asOf(current, event), event }));
    }
  } finally {
    for (const stop of stops) stop();
    waiting.end();
  }
}

/** As it was then, of what changes with its status. */
const asOf = (
  record: DeploymentRecord,
  { to, capacity, readyCapacity, generation, at }: DeploymentEvent,
): DeploymentRecord => ({ ...record, status: to, capacity, readyCapacity, generation, modifiedAt: at });

/** One who waits; to be woken while nobody does counts for the next time. */
function createWaiting(signal: AbortSignal) {
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
