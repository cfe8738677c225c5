import type { ModelsSection } from '../config/config-file.ts';
import type { Log } from '../core/telemetry.ts';
import type { Quotas } from '../generation/quotas.ts';
import type { MeterSnapshot } from '../telemetry/meter.ts';
import type { UnitsLease } from './deployments/local-deployment-engines.ts';
import type { ModelState } from './engine-host.ts';
import type { EngineSharing } from './model-engines.ts';

export interface ProcessSharing extends EngineSharing {
  readonly log: Log;
  /** Quotas of deployments. */
  readonly quotas: Quotas;
  /** Writes complete log lines of another process to this process's log. */
  writeLogLines(lines: string): void;
  getModelState(model: string): Promise<ModelState>;
  readMeter(): Promise<MeterSnapshot>;
  /** Leases the units that serve a deployment, for another process; undefined when it has none. */
  leaseDeploymentUnits(id: string): UnitsLease | undefined;
  /** Drops cached units of a deployment after the process that hosts them has replaced or removed them. */
  invalidateDeployment(id: string): void;
  /** Resets deployments and starts the job worker, in the process that hosts the engines, before requests are served. */
  startJobs(): Promise<void>;
  /** Replaces the operator's catalogue entries. @throws ServiceError; the current entries then stay. */
  replaceModels(section: ModelsSection): Promise<void>;
}
