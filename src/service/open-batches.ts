import type { BlobStore } from '../blobs/blob-store.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import { createBatchEndpoints } from '../protocols/compatible/batches/endpoints.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import type { BatchLifecycle } from '../resources/batches/batch.ts';
import { createBatches } from '../resources/batches/service.ts';
import { startBatchCleanup } from '../resources/batches/line-cleanup.ts';
import { createBatchLifecycle } from '../resources/batches/lifecycle.ts';
import type { FileLimits } from '../resources/files/file.ts';
import type { JobNotifier } from '../resources/jobs/job-notifier.ts';
import type { Store } from '../store/store.ts';
import type { ServiceModule } from './service-module.ts';

export interface OpenBatchesDeps {
  readonly config: Config;
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly getLimits: (workspace: string) => FileLimits;
  readonly notifier: JobNotifier;
  readonly clock: Clock;
  readonly log: Log;
  /** True in the one process that does the periodic cleanup for all. */
  readonly runsCleanup: boolean;
}

export interface BatchesModule extends ServiceModule {
  /** Used by the batch job handler. */
  readonly work: BatchLifecycle;
  close(): Promise<void>;
}

/** Opens everything for batches except the job handler that runs them. */
export function openBatches({ config, runsCleanup, ...deps }: OpenBatchesDeps): BatchesModule {
  const batches = createBatches(deps);
  const cleanup = runsCleanup ? startBatchCleanup(deps) : undefined;
  const time = createZonedTime(config.timezone);
  return {
    work: createBatchLifecycle(deps),
    endpoints: createBatchEndpoints({ batches, time, strict: config.strict }),
    close: async () => cleanup?.close(),
  };
}
