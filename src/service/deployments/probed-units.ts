import { createModelGoneError } from '../model-errors.ts';
import type { Catalogue, ModelEntry } from '../../catalogue/model.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { DeploymentUnits, OpenUnits } from './deployment-units.ts';
import { countWantedUnits, type ServingUnits } from './local-deployment.ts';
import { probeUnits } from './probe-units.ts';

export interface ProbedUnitsDeps {
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly open: OpenUnits;
  /** Context length for every entry; undefined: each entry's own. */
  readonly contextTokens: number | undefined;
  readonly log: Pick<Log, 'warn'>;
}

/** Returns the entry of a deployment's model, with the context length of the deployment. */
export function resolveDeploymentEntry(
  { baseModel, spec: { maxContextLength } }: Pick<DeploymentRecord, 'baseModel' | 'spec'>,
  deps: Pick<ProbedUnitsDeps, 'catalogue' | 'contextTokens'>,
): ModelEntry {
  const entry = deps.catalogue.find(baseModel);
  if (!entry) throw createModelGoneError('overloaded', baseModel);
  const contextTokens = Math.min(deps.contextTokens ?? entry.contextTokens, maxContextLength ?? Infinity);
  const { isContextGuessed: _, ...known } = entry;
  return maxContextLength === undefined ? { ...entry, contextTokens } : { ...known, contextTokens };
}

/** Opens the wanted units. If none of them answers its probe, it closes them and retries with half as many. */
export async function openProbedUnits(
  record: DeploymentRecord,
  { previous, signal }: { readonly previous: DeploymentUnits | undefined; readonly signal: AbortSignal },
  deps: ProbedUnitsDeps,
): Promise<Omit<ServingUnits, 'engine'>> {
  const wanted = countWantedUnits(record);
  const entry = resolveDeploymentEntry(record, deps);
  for (let units = wanted; ;) {
    const opened = await deps.open({ name: record.name, entry, units, previous }, signal);
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
      deps.log.warn('no unit of the deployment answered; retrying with half as many', {
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
}

/** Explains why fewer units serve than wanted; undefined if all do. */
export function explainShortage(counts: {
  readonly wanted: number;
  readonly opened: Pick<DeploymentUnits, 'units'>;
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
