import type { DeploymentEvent, DeploymentMove, DeploymentRecord } from '../../core/deployment.ts';
import { DEPLOYMENT_EVENTS_MAX } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Store, Tables } from '../../store/store.ts';
import type { DeploymentBell } from './deployment.ts';
import type { DeploymentDirectory } from './directory.ts';
import { reasonOf } from './rules.ts';
import { nextStatus } from './states.ts';

export interface ChangesNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info'>;
  readonly bell: Pick<DeploymentBell, 'ring'>;
  /** What this process calls by. */
  readonly directory?: Pick<DeploymentDirectory, 'refresh'>;
}

interface Move {
  readonly move: Exclude<DeploymentMove, 'create'>;
  readonly reason: string;
  /** Undefined where the service does it itself. */
  readonly keyId?: string;
  readonly change?: Partial<
    Pick<
      DeploymentRecord,
      'capacity' | 'readyCapacity' | 'ptu' | 'rpmLimit' | 'tpmLimit' | 'generation' | 'reached' | 'modifier'
    >
  >;
}

/** What a transaction does to deployments. */
export interface Change {
  readonly tables: Tables;
  /** False where the name is taken. */
  create(record: DeploymentRecord, reason: string): Promise<boolean>;
  /** Undefined where `states.ts` does not have the move. */
  move(before: DeploymentRecord, move: Move): Promise<DeploymentRecord | undefined>;
  remove(record: DeploymentRecord): Promise<void>;
}

/** One transaction, in which nobody else changes a deployment; then whoever listens is told, and the log. */
export type ChangeDeployments = <T>(work: (change: Change) => Promise<T>) => Promise<T>;

export function createChanges({ store, clock, log, bell, directory }: ChangesNeeds): ChangeDeployments {
  return async (work) => {
    let told: { readonly record: DeploymentRecord; readonly event?: DeploymentEvent }[] = [];
    const result = await store.transaction(async (tables) => {
      const { deployments } = tables;
      // A transaction may be begun again by its database: what an earlier try would have told did not happen.
      told = [];
      const tell = async (record: DeploymentRecord, event: Parameters<typeof asEvent>[1]): Promise<void> => {
        const kept = await deployments.addEvent(asEvent(record, event), { keep: DEPLOYMENT_EVENTS_MAX });
        told.push({ record, event: kept });
      };
      await deployments.lock();
      return await work({
        tables,
        async create(record, reason) {
          if (!(await deployments.insert(record))) return false;
          await tell(record, { move: 'create', from: undefined, reason, keyId: record.creator });
          return true;
        },
        async move(before, { move, reason, keyId, change }) {
          const status = nextStatus(before.status, move);
          if (status === undefined) return undefined;
          assert(status !== 'gone', 'what is gone has no record');
          const record = { ...before, ...change, status, modifiedAt: Math.max(clock.now(), before.modifiedAt) };
          await deployments.save(record);
          await tell(record, { move, from: before.status, reason, keyId });
          return record;
        },
        async remove(record) {
          await deployments.remove(record.id);
          told.push({ record });
        },
      });
    });
    for (const { record, event } of told) {
      const { id, name, region, workspace } = record;
      const about = { deployment: name, id, region, workspace, generation: record.generation };
      if (!event) log.info('a deployment is gone', about);
      else {
        const { move, from, to, reason, capacity, readyCapacity } = event;
        log.info('a deployment changed', { ...about, move, from, to, reason, capacity, readyCapacity });
      }
    }
    if (told.length > 0) {
      // Whoever is answered that it was done finds it so.
      await directory?.refresh();
      bell.ring();
    }
    return result;
  };
}

const asEvent = (
  record: DeploymentRecord,
  event: {
    readonly move: DeploymentMove;
    readonly from: DeploymentRecord['status'] | undefined;
    readonly reason: string;
    readonly keyId: string | undefined;
  },
): Omit<DeploymentEvent, 'number'> => ({
  deployment: record.id,
  at: record.modifiedAt,
  move: event.move,
  from: event.from,
  to: record.status,
  reason: reasonOf(event.move, event.reason),
  keyId: event.keyId,
  generation: record.generation,
  capacity: record.capacity,
  readyCapacity: record.readyCapacity,
});
