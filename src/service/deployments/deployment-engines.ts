import type { DeploymentRecord } from '../../core/deployment.ts';
import type { EngineLease } from '../../engines/engine-registry.ts';

/** The fields of a deployment that a call needs, as they were when its model name was resolved. */
export type DeploymentSummary = Pick<DeploymentRecord, 'id' | 'name' | 'status' | 'capacity'>;

/** How much of a deployment serves now. */
export interface ServingStatus {
  /** Number of units that answered their probe and are still up. */
  readonly readyUnits: number;
  /** Why fewer units serve than wanted. */
  readonly reason?: string;
}

/** Engines that belong to one deployment each (plans `mu` and `cu`). */
export interface DeploymentEngines {
  /**
   * Leases the engine of a deployment. A call that has started finishes on this engine even when the deployment is scaled or
   * deleted meanwhile, within the drain time that the operator configured.
   * @throws ServiceError `overloaded`, naming the deployment and its status, when no unit serves.
   */
  engineFor(deployment: DeploymentSummary): Promise<EngineLease>;
  /** Returns the status of a deployment; undefined when this process has not reconciled it. */
  getServingStatus(id: string): ServingStatus | undefined;
  /**
   * Starts the units that the record wants, moves new calls to them, and closes the earlier units after their last call. Keeps
   * the current units when they match the record, or when a restart would give fewer. A newer generation aborts the
   * reconciliation of an older one.
   * @throws ServiceError with the reason when no unit started and none served before.
   */
  reconcile(record: DeploymentRecord, signal: AbortSignal): Promise<ServingStatus>;
  /** Stops serving a deployment. Returns true when nothing of it is left; else call again later. */
  retire(id: string): Promise<boolean>;
  close(): Promise<void>;
}
