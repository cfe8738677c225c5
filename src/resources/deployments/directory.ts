import type { DeploymentRecord } from '../../core/deployment.ts';
import { DEPLOYMENT_PICTURE_MS } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import type { Store } from '../../store/store.ts';

interface Place {
  readonly region: string;
  readonly workspace: string;
}

/**
 * All deployments as this process knows them, so that a call finds one without asking the store. A change that is made here
 * is known when it is answered, any other one with the next look.
 */
export interface DeploymentDirectory {
  find(place: Place, name: string): DeploymentRecord | undefined;
  /** In the order of their making. */
  list(place: Place): readonly DeploymentRecord[];
  /**
   * Reads what was written before this call, if it is not known yet. Does not reject: where the store does not answer, what
   * was known goes on to be known, and the next look tries again.
   */
  refresh(): Promise<void>;
  /** Hears of each one that is there no longer. */
  whenGone(hear: (record: DeploymentRecord) => void): void;
  close(): Promise<void>;
}

export interface DirectoryNeeds {
  readonly store: { readonly deployments: Pick<Store['deployments'], 'changes' | 'listAll'> };
  readonly log: Pick<Log, 'error'>;
  readonly every?: Every;
}

export function createDeploymentDirectory({ store, log, every = systemEvery }: DirectoryNeeds): DeploymentDirectory {
  const listeners: ((record: DeploymentRecord) => void)[] = [];
  /** By place, then by name. */
  let known = new Map<string, Map<string, DeploymentRecord>>();
  let records: readonly DeploymentRecord[] = [];
  /** Of the store, when these were read; none before the first reading. */
  let changes = -1;
  let isFailing = false;
  let reading: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    try {
      // First the count: what is changed between the two is read again with the next look.
      const counted = await store.deployments.changes();
      isFailing = false;
      if (counted === changes) return;
      const before = records;
      records = await store.deployments.listAll();
      changes = counted;
      known = new Map();
      for (const record of records) {
        const place = keyOf(record);
        const named = known.get(place) ?? new Map<string, DeploymentRecord>();
        known.set(place, named.set(record.name, record));
      }
      const there = new Set(records.map(({ id }) => id));
      for (const record of before) if (!there.has(record.id)) for (const hear of listeners) hear(record);
    } catch (error) {
      if (!isFailing) log.error('deployments cannot be read: calls go by what was known of them', { error });
      isFailing = true;
    }
  };

  /** One at a time; who comes while one runs has the next, as that one may have begun before the change. */
  const refresh = (): Promise<void> => {
    if (!reading) {
      reading = read().finally(() => (reading = undefined));
      return reading;
    }
    next ??= reading.then(() => {
      next = undefined;
      return refresh();
    });
    return next;
  };

  const stop = every(DEPLOYMENT_PICTURE_MS, () => {
    if (!reading) void refresh();
  });

  return {
    find: (place, name) => known.get(keyOf(place))?.get(name),
    list: (place) => [...(known.get(keyOf(place))?.values() ?? [])],
    refresh,
    whenGone: (hear) => void listeners.push(hear),
    async close() {
      stop();
      await (next ?? reading);
    },
  };
}

const keyOf = ({ region, workspace }: Place): string => `${region}/${workspace}`;
