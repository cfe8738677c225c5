import type { DeploymentEvent, DeploymentTransition, DeploymentRecord } from '../../core/deployment.ts';
import { DEPLOYMENT_EVENTS_MAX } from '../limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Store, Tables, TransactionOptions } from '../../store/store.ts';
import type { DeploymentNotifier } from './deployment.ts';
import type { DeploymentDirectory } from './directory.ts';
import { getEventReason } from './rules.ts';
import { findNextStatus } from './states.ts';

export interface DeploymentTransactionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info'>;
  readonly notifier: Pick<DeploymentNotifier, 'notify'>;
  /** This process's snapshot of deployments, refreshed after each transaction. */
  readonly directory?: Pick<DeploymentDirectory, 'refresh'>;
}

interface TransitionRequest {
  readonly transition: Exclude<DeploymentTransition, 'create'>;
  readonly reason: string;
  /** Key of the client that asked for the change; undefined for a change by the service. */
  readonly keyId?: string;
  /** Fields of the record that the transition changes, besides its status. */
  readonly changes?: Partial<
    Pick<
      DeploymentRecord,
      'capacity' | 'readyCapacity' | 'ptu' | 'rpmLimit' | 'tpmLimit' | 'generation' | 'appliedGeneration' | 'modifier'
    >
  >;
}

/** Changes that a transaction can make to deployments. */
export interface DeploymentTransaction {
  readonly tables: Tables;
  /** @returns false if the name is taken. */
  create(record: DeploymentRecord, reason: string): Promise<boolean>;
  /** Applies a state transition. @returns undefined if `states.ts` does not allow it. */
  applyTransition(before: DeploymentRecord, request: TransitionRequest): Promise<DeploymentRecord | undefined>;
  remove(record: DeploymentRecord): Promise<void>;
}

/**
 * Runs a transaction with exclusive access to deployments; after the commit it notifies subscribers and writes the log.
 */
export type RunDeploymentTransaction = <T>(
  work: (transaction: DeploymentTransaction) => Promise<T>,
  options?: TransactionOptions,
) => Promise<T>;

export function createDeploymentTransactions({
  store,
  clock,
  log,
  notifier,
  directory,
}: DeploymentTransactionDeps): RunDeploymentTransaction {
  return async (work, options) => {
    let committed: { readonly record: DeploymentRecord; readonly event?: DeploymentEvent }[] = [];
    const result = await store.transaction(async (tables) => {
      const { deployments } = tables;
      // The database may retry the transaction: drop what an earlier try recorded.
      committed = [];
      const addEvent = async (record: DeploymentRecord, event: Parameters<typeof toEvent>[1]): Promise<void> => {
        const stored = await deployments.addEvent(toEvent(record, event), { keep: DEPLOYMENT_EVENTS_MAX });
        committed.push({ record, event: stored });
      };
      await deployments.lock();
      return await work({
        tables,
        async create(record, reason) {
          if (!(await deployments.insert(record))) return false;
          await addEvent(record, { transition: 'create', from: undefined, reason, keyId: record.creator });
          return true;
        },
        async applyTransition(before, { transition, reason, keyId, changes }) {
          const status = findNextStatus(before.status, transition);
          if (status === undefined) return undefined;
          assert(status !== 'gone', 'no transition of a stored deployment leads to `gone`');
          const record = { ...before, ...changes, status, modifiedAt: Math.max(clock.now(), before.modifiedAt) };
          await deployments.save(record);
          await addEvent(record, { transition, from: before.status, reason, keyId });
          return record;
        },
        async remove(record) {
          await deployments.remove(record.id);
          committed.push({ record });
        },
      });
    }, options);
    for (const { record, event } of committed) {
      const { id, name, region, workspace } = record;
      const fields = { deployment: name, id, region, workspace, generation: record.generation };
      if (!event) log.info('deployment removed', fields);
      else {
        const { transition, from, to, reason, capacity, readyCapacity } = event;
        const changes = { transition, from, to, reason, capacity, readyCapacity };
        log.info('deployment changed', { ...fields, ...changes });
      }
    }
    if (committed.length > 0) {
      // The client's next call must see the change.
      await directory?.refresh();
      notifier.notify();
    }
    return result;
  };
}

const toEvent = (
  record: DeploymentRecord,
  event: {
    readonly transition: DeploymentTransition;
    readonly from: DeploymentRecord['status'] | undefined;
    readonly reason: string;
    readonly keyId: string | undefined;
  },
): Omit<DeploymentEvent, 'number'> => ({
  deployment: record.id,
  at: record.modifiedAt,
  transition: event.transition,
  from: event.from,
  to: record.status,
  reason: getEventReason(event.transition, event.reason),
  keyId: event.keyId,
  generation: record.generation,
  capacity: record.capacity,
  readyCapacity: record.readyCapacity,
});
