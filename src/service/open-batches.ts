import type { BlobStore } from '../blobs/blob-store.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import { batchEndpoints } from '../protocols/compatible/batches/endpoints.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import type { BatchWork } from '../resources/batches/batch.ts';
import { createBatches } from '../resources/batches/service.ts';
import { startBatchSweep } from '../resources/batches/sweep.ts';
import { createBatchWork } from '../resources/batches/work.ts';
import type { FileLimits } from '../resources/files/file.ts';
import type { JobBell } from '../resources/jobs/job-bell.ts';
import type { Store } from '../store/store.ts';

export interface OpenBatchesNeeds {
  readonly config: Config;
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly limitsOf: (workspace: string) => FileLimits;
  readonly bell: JobBell;
  readonly clock: Clock;
  readonly log: Log;
  /** Of several processes one sweeps for all. */
  readonly sweeps: boolean;
}

export interface OpenedBatches {
  /** For the job that does their work. */
  readonly work: BatchWork;
  readonly endpoints: readonly Endpoint[];
  close(): Promise<void>;
}

/** Batches with all that belongs to them but who does their work. */
export function openBatches({ config, sweeps, ...needs }: OpenBatchesNeeds): OpenedBatches {
  const batches = createBatches(needs);
  const sweeper = sweeps ? startBatchSweep(needs) : undefined;
  const time = createZonedTime(config.timezone);
  return {
    work: createBatchWork(needs),
    endpoints: batchEndpoints({ batches, time, strict: config.strict }),
    close: async () => sweeper?.close(),
  };
}
