import type { ModelsSection } from '../config/config-file.ts';
import type { Log } from '../core/telemetry.ts';
import type { Quotas } from '../generation/quotas.ts';
import type { MeterReading } from '../telemetry/meter.ts';
import type { Loan } from './deployed/deployed-engines.ts';
import type { EngineSharing, ModelState } from './model-engines.ts';

export interface ProcessSharing extends EngineSharing {
  readonly log: Log;
  /** Of deployments. */
  readonly quotas: Quotas;
  /** Puts whole lines of another process among those of this one. */
  writeLogLines(lines: string): void;
  stateOf(model: string): Promise<ModelState>;
  readMeter(): Promise<MeterReading>;
  /** For other processes: what serves of a deployment. */
  lend(id: string): Loan | undefined;
  /** From another process: other units serve a deployment, or none. */
  deploymentSwitched(id: string): void;
  /** Of the process that keeps the engines, before anything serves: brings about what is wanted of deployments. */
  work(): Promise<void>;
  /** These and no others, beside those that are shipped. @throws ServiceError; then they stay as they are. */
  useModels(section: ModelsSection): Promise<void>;
}
