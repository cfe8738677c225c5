import type { Log, Meter } from '../core/telemetry.ts';
import type { Admission } from '../generation/admission.ts';
import type { Ledger } from '../generation/ledger.ts';
import type { Quotas } from '../generation/quotas.ts';
import type { Clock } from '../lib/clock.ts';
import type { Lifecycle } from '../lib/lifecycle.ts';
import type { JobHandlers } from '../jobs/handler.ts';
import type { JobTiming } from '../jobs/worker.ts';
import type { Store } from '../store/store.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import type { Capability } from './capability.ts';
import type { EngineHost } from './engine-host.ts';
import type { EngineSharing, ModelEngines } from './model-engines.ts';

/** Components that tests and other processes can replace in a service. */
export interface ServiceOverrides {
  /** The optional parts of the service. Absent: none. */
  readonly capabilities: readonly Capability[];
  /** Opens and closes the modules. It must be new: it belongs to the service. */
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  /** Damage of the database that another process found; requests are refused. */
  readonly databaseProblem: string;
  readonly weights: WeightsStore;
  /** Time from the first use of weights to their check in the background, in ms. */
  readonly weightsCheckDelayMs: number;
  readonly engines: ModelEngines & EngineSharing;
  readonly admission: Admission;
  readonly ledger: Ledger;
  /** Quotas of deployments; with several processes, shared by all. */
  readonly quotas: Quotas;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Number of this worker process, from 1; absent in the primary and in a single process. */
  readonly worker: number;
  /** True when other processes listen on the same addresses; the ports are then not 0. */
  readonly isPortShared: boolean;
  /** The process that runs the engines, when it is not this one. */
  readonly engineHost: EngineHost;
  /** True in a primary with workers: it hosts the engines, listens on nothing, and runs only jobs that need the engines. */
  readonly isPrimary: boolean;
  /** Called when other units serve a deployment, or none. */
  readonly onUnitsReplaced: (id: string) => void;
  /** Makes the processes that share these engines release the leases that they do not use. */
  readonly reclaimUnused: () => Promise<void>;
  /** Returns the metrics of all processes, in a process that is one of several. */
  readonly exposeAllMetrics: Meter['renderMetrics'];
  readonly jobTiming: Partial<JobTiming>;
  /** Handlers of jobs. */
  readonly jobHandlers: JobHandlers;
}
