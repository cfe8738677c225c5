import type { DeploymentRecord } from '../../../core/deployment.ts';
import { systemIds } from '../../../core/id.ts';
import type { Facts } from '../../../core/telemetry.ts';
import type { Store } from '../../../store/store.ts';
import { createDeploymentBell } from '../bell.ts';
import { createChanges } from '../changes.ts';
import type { DeploymentDraft } from '../deployment.ts';
import { createDeployments } from '../service.ts';
import { createDeploymentSteps } from '../steps.ts';

export const START = Date.parse('2026-07-01T12:00:00Z');
export const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

/** Deployments over a store, with a clock that is moved by hand; `svc-*` can be deployed, but in no other region. */
export function createDeploymentRoom(store: Store) {
  let nowMs = START;
  let made = 0;
  const clock = { now: () => nowMs, monotonic: () => nowMs - START };
  const lines: { readonly message: string; readonly facts: Facts | undefined }[] = [];
  const rings: string[] = [];
  const looks = new Set<() => void>();
  const log = { info: (message: string, facts?: Facts) => void lines.push({ message, facts }) };
  const bell = createDeploymentBell();
  const change = createChanges({ store, clock, log, bell });
  const deployments = createDeployments({
    store,
    change,
    clock,
    deployableModel: (name, region) =>
      name.startsWith('svc-') && region === OWNER.region ? { baseModel: 'svc-plus' } : undefined,
    capacityMax: 999,
    bell,
    jobBell: { ring: (news) => void rings.push(news) },
    ids: {
      ...systemIds,
      sortable: (prefix: string) => `${prefix}${(made += 1).toString(16).padStart(32, '0')}`,
    },
    every(_ms, run) {
      looks.add(run);
      return () => void looks.delete(run);
    },
  });
  return {
    deployments,
    steps: createDeploymentSteps({ store, change }),
    change,
    clock,
    lines,
    rings,
    bell,
    /** Those who look from time to time. */
    looks,
    pass: (ms: number): void => void (nowMs += ms),
  };
}

export const draft = (change: Partial<DeploymentDraft> = {}): DeploymentDraft => ({
  modelName: 'svc-plus',
  plan: 'mu',
  capacity: 1,
  spec: { suffix: 'a' },
  ...change,
});

export const stateOf = ({ status, capacity, readyCapacity, generation, reached }: DeploymentRecord) => ({
  status,
  capacity,
  readyCapacity,
  generation,
  reached,
});
