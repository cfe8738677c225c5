import { isDeepStrictEqual } from 'node:util';
import { noCapacity } from '../../catalogue/deployed.ts';
import type { Catalogue, ModelEntry } from '../../catalogue/model.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import { DEPLOYMENT_MONITOR_MS } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { every as systemEvery } from '../../lib/every.ts';
import type { Every } from '../../lib/every.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import type { CalledDeployment, DeployedEngines, Standing } from './deployed.ts';
import type { OpenedUnits, OpenUnits } from './opened-units.ts';
import { probeUnits } from './probe-units.ts';
import type { LentUnits } from './reach-units.ts';
import { createServing } from './serving.ts';
import type { Serving } from './serving.ts';

export interface DeployedEnginesNeeds {
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly open: OpenUnits;
  /** Overrides what the entries say. */
  readonly contextTokens: number | undefined;
  /** How long calls may go on when another engine has taken the place of theirs, in ms. */
  readonly drainMs: number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** What serves became more or less by itself: an engine ended, or is there again. */
  readonly onStanding: (id: string) => void;
  /** Another engine serves, or none: whoever holds the earlier one is to let it go. */
  readonly onSwitch?: (id: string) => void;
  readonly every?: Every;
}

export interface KeptEngines extends DeployedEngines {
  /** Undefined where nothing of it serves. */
  lend(id: string): Loan | undefined;
}

/** What serves, for another process that calls it. */
export interface Loan extends LentUnits {
  readonly processes: OpenedUnits['processes'];
  release(): void;
}

/** Units that serve. */
interface Current {
  readonly entry: ModelEntry;
  readonly opened: OpenedUnits;
  readonly serving: Serving;
  readonly wanted: number;
  /** Why these are not all that was wanted. */
  readonly reason: string | undefined;
  /** Units that have answered since they came up last. */
  answered: ReadonlySet<number>;
  isProbing: boolean;
}

interface Deployed {
  readonly name: string;
  readonly workspace: string;
  current?: Current | undefined;
  /** Of the generation that was brought about last. */
  reason?: string | undefined;
  making?: { readonly generation: number; readonly abort: (reason: unknown) => void; readonly made: Promise<Standing> };
  /** Engines that end with their last call. */
  readonly ending: Map<Serving, Promise<void>>;
}

