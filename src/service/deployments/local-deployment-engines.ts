import { isDeepStrictEqual } from 'node:util';
import { createNoCapacityError } from '../../catalogue/deployment-entry.ts';
import type { Catalogue } from '../../catalogue/model.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError, SHUTTING_DOWN_MESSAGE } from '../../core/error.ts';
import { DEPLOYMENT_MONITOR_MS } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { startInterval as systemStartInterval, type StartInterval } from '../../lib/start-interval.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import type { DeploymentSummary, DeploymentEngines, ServingStatus } from './deployment-engines.ts';
import type { DeploymentUnits, OpenUnits } from './deployment-units.ts';
import type { SharedUnits } from './connect-units.ts';
import { createDrainableEngine } from './drainable-engine.ts';
import {
  countReadyUnits,
  countWantedUnits,
  getServingStatus,
  replaceUnits,
  type LocalDeployment,
  type ServingUnits,
} from './local-deployment.ts';
import { monitorUnits } from './monitor-units.ts';
import { openProbedUnits } from './probed-units.ts';

export interface LocalDeploymentEnginesDeps {
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly open: OpenUnits;
  /** Context length for every entry; undefined: each entry's own. */
  readonly contextTokens: number | undefined;
  /** How long running calls may continue after other units have replaced theirs, in ms. */
  readonly drainMs: number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called when the number of serving units changes without a request: an engine exited or came back. */
  readonly onServingStatus: (id: string) => void;
  /** Called when other units serve a deployment, or none; holders of leases on the earlier units should release them. */
  readonly onUnitsReplaced?: (id: string) => void;
  readonly startInterval?: StartInterval;
}

export interface LocalDeploymentEngines extends DeploymentEngines {
  /** Leases the units that serve a deployment, for another process; undefined when it has none. */
  leaseUnits(id: string): UnitsLease | undefined;
}

/** A lease on the units of a deployment, for another process that calls them. */
export interface UnitsLease extends SharedUnits {
  readonly processes: DeploymentUnits['processes'];
  release(): void;
}

/** Creates the engines of all deployments in this process. */
export function createLocalDeploymentEngines(deps: LocalDeploymentEnginesDeps): LocalDeploymentEngines {
  const { log, onServingStatus, onUnitsReplaced = () => undefined, startInterval = systemStartInterval } = deps;
  const deployments = new Map<string, LocalDeployment>();
  const closing = new AbortController();

  const replace = (deployment: LocalDeployment, id: string, next: ServingUnits | undefined): void =>
    replaceUnits(deployment, next, { log, onReplaced: () => onUnitsReplaced(id) });

  const getOrCreateDeployment = ({ id, name, workspace }: DeploymentRecord): LocalDeployment => {
    const deployment = deployments.get(id) ?? { name, workspace, draining: new Map() };
    deployments.set(id, deployment);
    return deployment;
  };

  const stopMonitoring = startInterval(DEPLOYMENT_MONITOR_MS, () => {
    for (const [id, deployment] of deployments)
      if (deployment.current)
        monitorUnits(deployment, deployment.current, { signal: closing.signal, onChange: () => onServingStatus(id) });
  });

  return {
    async engineFor(deployment: DeploymentSummary) {
      const current = deployments.get(deployment.id)?.current;
      if (!current) throw createNoCapacityError(deployment);
      return current.engine.lease();
    },
    getServingStatus(id) {
      const deployment = deployments.get(id);
      return deployment && getServingStatus(deployment);
    },
    leaseUnits(id) {
      const deployment = deployments.get(id);
      if (!deployment?.current) return undefined;
      const { entry, opened, engine } = deployment.current;
      const { connection: reach, processes, units } = opened;
      const { release } = engine.lease();
      return { name: deployment.name, entry, units: units.length, connection: reach, processes, release };
    },
    async reconcile(record, signal) {
      signal.throwIfAborted();
      const { generation } = record;
      const deployment = getOrCreateDeployment(record);
      const { reconciliation } = deployment;
      if (reconciliation?.generation === generation) return await reconciliation.result;
      reconciliation?.abort(new ServiceError('cancelled', 'A newer deployment generation supersedes this one.'));
      const controller = createLinkedAbort(signal, closing.signal);
      const result = Promise.resolve(reconciliation?.result.catch(() => undefined))
        .then(() => {
          controller.signal.throwIfAborted();
          return applyRecord(deployment, record, {
            deps,
            replace: (next) => replace(deployment, record.id, next),
            signal: controller.signal,
          });
        })
        .finally(() => {
          if (deployment.reconciliation?.result === result) delete deployment.reconciliation;
          controller.unlink();
        });
      deployment.reconciliation = { generation, abort: controller.abort, result };
      return await result;
    },
    async retire(id) {
      const deployment = deployments.get(id);
      if (!deployment) return true;
      deployment.reconciliation?.abort(new ServiceError('cancelled', 'The deployment is deleted.'));
      if (deployment.reconciliation) return false;
      replace(deployment, id, undefined);
      if (deployment.draining.size > 0) return false;
      deployments.delete(id);
      return true;
    },
    async close() {
      stopMonitoring();
      closing.abort(new ServiceError('cancelled', SHUTTING_DOWN_MESSAGE));
      await Promise.allSettled([...deployments.values()].flatMap(({ reconciliation }) => reconciliation?.result ?? []));
      // The HTTP server has already waited for running calls, or aborted them.
      for (const [id, deployment] of deployments) replace(deployment, id, undefined);
      const draining = [...deployments.values()].flatMap((deployment) => [...deployment.draining]);
      for (const [serving] of draining) serving.abort();
      await Promise.all(draining.map(([, ended]) => ended));
      deployments.clear();
    },
  };
}

interface ReconciliationStep {
  readonly deps: LocalDeploymentEnginesDeps;
  /** Moves new calls to other units, or to none. */
  readonly replace: (next: ServingUnits | undefined) => void;
  readonly signal: AbortSignal;
}

/** Opens the units that a record wants, unless they serve already, and moves new calls to them. */
async function applyRecord(
  deployment: LocalDeployment,
  record: DeploymentRecord,
  { deps, replace, signal }: ReconciliationStep,
): Promise<ServingStatus> {
  const { current } = deployment;
  const wanted = countWantedUnits(record);
  if (wanted === 0) {
    replace(undefined);
    deployment.reason = undefined;
    return getServingStatus(deployment);
  }
  const isUnchanged = isDeepStrictEqual(current?.entry.runner, deps.catalogue.find(record.baseModel)?.runner);
  if (isUnchanged && current?.wantedUnits === wanted && current.answering.size === wanted)
    return getServingStatus(deployment);
  try {
    const next = await openProbedUnits(record, { previous: current?.opened, signal }, deps);
    const { opened, reason } = next;
    const isNoGain = next.answering.size < wanted && next.answering.size <= countReadyUnits(current);
    if (signal.aborted || isNoGain) {
      await opened.close();
      signal.throwIfAborted();
      throw new ServiceError('overloaded', reason ?? 'The machine cannot serve more units than it serves now.');
    }
    const serving = createDrainableEngine({
      engine: opened.engine,
      name: record.name,
      drainMs: deps.drainMs,
      close: opened.close,
    });
    replace({ ...next, engine: serving });
    deployment.reason = reason;
  } catch (error) {
    if (signal.aborted || countReadyUnits(current) === 0) throw error;
    // The current units continue to serve: they are at least a part of what is wanted.
    deployment.reason = ServiceError.from(error).message;
  }
  return getServingStatus(deployment);
}
