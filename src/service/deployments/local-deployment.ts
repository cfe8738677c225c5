import type { ModelEntry } from '../../catalogue/model.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import type { Log } from '../../core/telemetry.ts';
import type { ServingStatus } from './deployment-engines.ts';
import type { DeploymentUnits } from './deployment-units.ts';
import type { DrainableEngine } from './drainable-engine.ts';

/** Units that take the calls of a deployment. */
export interface ServingUnits {
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

/** A deployment that this process serves. */
export interface LocalDeployment {
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

export const countWantedUnits = ({ capacity, baseCapacity }: DeploymentRecord): number => capacity / baseCapacity;

export const countReadyUnits = (current: ServingUnits | undefined): number => current?.answering.size ?? 0;

export function getServingStatus({ current, reason }: LocalDeployment): ServingStatus {
  const readyUnits = countReadyUnits(current);
  return reason === undefined ? { readyUnits } : { readyUnits, reason };
}

/** Moves new calls to other units, or to none; the earlier units close after their last call. */
export function replaceUnits(
  deployment: LocalDeployment,
  next: ServingUnits | undefined,
  { log, onReplaced }: { readonly log: Pick<Log, 'warn'>; readonly onReplaced: () => void },
): void {
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
  onReplaced();
}
