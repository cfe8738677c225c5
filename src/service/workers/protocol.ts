import type { Config } from '../../config/config.ts';
import type { ModelsSection } from '../../config/config-file.ts';
import type { EngineClientFunctions, LeaseReference, EngineHostFunctions } from '../../engines/sharing/protocol.ts';
import type { QuotaAmounts } from '../../core/quota.ts';
import type { QuotaShortage, QuotaRequest } from '../../generation/quotas.ts';
import type { MeterSnapshot } from '../../telemetry/meter.ts';
import type { SharedUnits } from '../deployments/connect-units.ts';
import type { DatabaseDamageReport } from '../database-health.ts';
import type { ModelState } from '../engine-host.ts';
import type { ListenAddress } from '../service.ts';

/** Calls from a worker to the primary about deployment units. */
export interface DeploymentLeaseFunctions {
  /** Leases the units that serve the deployment with this id; null when it has none. */
  'deployment.open': (id: string) => UnitsLeaseMessage | null;
  'deployment.release': (released: Pick<UnitsLeaseMessage, 'leaseId'>) => void;
}

interface UnitsLeaseMessage {
  readonly leaseId: number;
  readonly units: SharedUnits;
  /** The processes of the units. */
  readonly processes: readonly LeaseReference[];
}

/** Calls from a worker to the primary. */
export interface PrimaryFunctions extends EngineHostFunctions, DeploymentLeaseFunctions {
  /** Takes from quotas that all workers share. */
  'quota.take': (request: QuotaRequest) => QuotaShortage | null;
  'quota.spend': (usage: readonly { readonly subject: string; readonly amounts: QuotaAmounts }[]) => void;
  'model.state': (model: string) => ModelState;
  /** Returns the metrics of all workers, including exited ones. */
  'metrics.expose': (none: null) => { readonly contentType: string; readonly text: string };
  /** Reports the metrics of the worker. */
  'metrics.report': (reading: MeterSnapshot) => void;
  /** Reports damage of the database that a query of the worker found. */
  'database.report': (report: DatabaseDamageReport) => void;
}

/** Calls from the primary to a worker. */
export interface WorkerFunctions extends EngineClientFunctions {
  /** The first call, made once. Resolves when the worker listens. */
  start: (command: StartWorkerCommand) => readonly ListenAddress[];
  'metrics.read': (none: null) => MeterSnapshot;
  'models.replace': (section: ModelsSection) => void;
  /** Drops cached units of the deployment with this id, because other units serve it now, or none. */
  'deployment.invalidate': (id: string) => void;
  /** Ends the running requests with the error of their protocol. */
  'requests.abort': (none: null) => void;
  /** Refuses requests, because a check of the database found this problem. */
  'database.refuse': (problem: string) => void;
  /** Passes on damage of the database that a query of any process found. */
  'database.report': (report: DatabaseDamageReport) => void;
  /** Accepts nothing new, lets running requests finish within the grace time, and exits. */
  drain: (none: null) => void;
}

export interface StartWorkerCommand {
  /** Names the shared ports, none of them 0, and the current models. */
  readonly config: Config;
  /** Counts from 1; a replacement gets the number of the worker that it replaces. */
  readonly worker: number;
  /** Damage of the database for which requests are refused; null while none was found. */
  readonly databaseProblem: string | null;
  /** Damage of the database that a query found; null while none was found. */
  readonly databaseCorruption: DatabaseDamageReport | null;
  /** True when each worker opens the port itself; false when the primary accepts and hands connections over. */
  readonly isPortShared: boolean;
}
