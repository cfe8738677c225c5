import { readModelsSection, type ModelsSection } from '../config/config-file.ts';
import type { Config } from '../config/config.ts';
import { createListenerConfigs } from '../config/regions.ts';
import type { RegionId } from '../core/region.ts';
import { createLifecycle, openAllOrNone } from '../lib/lifecycle.ts';
import { ensureFirstKey } from '../resources/keys/first-key.ts';
import type { Keys } from '../resources/keys/key.ts';
import type { ReportProgress } from '../weights/progress-meter.ts';
import { listReachableRegions, toReachableUrl, type ReachableRegion } from './http-addresses.ts';
import type { DatabaseHealth } from './database-health.ts';
import { toListenError } from './listen-error.ts';
import { openModules } from './open-modules.ts';
import { DEFAULT_MODEL, buildServiceReport, type ServiceReport } from './readiness.ts';
import { createServiceLog, type ServiceBase } from './service-context.ts';
import type { ServiceOverrides } from './service-overrides.ts';
import type { Log } from '../core/telemetry.ts';
import type { Quotas } from '../generation/quotas.ts';
import type { MeterSnapshot } from '../telemetry/meter.ts';
import type { UnitsLease } from './deployments/local-deployment-engines.ts';
import type { ModelState } from './engine-host.ts';
import type { EngineSharing } from './model-engines.ts';

interface ProcessSharing extends EngineSharing {
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
  /** Health of the database, which all processes use. */
  readonly databaseHealth: DatabaseHealth;
  /** Resets deployments and starts the job worker, in the process that hosts the engines, before requests are served. */
  startJobs(): Promise<void>;
  /** Replaces the operator's catalogue entries. @throws ServiceError; the current entries then stay. */
  replaceModels(section: ModelsSection): Promise<void>;
}

export interface ListenAddress {
  /** The region of the listener itself, which a request gets unless its host name selects another. */
  readonly region: RegionId;
  readonly url: string;
  readonly regions: readonly ReachableRegion[];
}

export interface Service {
  readonly keys: Keys;
  /** Opens the listeners. Requests are then answered, with 503 while a model is not available yet. */
  listen(): Promise<readonly ListenAddress[]>;
  /** Returns the first key, created at the first start; undefined when keys exist and its file is gone. */
  getFirstKey(): Promise<{ readonly secret: string; readonly isNew: boolean } | undefined>;
  /** Downloads missing weights of the default model and starts its engine. @throws ServiceError with the reason. */
  prepareDefaultModel(options: { readonly signal: AbortSignal; readonly onProgress: ReportProgress }): Promise<void>;
  /** Verifies the server tools, which takes some seconds: the sandbox of programs is attacked. Never throws. */
  verifyTools(): Promise<void>;
  buildReport(): Promise<ServiceReport>;
  /** Buffers log lines while something else uses the terminal, until the returned function is called. */
  pauseLog(): () => void;
  /** Reads the models section of the configuration file again. @throws ServiceError; the current models then stay. */
  reloadModels(file: string): Promise<void>;
  /** Operations for the other processes of the same service. */
  readonly sharing: ProcessSharing;
  /** Ends running requests with the error of their protocol. Resolves when they have ended, or after a time limit. */
  abortRequests(): Promise<void>;
  /** Stops accepting requests, lets running ones finish within the grace time, then closes everything. */
  close(): Promise<void>;
}

/** Time that closing one module may take beyond the configured grace times, in ms. */
const CLOSE_MARGIN_MS = 60_000;

/**
 * Creates a service from the configuration: the composition root, the only place that connects the modules. If that
 * fails, nothing stays open.
 */
export async function createService(config: Config, overrides: Partial<ServiceOverrides> = {}): Promise<Service> {
  const closeMsMax = config.shutdownGraceMs + config.deployments.drainMs + CLOSE_MARGIN_MS;
  const lifecycle = overrides.lifecycle ?? createLifecycle({ closeMsMax });
  const logging = createServiceLog(config, overrides);
  return await openAllOrNone(
    lifecycle,
    () => openService(config, overrides, { ...logging, lifecycle }),
    (error) => logging.log.error('closing the modules after a failed start failed', { error: String(error) }),
  );
}

/** Opens the modules of a service and joins their operations. */
async function openService(config: Config, overrides: Partial<ServiceOverrides>, base: ServiceBase): Promise<Service> {
  const modules = await openModules(config, overrides, base);
  const { context, jobs, http, listenUrls } = modules;
  const { keys, log } = context;
  const { catalogue, engines, deployments, deploymentEngines, replaceModels } = modules.engines;
  const { quotas, serverTools } = modules.generation;
  const { readinessDeps, ownMeter, addresses } = modules.prepared;
  return {
    keys,
    sharing: {
      log,
      quotas,
      writeLogLines: context.writeLogLines,
      share: (model) => engines.share(model),
      releaseIdle: () => engines.releaseIdle(),
      async getModelState(model) {
        const entry = catalogue.find(model);
        return entry ? engines.getState(entry) : { state: 'off', reason: 'the model is not in the catalogue any more' };
      },
      readMeter: () => ownMeter.readSnapshot(),
      replaceModels,
      leaseDeploymentUnits: (id) => deploymentEngines.local.leaseUnits(id),
      invalidateDeployment: (id) => deploymentEngines.invalidate(id),
      databaseHealth: context.databaseHealth,
      async startJobs() {
        await deployments.resetAfterRestart();
        jobs.start();
      },
    },
    async listen() {
      if (!overrides.engineHost) await deployments.resetAfterRestart();
      const boundSockets = await http.listen().catch((error: unknown) => {
        throw toListenError(error);
      });
      const listeners = createListenerConfigs(config);
      const listenAddresses = boundSockets.map(({ boundHost, port, region }, at) => ({
        region,
        url: `${config.tls ? 'https' : 'http'}://${boundHost.includes(':') ? `[${boundHost}]` : boundHost}:${port}`,
        regions: listReachableRegions(listeners[at], config),
      }));
      for (const { url, regions: reachable } of listenAddresses)
        for (const { id } of reachable) listenUrls.set(id, toReachableUrl(url));
      jobs.start();
      return listenAddresses;
    },
    getFirstKey: async () => {
      // The first key belongs to the region of the first address that startup prints.
      const region = addresses.listeners[0]?.region;
      return region && (await ensureFirstKey({ keys, keyFile: config.keyFile, region }));
    },
    async prepareDefaultModel(options) {
      const entry = catalogue.find(DEFAULT_MODEL);
      if (entry) await engines.prepare(entry, options);
    },
    verifyTools: serverTools.verify,
    buildReport: () => buildServiceReport(readinessDeps),
    pauseLog: context.pauseLog,
    async reloadModels(file) {
      await replaceModels(readModelsSection(file));
      log.info('models reloaded', { models: catalogue.list().length });
    },
    abortRequests: () => http.abort(),
    close: () => base.lifecycle.closeAll(),
  };
}
