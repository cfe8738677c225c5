import type { Config } from '../../config/config.ts';
import type { ModelsSection } from '../../config/config-file.ts';
import type { GuestFunctions, Held, HostFunctions } from '../../engines/sharing/protocol.ts';
import type { QuotaAmounts } from '../../core/quota.ts';
import type { QuotaShortage, QuotaWish } from '../../generation/quotas.ts';
import type { MeterReading } from '../../telemetry/meter.ts';
import type { LentUnits } from '../deployed/reach-units.ts';
import type { ModelState } from '../model-engines.ts';
import type { ListenAddress } from '../service.ts';

/** What the primary does for calls of deployments. */
export interface DeployedFunctions {
  /** What serves of the deployment of this id: it is not closed before its release. Null where nothing does. */
  'deployed.open': (id: string) => LoanedUnits | null;
  'deployed.release': (released: Pick<LoanedUnits, 'loan'>) => void;
}

interface LoanedUnits {
  readonly loan: number;
  readonly units: LentUnits;
  /** Its processes. */
  readonly held: readonly Held[];
}

/** What the primary does for its workers. */
export interface PrimaryFunctions extends HostFunctions, DeployedFunctions {
  /** Of all workers together. */
  'quota.take': (wish: QuotaWish) => QuotaShortage | null;
  'quota.spend': (spent: readonly { readonly subject: string; readonly amounts: QuotaAmounts }[]) => void;
  'model.state': (model: string) => ModelState;
  /** What all workers have counted, ended ones too. */
  'metrics.expose': (none: null) => { readonly contentType: string; readonly text: string };
  /** What this worker has counted so far. */
  'metrics.report': (reading: MeterReading) => void;
}

/** What a worker does for the primary. */
export interface WorkerFunctions extends GuestFunctions {
  /** Once, first. Resolves when it listens. */
  begin: (order: WorkerOrder) => readonly ListenAddress[];
  'metrics.read': (none: null) => MeterReading;
  'models.use': (section: ModelsSection) => void;
  /** Other units serve the deployment of this id, or none. */
  'deployed.switched': (id: string) => void;
  /** Takes nothing new, lets running answers end within the grace time, and ends. */
  drain: (none: null) => void;
}

export interface WorkerOrder {
  /** With the ports that all workers share, none of them 0, and with the models of now. */
  readonly config: Config;
  /** Counted from 1; one that is started in the place of another has its number. */
  readonly worker: number;
  /** Each worker opens the port by itself. Else the primary has it, and hands connections on. */
  readonly isPortShared: boolean;
}
