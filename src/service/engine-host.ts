import type { SupervisedProcess } from '../engines/supervisor.ts';
import type { SharedUnits, ProcessConnector } from './deployments/connect-units.ts';

export interface ModelState {
  readonly state: 'ready' | 'on-demand' | 'starting' | 'failing' | 'downloading' | 'missing' | 'off';
  /** Explanation for the operator; absent when ready. */
  readonly reason?: string;
  /** Fact about a working model that its operator should know. */
  readonly warning?: string;
}

/** The process of the same service that hosts the engines: the primary. */
export interface EngineHost {
  /** Leases the process of the model's engine; `Ready` is its ready value. @throws ServiceError as `engineFor`. */
  open<Ready>(model: string): Promise<SupervisedProcess<Ready>>;
  getState(model: string): Promise<ModelState>;
  /** Leases the units that serve a deployment; undefined when it has none. */
  leaseUnits(id: string): Promise<LeasedUnits | undefined>;
}

/** Units of a deployment that the primary hosts, leased until `release`. */
export interface LeasedUnits {
  readonly units: SharedUnits;
  readonly processes: readonly ProcessConnector[];
  release(): Promise<void>;
}
