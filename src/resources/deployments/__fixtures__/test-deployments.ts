import type { DeploymentRecord } from '../../../core/deployment.ts';
import { systemIdGenerator } from '../../../core/id.ts';
import type { LogFields } from '../../../core/telemetry.ts';
import type { Store } from '../../../store/store.ts';
import { createDeploymentNotifier } from '../deployment-notifier.ts';
import { createDeploymentTransactions } from '../deployment-transaction.ts';
import type { DeploymentDraft } from '../deployment.ts';
import { createDeployments } from '../service.ts';
import { createDeploymentLifecycle } from '../lifecycle.ts';

export const START = Date.parse('2026-07-01T12:00:00Z');
export const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

/** Deployments over a store with a manual clock. `svc-*` models can be deployed in OWNER's region only. */
export function createTestDeployments(store: Store) {
  let nowMs = START;
  let idsCreated = 0;
  const clock = { now: () => nowMs, monotonic: () => nowMs - START };
  const lines: { readonly message: string; readonly fields: LogFields | undefined }[] = [];
  const notifications: string[] = [];
  const intervals = new Set<() => void>();
  const log = { info: (message: string, fields?: LogFields) => void lines.push({ message, fields: fields }) };
  const notifier = createDeploymentNotifier();
  const transact = createDeploymentTransactions({ store, clock, log, notifier });
  const deployments = createDeployments({
    store,
    transact,
    clock,
    findDeployableModel: (name, region) =>
      name.startsWith('svc-') && region === OWNER.region ? { baseModel: 'svc-plus' } : undefined,
    capacityMax: 999,
    notifier,
    jobNotifier: { notify: (event) => void notifications.push(event) },
    ids: {
      ...systemIdGenerator,
      createSortableId: (prefix: string) => `${prefix}${(idsCreated += 1).toString(16).padStart(32, '0')}`,
    },
    startInterval(_ms, run) {
      intervals.add(run);
      return () => void intervals.delete(run);
    },
  });
  return {
    deployments,
    lifecycle: createDeploymentLifecycle({ store, transact }),
    transact,
    clock,
    lines,
    notifications,
    notifier,
    /** Callbacks of running intervals. */
    intervals,
    advanceClock: (ms: number): void => void (nowMs += ms),
  };
}

export const createDraft = (change: Partial<DeploymentDraft> = {}): DeploymentDraft => ({
  modelName: 'svc-plus',
  plan: 'mu',
  capacity: 1,
  spec: { suffix: 'a' },
  ...change,
});

export const pickState = ({ status, capacity, readyCapacity, generation, appliedGeneration }: DeploymentRecord) => ({
  status,
  capacity,
  readyCapacity,
  generation,
  appliedGeneration,
});
