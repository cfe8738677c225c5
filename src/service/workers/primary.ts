import type { Config } from '../../config/config.ts';
import { readModelsSection, type ModelsSection } from '../../config/config-file.ts';
import { createLeaseTable } from '../../engines/sharing/lease-table.ts';
import type { Meter } from '../../core/telemetry.ts';
import { systemClock } from '../../lib/clock.ts';
import { createMeterSum } from '../../telemetry/meter-sum.ts';
import type { Capability } from '../capability.ts';
import type { DatabaseDamageReport } from '../database-health.ts';
import { createService, type Service } from '../service.ts';
import { createWorkerPool, type WorkerHandle } from './worker-pool.ts';
import { createDeploymentLeaseTable } from './deployment-lease-table.ts';
import { findSharedPorts } from './shared-ports.ts';

/** Time limit for a worker to report its metrics, in ms. After it the sum uses the worker's previous report. */
const METRICS_TIMEOUT_MS = 1_000;

/** Time limit for a worker to release idle engines, in ms. After it the worker counts as using all that it leases. */
const RECLAIM_TIMEOUT_MS = 1_000;

/** Time limit for a worker to reload the models, in ms. After it the log names the failure. */
const RELOAD_TIMEOUT_MS = 10_000;

/** Time limit for a worker to end its running requests with an error, in ms. After it the requests are cut off. */
const ABORT_TIMEOUT_MS = 5_000;

/** Time that a draining worker gets beyond the grace period, to abort what still runs and to close, in ms. */
const CLOSE_GRACE_MS = 10_000;

/** Silence after which a worker counts as hanging, in ms; the same limit as for engine processes. */
const SILENCE_MS_MAX = 30_000;

interface PrimaryDeps {
  readonly capabilities?: readonly Capability[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `false` treats the system as unable to share ports. */
  readonly canSharePorts?: boolean;
  /** Silence after which a worker is replaced, in ms. */
  readonly silenceMsMax?: number;
}

/**
 * Creates a service whose requests `config.workers` processes answer. This process listens on nothing: it hosts the engines,
 * owns the first key and the downloads, sums the metrics, and restarts workers.
 */
export async function createPrimary(
  config: Config,
  { environment, capabilities = [], canSharePorts = true, silenceMsMax = SILENCE_MS_MAX }: PrimaryDeps,
): Promise<Service> {
  const service = await createService(config, {
    environment,
    capabilities,
    isPrimary: true,
    onUnitsReplaced: (id) => void askAllWorkers(({ calls }) => calls.call('deployment.invalidate', id)),
    async reclaimUnused() {
      await askAllWorkers(({ calls }) => calls.call('engine.recall', null, AbortSignal.timeout(RECLAIM_TIMEOUT_MS)));
    },
  });
  const { sharing } = service;
  const meterSum = createMeterSum(await sharing.readMeter());
  const ownMember = meterSum.join();
  const workerPool = createWorkerPool({
    size: config.workers,
    connect() {
      const leaseTable = createLeaseTable((model) => sharing.share(model));
      const deploymentLeases = createDeploymentLeaseTable((id) => sharing.leaseDeploymentUnits(id), leaseTable);
      const workerMeter = meterSum.join();
      return {
        handlers: {
          ...leaseTable.handlers,
          ...deploymentLeases.handlers,
          'quota.take': async (request) => (await sharing.quotas.take(request)) ?? null,
          'quota.spend'(usage) {
            for (const { subject, amounts } of usage) sharing.quotas.spend(subject, amounts);
          },
          'model.state': (model) => sharing.getModelState(model),
          'metrics.expose': expose,
          'metrics.report': workerMeter.update,
          'database.report'(report) {
            sharing.databaseHealth.recordReport(report);
            passReport(report);
          },
        },
        recordReading: workerMeter.update,
        close() {
          leaseTable.releaseAll();
          deploymentLeases.releaseAll();
          workerMeter.leave();
        },
      };
    },
    silenceMsMax,
    drainMsMax: config.shutdownGraceMs + CLOSE_GRACE_MS,
    log: sharing.log,
    writeLogLines: sharing.writeLogLines,
    clock: systemClock,
  });

  const askAllWorkers = async <Result>(
    askWorker: (handle: WorkerHandle) => Promise<Result>,
  ): Promise<PromiseSettledResult<Result>[]> => await Promise.allSettled(workerPool.listWorkers().map(askWorker));

  const expose = async (): ReturnType<Meter['renderMetrics']> => {
    await askAllWorkers(async ({ calls, recordReading }) =>
      recordReading(await calls.call('metrics.read', null, AbortSignal.timeout(METRICS_TIMEOUT_MS))),
    );
    ownMember.update(await sharing.readMeter());
    return await meterSum.renderMetrics();
  };

  sharing.databaseHealth.onRefusal((problem) => {
    void askAllWorkers(({ calls }) => calls.call('database.refuse', problem));
  });

  const passReport = (report: DatabaseDamageReport): void =>
    void askAllWorkers(({ calls }) => calls.call('database.report', report));
  sharing.databaseHealth.onReport(passReport);

  let models: Partial<ModelsSection> = {};

  return {
    ...service,
    async listen() {
      const { config: portConfig, ...ports } = await findSharedPorts(config);
      const isPortShared = canSharePorts && ports.isPortShared;
      await sharing.startJobs();
      if (!isPortShared)
        sharing.log.info(
          'primary accepts connections for the workers: this system cannot share a port between processes',
        );
      return await workerPool.start((worker) => ({
        // The primary formats log lines for people, so workers write JSON.
        config: { ...portConfig, ...models, log: { ...config.log, pretty: false } },
        worker,
        isPortShared,
        databaseProblem: sharing.databaseHealth.getRefusal() ?? null,
        databaseCorruption: sharing.databaseHealth.getCorruption() ?? null,
      }));
    },
    async reloadModels(file) {
      const section = readModelsSection(file);
      // The primary goes first: a worker may request the engine of any model that it knows.
      await sharing.replaceModels(section);
      models = section;
      const results = await askAllWorkers(({ calls }) =>
        calls.call('models.replace', section, AbortSignal.timeout(RELOAD_TIMEOUT_MS)),
      );
      for (const result of results)
        if (result.status === 'rejected')
          sharing.log.error('worker failed to reload the models', { error: result.reason });
      sharing.log.info('models reloaded', { workers: results.length });
    },
    async abortRequests() {
      await askAllWorkers(({ calls }) => calls.call('requests.abort', null, AbortSignal.timeout(ABORT_TIMEOUT_MS)));
    },
    async close() {
      try {
        await workerPool.stop();
      } finally {
        await service.close();
      }
    },
  };
}