/** Keeps the engines of all deployments of this process. */
export function createDeployedEngines(needs: DeployedEnginesNeeds): KeptEngines {
  const { catalogue, open, drainMs, log, onStanding, onSwitch = () => undefined, every = systemEvery } = needs;
  const all = new Map<string, Deployed>();
  const closing = new AbortController();

  const entryOf = ({ baseModel, spec: { maxContextLength } }: DeploymentRecord): ModelEntry => {
    const entry = catalogue.find(baseModel);
    if (!entry) throw new ServiceError('overloaded', `There is no model ${baseModel} any more.`);
    const contextTokens = Math.min(needs.contextTokens ?? entry.contextTokens, maxContextLength ?? Infinity);
    const { isContextGuessed: _, ...known } = entry;
    return maxContextLength === undefined ? { ...entry, contextTokens } : { ...known, contextTokens };
  };

  /** What did not come up is closed again; of what does not come up at all, half as much is tried. */
  const openAndProbe = async (
    record: DeploymentRecord,
    { previous, signal }: { readonly previous: OpenedUnits | undefined; readonly signal: AbortSignal },
  ): Promise<Omit<Current, 'serving'>> => {
    const wanted = unitsWanted(record);
    const entry = entryOf(record);
    for (let units = wanted; ;) {
      const opened = await open({ name: record.name, entry, units, previous }, signal);
      units = Math.floor(opened.units.length / 2);
      try {
        const results = await probeUnits(opened.units, record, signal);
        const answered = new Set(results.flatMap((failure, unit) => (failure ? [] : [unit])));
        const failure = results.find((each) => each !== undefined);
        if (answered.size > 0) {
          const reason = opened.reason ?? reasonOf({ wanted, opened, answered, failure });
          return { entry, opened, reason, wanted, answered, isProbing: false };
        }
        if (opened.units.length <= 1) throw failure ?? new ServiceError('overloaded', 'Its engine gave no token.');
        log.warn('units of a deployment do not come up together: half as many are tried', {
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

  const make = async (deployed: Deployed, record: DeploymentRecord, signal: AbortSignal): Promise<Standing> => {
    const { current } = deployed;
    const wanted = unitsWanted(record);
    if (wanted === 0) {
      switchTo(deployed, record.id, undefined);
      deployed.reason = undefined;
      return standing(deployed);
    }
    const isAsItWas = isDeepStrictEqual(current?.entry.runs, catalogue.find(record.baseModel)?.runs);
    if (isAsItWas && current?.wanted === wanted && current.answered.size === wanted) return standing(deployed);
    try {
      const next = await openAndProbe(record, { previous: current?.opened, signal });
      const { opened, reason } = next;
      const isInVain = next.answered.size < wanted && next.answered.size <= upOf(current);
      if (signal.aborted || isInVain) {
        await opened.close();
        signal.throwIfAborted();
        throw new ServiceError('overloaded', reason ?? 'No more units would serve than do now.');
      }
      const serving = createServing({ engine: opened.engine, name: record.name, drainMs, close: opened.close });
      switchTo(deployed, record.id, { ...next, serving });
      deployed.reason = reason;
    } catch (error) {
      if (signal.aborted || upOf(current) === 0) throw error;
      // What serves goes on: it is at least a part of what is wanted.
      deployed.reason = ServiceError.from(error).message;
    }
    return standing(deployed);
  };

  const switchTo = (deployed: Deployed, id: string, next: Current | undefined): void => {
    const before = deployed.current;
    deployed.current = next;
    if (!before) return;
    const ended = before.serving
      .retire()
      .catch((error: unknown) =>
        log.warn('an engine of a deployment did not end well', { deployment: deployed.name, error }),
      )
      .finally(() => deployed.ending.delete(before.serving));
    deployed.ending.set(before.serving, ended);
    onSwitch(id);
  };

  const deployedOf = ({ id, name, workspace }: DeploymentRecord): Deployed => {
    const known = all.get(id) ?? { name, workspace, ending: new Map() };
    all.set(id, known);
    return known;
  };

  /** Units that are there; those that are there again first have to show it. */
  const look = (id: string, deployed: Deployed, current: Current): void => {
    const { opened } = current;
    const isUp = (unit: number): boolean => {
      const engine = opened.units[unit];
      return engine !== undefined && opened.isUp(engine);
    };
    const lost = [...current.answered].filter((unit) => !isUp(unit));
    if (lost.length > 0) {
      current.answered = new Set([...current.answered].filter((unit) => !lost.includes(unit)));
      deployed.reason = `${lost.length} of ${opened.units.length} units went away: an engine ended or does not answer.`;
      onStanding(id);
    }
    const back = [...opened.units.keys()].filter((unit) => !current.answered.has(unit) && isUp(unit));
    if (back.length === 0 || current.isProbing) return;
    current.isProbing = true;
    const engines = back.flatMap((unit) => opened.units[unit] ?? []);
    probeUnits(engines, deployed, closing.signal)
      .then((results) => {
        const answered = back.filter((unit, at) => results[at] === undefined && isUp(unit));
        if (answered.length === 0 || deployed.current !== current) return;
        current.answered = new Set([...current.answered, ...answered]);
        deployed.reason = current.answered.size < current.wanted ? (current.reason ?? deployed.reason) : undefined;
        onStanding(id);
      })
      .catch(() => undefined) // this process ends
      .finally(() => (current.isProbing = false));
  };

  const stopLooking = every(DEPLOYMENT_MONITOR_MS, () => {
    for (const [id, deployed] of all) if (deployed.current) look(id, deployed, deployed.current);
  });

  return {
    async engineFor(deployment: CalledDeployment) {
      const current = all.get(deployment.id)?.current;
      if (!current) throw noCapacity(deployment);
      return current.serving.lease();
    },
    standingOf(id) {
      const deployed = all.get(id);
      return deployed && standing(deployed);
    },
    lend(id) {
      const deployed = all.get(id);
      if (!deployed?.current) return undefined;
      const { entry, opened, serving } = deployed.current;
      const { reach, processes, units } = opened;
      const { release } = serving.lease();
      return { name: deployed.name, entry, units: units.length, reach, processes, release };
    },
    async bringAbout(record, signal) {
      signal.throwIfAborted();
      const { generation } = record;
      const deployed = deployedOf(record);
      const { making } = deployed;
      if (making?.generation === generation) return await making.made;
      making?.abort(new ServiceError('cancelled', 'Another capacity is wanted by now.'));
      const work = linkedAbort(signal);
      const onClose = (): void => work.abort(new ServiceError('cancelled', 'The service ends.'));
      closing.signal.addEventListener('abort', onClose, { once: true });
      if (closing.signal.aborted) onClose();
      const made = Promise.resolve(making?.made.catch(() => undefined))
        .then(() => {
          work.signal.throwIfAborted();
          return make(deployed, record, work.signal);
        })
        .finally(() => {
          if (deployed.making?.made === made) delete deployed.making;
          closing.signal.removeEventListener('abort', onClose);
          work.unlink();
        });
      deployed.making = { generation, abort: work.abort, made };
      return await made;
    },
    async retire(id) {
      const deployed = all.get(id);
      if (!deployed) return true;
      deployed.making?.abort(new ServiceError('cancelled', 'The deployment is deleted.'));
      if (deployed.making) return false;
      switchTo(deployed, id, undefined);
      if (deployed.ending.size > 0) return false;
      all.delete(id);
      return true;
    },
    async close() {
      stopLooking();
      closing.abort();
      await Promise.allSettled([...all.values()].flatMap(({ making }) => making?.made ?? []));
      // Callers have been waited for before, or were broken off.
      for (const [id, deployed] of all) switchTo(deployed, id, undefined);
      const ending = [...all.values()].flatMap((deployed) => [...deployed.ending]);
      for (const [serving] of ending) serving.cut();
      await Promise.all(ending.map(([, ended]) => ended));
      all.clear();
    },
  };
}

const unitsWanted = ({ capacity, baseCapacity }: DeploymentRecord): number => capacity / baseCapacity;

const upOf = (current: Current | undefined): number => current?.answered.size ?? 0;

function standing({ current, reason }: Deployed): Standing {
  const readyUnits = upOf(current);
  return reason === undefined ? { readyUnits } : { readyUnits, reason };
}

function reasonOf(at: {
  readonly wanted: number;
  readonly opened: OpenedUnits;
  readonly answered: ReadonlySet<number>;
  readonly failure: ServiceError | undefined;
}): string | undefined {
  const { wanted, opened, answered, failure } = at;
  const { length } = opened.units;
  if (answered.size < length) return `${answered.size} of ${length} units answered: ${failure?.message ?? ''}`;
  return length < wanted
    ? `${length} of ${wanted} units come up together; with more, the engine does not start.`
    : undefined;
}
