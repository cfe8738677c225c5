import type { DeploymentRecord } from '../../core/deployment.ts';
import type { Lease } from '../../engines/registry.ts';

/** Of a deployment, what a call needs to know: as it was when its name was resolved. */
export type CalledDeployment = Pick<DeploymentRecord, 'id' | 'name' | 'status' | 'capacity'>;

/** What serves of a deployment now. */
export interface Standing {
  /** Units that answered their probe and are still there. */
  readonly readyUnits: number;
  /** Why that is less than what is wanted. */
  readonly reason?: string;
}

/** Engines that belong to one deployment each: plans `mu` and `cu`. */
export interface DeployedEngines {
  /**
   * Its engine, until the lease is released. What it works on then is brought to its end there, also when the deployment is
   * scaled or deleted meanwhile, as long as that takes no longer than the operator allows.
   * @throws ServiceError `overloaded` naming the deployment and its status where nothing of it serves.
   */
  engineFor(deployment: CalledDeployment): Promise<Lease>;
  /** Undefined where nothing was brought about here. */
  standingOf(id: string): Standing | undefined;
  /**
   * Makes what the record wants: new calls go there, and what served before ends with its last call. Where that is there
   * already, nothing is made; where less of it can be made than there is, that stays. A newer generation ends the making of
   * an older one. @throws ServiceError why not one unit came up, where none was there before.
   */
  bringAbout(record: DeploymentRecord, signal: AbortSignal): Promise<Standing>;
  /** Takes no calls for it from here on. True when nothing of it is left. */
  retire(id: string): Promise<boolean>;
  close(): Promise<void>;
}
