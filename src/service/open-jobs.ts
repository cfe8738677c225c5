import { systemIdGenerator } from '../core/id.ts';
import type { Meter } from '../core/telemetry.ts';
import { createExtractHandler } from '../jobs/kinds/extract-handler.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { startEventCleanup } from '../resources/responses/event-cleanup.ts';
import { startRetention } from '../resources/retention/retention.ts';
import { openDatabaseMaintenance } from './open-database-maintenance.ts';
import type { BatchesModule } from './open-batches.ts';
import type { EnginesModule } from './open-engines.ts';
import type { FilesModule } from './open-files.ts';
import type { GenerationModule } from './open-generation.ts';
import { openJobWorker, type JobWorkerHandle } from './open-job-worker.ts';
import type { ServiceModule } from './capability.ts';
import type { ServiceContext } from './service-context.ts';

interface JobsDeps {
  readonly endpoints: readonly Endpoint[];
  readonly meter: Meter;
  readonly engines: EnginesModule;
  readonly extract: GenerationModule['extract'];
  readonly files: FilesModule;
  readonly batches: BatchesModule;
  /** The modules whose handlers are added. */
  readonly modules: readonly ServiceModule[];
}

/** Opens the periodic cleanup and the job worker of this process; the worker does not start yet. */
export async function openJobs(context: ServiceContext, deps: JobsDeps): Promise<JobWorkerHandle> {
  const { config, overrides, store, jobNotifier, clock, log, runsCleanup, openModule } = context;
  const { endpoints, meter, engines, extract, batches, modules } = deps;
  const { blobs, reportExtractionEnd } = deps.files;
  const deleteFile = deps.files.files.delete;
  // Every process that listens also runs jobs. The primary runs only deployment jobs, because it hosts the engines.
  const otherHandlers = {
    ...(await batches.createJobHandlers({ endpoints, catalogue: engines.catalogue, meter })),
    extract: createExtractHandler({ store, blobs, extract, ids: systemIdGenerator, clock, onEnd: reportExtractionEnd }),
    ...Object.assign({}, ...modules.map(({ jobs }) => jobs)),
  };
  const { engineHost: host } = overrides;
  // Only the primary deletes expired data if there are several processes.
  if (runsCleanup)
    await openModule('retention', () => startRetention({ store, clock, log, periods: config.retention, deleteFile }));
  if (runsCleanup) await openModule('database maintenance', () => openDatabaseMaintenance(config, log));
  if (runsCleanup) await openModule('event cleanup', () => startEventCleanup({ store, clock, log }));
  return await openModule('jobs', () =>
    openJobWorker({
      jobs: store.jobs,
      handlers: overrides.jobHandlers ?? {
        ...(host ? {} : engines.jobs),
        ...(overrides.isPrimary ? {} : otherHandlers),
      },
      notifier: jobNotifier,
      clock,
      log,
      meter,
      timing: overrides.jobTiming,
    }),
  );
}
