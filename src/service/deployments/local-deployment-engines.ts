import { isDeepStrictEqual } from 'node:util';
import { createNoCapacityError } from '../../catalogue/deployment-entry.ts';
import type { Catalogue, ModelEntry } from '../../catalogue/model.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import { DEPLOYMENT_MONITOR_MS } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { startInterval as systemStartInterval } from '../../lib/start-interval.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import type { DeploymentSummary, DeploymentEngines, ServingStatus } from './deployment-engines.ts';
import type { DeploymentUnits, OpenUnits } from './deployment-units.ts';
import { probeUnits } from './probe-units.ts';
import type { SharedUnits } from './connect-units.ts';
import { createDrainableEngine } from './drainable-engine.ts';
import type { DrainableEngine } from './drainable-engine.ts';

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

/** Units that take the calls of a deployment. */
interface ServingUnits {
  readonly entry: ModelEntry;
  readonly opened: DeploymentUnits;
  readonly engine: DrainableEngine;
  readonly wantedUnits: number;
  /** Why there are fewer units than wanted. */
  readonly reason: string | undefined;
  /** Indexes of the units that have answered a probe since they last started. */
  answering: ReadonlySet<number>;
  isProbing: boolean;
}

interface LocalDeployment {
  readonly name: string;
  readonly workspace: string;
  current?: ServingUnits | undefined;
  /** Why fewer units serve than the last reconciled generation wants. */
  reason?: string | undefined;
  reconciliation?: {
    readonly generation: number;
    readonly abort: (reason: unknown) => void;
    readonly result: Promise<ServingStatus>;
  };
  /** Replaced engines that still run calls, each with the promise of its end. */
  readonly draining: Map<DrainableEngine, Promise<void>>;
}

