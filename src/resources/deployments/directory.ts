import type { DeploymentRecord } from '../../core/deployment.ts';
import { DEPLOYMENT_SNAPSHOT_MS } from '../limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { startInterval as startSystemInterval, type StartInterval } from '../../lib/start-interval.ts';
import type { Store } from '../../store/store.ts';

interface DeploymentScope {
  readonly region: string;
  readonly workspace: string;
}

/**
 * Snapshot of all deployments in this process, so that a request finds one without a query. It contains this process's
 * changes when their call returns, and others after the next poll.
 */
export interface DeploymentDirectory {
  find(scope: DeploymentScope, name: string): DeploymentRecord | undefined;
  /** Lists in order of creation. */
  list(scope: DeploymentScope): readonly DeploymentRecord[];
  /**
   * Reads all changes that were stored before this call. Never rejects: if the store fails, the old snapshot stays and
   * the next poll retries.
   */
  refresh(): Promise<void>;
  /** Calls the listener for each removed deployment. */
  onRemoved(listener: (record: DeploymentRecord) => void): void;
  close(): Promise<void>;
}

export interface DeploymentDirectoryDeps {
  readonly store: { readonly deployments: Pick<Store['deployments'], 'countChanges' | 'listAll'> };
  readonly log: Pick<Log, 'error'>;
  readonly startInterval?: StartInterval;
}

export function createDeploymentDirectory({
  store,
  log,
  startInterval = startSystemInterval,
}: DeploymentDirectoryDeps): DeploymentDirectory {
  const listeners: ((record: DeploymentRecord) => void)[] = [];
  /** By region and workspace, then by name. */
  let recordsByScope = new Map<string, Map<string, DeploymentRecord>>();
  let records: readonly DeploymentRecord[] = [];
  /** The store's change counter when `records` was read; -1 before the first read. */
  let lastChangeCount = -1;
  let isFailing = false;
  let currentRead: Promise<void> | undefined;
  let nextRead: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    try {
      // Read the counter first: a change between the two reads causes another read at the next poll.
      const changeCount = await store.deployments.countChanges();
      isFailing = false;
      if (changeCount === lastChangeCount) return;
      const before = records;
      records = await store.deployments.listAll();
      lastChangeCount = changeCount;
      recordsByScope = new Map();
      for (const record of records) {
        const scope = scopeToKey(record);
        const byName = recordsByScope.get(scope) ?? new Map<string, DeploymentRecord>();
        recordsByScope.set(scope, byName.set(record.name, record));
      }
      const currentIds = new Set(records.map(({ id }) => id));
      for (const record of before) if (!currentIds.has(record.id)) for (const listener of listeners) listener(record);
    } catch (error) {
      if (!isFailing) log.error('deployments cannot be read; the last snapshot stays in use', { error });
      isFailing = true;
    }
  };

  /**
   * One read at a time. A call during a read waits for the next one, because the current one may have missed its
   * change.
   */
  const refresh = (): Promise<void> => {
    if (!currentRead) {
      currentRead = read().finally(() => (currentRead = undefined));
      return currentRead;
    }
    nextRead ??= currentRead.then(() => {
      nextRead = undefined;
      return refresh();
    });
    return nextRead;
  };

  const stop = startInterval(DEPLOYMENT_SNAPSHOT_MS, () => {
    if (!currentRead) void refresh();
  });

  return {
    find: (scope, name) => recordsByScope.get(scopeToKey(scope))?.get(name),
    list: (scope) => [...(recordsByScope.get(scopeToKey(scope))?.values() ?? [])],
    refresh,
    onRemoved: (listener) => void listeners.push(listener),
    async close() {
      stop();
      await (nextRead ?? currentRead);
    },
  };
}

const scopeToKey = ({ region, workspace }: DeploymentScope): string => `${region}/${workspace}`;
