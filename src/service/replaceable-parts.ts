import type { Research } from '../core/research.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import type { Admission } from '../generation/admission.ts';
import type { Ledger } from '../generation/ledger.ts';
import type { Quotas } from '../generation/quotas.ts';
import type { Clock } from '../lib/clock.ts';
import type { JobHandlers } from '../jobs/handler.ts';
import type { JobTiming } from '../jobs/worker.ts';
import type { Store } from '../store/store.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import type { EngineHost, EngineSharing, ModelEngines } from './model-engines.ts';

/** What a test or another program may put in the place of a part. */
export interface Parts {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly weights: WeightsStore;
  readonly engines: ModelEngines & EngineSharing;
  readonly admission: Admission;
  readonly ledger: Ledger;
  /** Of deployments; where several processes serve, those of all. */
  readonly quotas: Quotas;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Which of several processes this is. */
  readonly worker: number;
  /** Whether others listen on the same addresses; their ports are not 0 then. */
  readonly isPortShared: boolean;
  /** Where the engines run, if not here. */
  readonly engineHost: EngineHost;
  /** Whether others listen, and this one keeps the engines: of the jobs only those that need them are its work. */
  readonly isPrimary: boolean;
  /** Hears that other units serve a deployment, or none. */
  readonly onSwitch: (id: string) => void;
  /** Asks the processes that share the engines of this one for what they do not use. */
  readonly recall: () => Promise<void>;
  /** What the metrics of all processes are, where this is one of several. */
  readonly exposeAll: Meter['expose'];
  readonly jobTiming: Partial<JobTiming>;
  /** What deep research does. */
  readonly research: Research;
  /** Who works at jobs. */
  readonly jobHandlers: JobHandlers;
}