/** Creates the engines of all deployments in this process. */
export function createLocalDeploymentEngines(deps: LocalDeploymentEnginesDeps): LocalDeploymentEngines {
  const {
    catalogue,
    open,
    drainMs,
    log,
    onServingStatus,
    onUnitsReplaced = () => undefined,
    startInterval = systemStartInterval,
  } = deps;
  const deployments = new Map<string, LocalDeployment>();
  const closing = new AbortController();

  const resolveEntry = ({ baseModel, spec: { maxContextLength } }: DeploymentRecord): ModelEntry => {
    const entry = catalogue.find(baseModel);
    if (!entry) throw new ServiceError('overloaded', `There is no model ${baseModel} in the catalogue any more.`);
    const contextTokens = Math.min(deps.contextTokens ?? entry.contextTokens, maxContextLength ?? Infinity);
    const { isContextGuessed: _, ...known } = entry;
    return maxContextLength === undefined ? { ...entry, contextTokens } : { ...known, contextTokens };
  };

  /** Opens the wanted units. If none of them answers its probe, it closes them and retries with half as many. */
  const openAndProbe = async (
    record: DeploymentRecord,
    { previous, signal }: { readonly previous: DeploymentUnits | undefined; readonly signal: AbortSignal },
  ): Promise<Omit<ServingUnits, 'engine'>> => {
    const wanted = countWantedUnits(record);
    const entry = resolveEntry(record);
    for (let units = wanted; ;) {
      const opened = await open({ name: record.name, entry, units, previous }, signal);
      units = Math.floor(opened.units.length / 2);
      try {
        const results = await probeUnits(opened.units, record, signal);
        const answering = new Set(results.flatMap((failure, unit) => (failure ? [] : [unit])));
        const failure = results.find((each) => each !== undefined);
        if (answering.size > 0) {
          const reason = opened.reason ?? explainShortage({ wanted, opened, answered: answering, failure });
          return { entry, opened, reason, wantedUnits: wanted, answering, isProbing: false };
        }
        if (opened.units.length <= 1)
          throw failure ?? new ServiceError('overloaded', 'The engine of the deployment generated no token.');
        log.warn('no unit of the deployment answered; retrying with half as many', {
          deployment: record.name,
          units: opened.units.length,
          why: failure?.message,
        });
        await opened.close();
      } catch (error) {
        await opened.close();
        throw error;
      }
    }
  };

  const applyRecord = async (
    deployment: LocalDeployment,
    record: DeploymentRecord,
    signal: AbortSignal,
  ): Promise<ServingStatus> => {
    const { current } = deployment;
    const wanted = countWantedUnits(record);
    if (wanted === 0) {
      replaceUnits(deployment, record.id, undefined);
      deployment.reason = undefined;
      return getServingStatus(deployment);
    }
    const isUnchanged = isDeepStrictEqual(current?.entry.runner, catalogue.find(record.baseModel)?.runner);
    if (isUnchanged && current?.wantedUnits === wanted && current.answering.size === wanted)
      return getServingStatus(deployment);
    try {
      const next = await openAndProbe(record, { previous: current?.opened, signal });
      const { opened, reason } = next;
      const isNoGain = next.answering.size < wanted && next.answering.size <= countReadyUnits(current);
      if (signal.aborted || isNoGain) {
        await opened.close();
        signal.throwIfAborted();
        throw new ServiceError('overloaded', reason ?? 'The machine cannot serve more units than it serves now.');
      }
      const serving = createDrainableEngine({ engine: opened.engine, name: record.name, drainMs, close: opened.close });
      replaceUnits(deployment, record.id, { ...next, engine: serving });
      deployment.reason = reason;
    } catch (error) {
      if (signal.aborted || countReadyUnits(current) === 0) throw error;
      // The current units continue to serve: they are at least a part of what is wanted.
      deployment.reason = ServiceError.from(error).message;
    }
    return getServingStatus(deployment);
  };

  const replaceUnits = (deployment: LocalDeployment, id: string, next: ServingUnits | undefined): void => {
    const previous = deployment.current;
    deployment.current = next;
    if (!previous) return;
    const drained = previous.engine
      .retire()
      .catch((error: unknown) =>
        log.warn('closing a replaced engine of the deployment failed', { deployment: deployment.name, error }),
      )
      .finally(() => deployment.draining.delete(previous.engine));
    deployment.draining.set(previous.engine, drained);
    onUnitsReplaced(id);
  };

  const getOrCreateDeployment = ({ id, name, workspace }: DeploymentRecord): LocalDeployment => {
    const deployment = deployments.get(id) ?? { name, workspace, draining: new Map() };
    deployments.set(id, deployment);
    return deployment;
  };

  /** Compares the units with their last state; a unit that is up again must first answer a probe. */
  const monitor = (id: string, deployment: LocalDeployment, current: ServingUnits): void => {
    const { opened } = current;
    const isUp = (unit: number): boolean => {
      const engine = opened.units[unit];
      return engine !== undefined && opened.isUp(engine);
    };
    const lostUnits = [...current.answering].filter((unit) => !isUp(unit));
    if (lostUnits.length > 0) {
      current.answering = new Set([...current.answering].filter((unit) => !lostUnits.includes(unit)));
      deployment.reason = `${lostUnits.length} of ${opened.units.length} units are lost: an engine exited or does not answer.`;
      onServingStatus(id);
    }
    const recovered = [...opened.units.keys()].filter((unit) => !current.answering.has(unit) && isUp(unit));
    if (recovered.length === 0 || current.isProbing) return;
    current.isProbing = true;
    const engines = recovered.flatMap((unit) => opened.units[unit] ?? []);
    probeUnits(engines, deployment, closing.signal)
      .then((results) => {
        const proven = recovered.filter((unit, at) => results[at] === undefined && isUp(unit));
        if (proven.length === 0 || deployment.current !== current) return;
        current.answering = new Set([...current.answering, ...proven]);
        deployment.reason =
          current.answering.size < current.wantedUnits ? (current.reason ?? deployment.reason) : undefined;
        onServingStatus(id);
      })
      .catch(() => undefined) // rejects only when this process shuts down
      .finally(() => (current.isProbing = false));
  };

  const stopMonitoring = startInterval(DEPLOYMENT_MONITOR_MS, () => {
    for (const [id, deployment] of deployments) if (deployment.current) monitor(id, deployment, deployment.current);
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
      const controller = createLinkedAbort(signal);
      const onClose = (): void => controller.abort(new ServiceError('cancelled', 'The service is shutting down.'));
      closing.signal.addEventListener('abort', onClose, { once: true });
      if (closing.signal.aborted) onClose();
      const result = Promise.resolve(reconciliation?.result.catch(() => undefined))
        .then(() => {
          controller.signal.throwIfAborted();
          return applyRecord(deployment, record, controller.signal);
        })
        .finally(() => {
          if (deployment.reconciliation?.result === result) delete deployment.reconciliation;
          closing.signal.removeEventListener('abort', onClose);
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
      replaceUnits(deployment, id, undefined);
      if (deployment.draining.size > 0) return false;
      deployments.delete(id);
      return true;
    },
    async close() {
      stopMonitoring();
      closing.abort();
      await Promise.allSettled([...deployments.values()].flatMap(({ reconciliation }) => reconciliation?.result ?? []));
      // The HTTP server has already waited for running calls, or aborted them.
      for (const [id, deployment] of deployments) replaceUnits(deployment, id, undefined);
      const draining = [...deployments.values()].flatMap((deployment) => [...deployment.draining]);
      for (const [serving] of draining) serving.abort();
      await Promise.all(draining.map(([, ended]) => ended));
      deployments.clear();
    },
  };
}

const countWantedUnits = ({ capacity, baseCapacity }: DeploymentRecord): number => capacity / baseCapacity;

const countReadyUnits = (current: ServingUnits | undefined): number => current?.answering.size ?? 0;

function getServingStatus({ current, reason }: LocalDeployment): ServingStatus {
  const readyUnits = countReadyUnits(current);
  return reason === undefined ? { readyUnits } : { readyUnits, reason };
}

function explainShortage(counts: {
  readonly wanted: number;
  readonly opened: DeploymentUnits;
  readonly answered: ReadonlySet<number>;
  readonly failure: ServiceError | undefined;
}): string | undefined {
  const { wanted, opened, answered, failure } = counts;
  const { length } = opened.units;
  if (answered.size < length)
    return `${answered.size} of ${length} units answered their probe: ${failure?.message ?? ''}`;
  return length < wanted
    ? `${length} of ${wanted} units can run at once; with more, the engine fails to start.`
    : undefined;
}
