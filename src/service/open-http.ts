import { listRegions } from '../config/regions.ts';
import { systemIdGenerator } from '../core/id.ts';
import type { Meter } from '../core/telemetry.ts';
import { createHttpServer, type HttpServer } from '../http/http-server.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createKeyUseRecorder } from '../resources/keys/key-use-recorder.ts';
import { startEventLoopMonitor } from '../telemetry/event-loop-monitor.ts';
import { createMeter } from '../telemetry/meter.ts';
import type { CapabilityModule } from './capability.ts';
import { listServedInterfaces } from './create-generation-endpoints.ts';
import { buildHttpAddresses } from './http-addresses.ts';
import type { EnginesModule } from './open-engines.ts';
import type { GenerationModule } from './open-generation.ts';
import type { JobWorkerHandle } from './open-job-worker.ts';
import { openTls } from './open-tls.ts';
import { createParseSlots } from './create-parse-slots.ts';
import { readServiceMeasurements } from './read-service-measurements.ts';
import { readOrCreateSecret } from './read-or-create-secret.ts';
import { createReadinessCheck } from './readiness.ts';
import type { ServiceContext } from './service-context.ts';
import { getDatabaseFile, getDatabaseFolder } from './open-backups.ts';
import { buildStorageReport } from './storage-report.ts';

interface HttpDeps {
  readonly endpoints: readonly Endpoint[];
  readonly engines: EnginesModule;
  readonly serverTools: Pick<GenerationModule['serverTools'], 'buildReports' | 'hasSearchContent'>;
  readonly capabilities: readonly CapabilityModule[];
}

/** Creates what HTTP requests and jobs are measured by, and what the HTTP server reports about the models. */
export async function prepareHttp(
  { config, overrides, clock, store, databaseHealth, runsCleanup, openModule }: ServiceContext,
  { endpoints, engines: { catalogue, engines, directory }, serverTools, capabilities }: HttpDeps,
) {
  const regions = listRegions(config).map(([id]) => id);
  const readinessDeps = {
    catalogue,
    engines,
    servedRoutes: endpoints,
    interfaces: listServedInterfaces(capabilities),
    regions,
    clock,
    getToolReports: serverTools.buildReports,
    hasSearchContent: () => serverTools.hasSearchContent(),
    getStorageReport: () =>
      buildStorageReport({
        store,
        getDatabaseProblem: databaseHealth.getProblem,
        folders: [config.data, getDatabaseFolder(config)],
        freeShareMin: config.disk.freeShareMin,
      }),
  };
  const eventLoop = await openModule('event loop monitor', () => startEventLoopMonitor());
  const serviceMeasurementsDeps = {
    store,
    clock,
    databaseFile: getDatabaseFile(config),
    readEngineLoads: () => engines.readLoads(),
  };
  const ownMeter = createMeter({
    processMetrics: {
      eventLoop,
      // One of several processes reports the measurements of all.
      ...(runsCleanup ? { readServiceMeasurements: () => readServiceMeasurements(serviceMeasurementsDeps) } : {}),
    },
    operations: [...endpoints.map((endpoint) => endpoint.operation), ...OPERATIONS_WITHOUT_ENDPOINT],
    isDeployed: (deployment) => directory.find(deployment, deployment.name) !== undefined,
  });
  databaseHealth.onDamage(() => ownMeter.recordDamage('database'));
  directory.onRemoved(ownMeter.removeDeployment);
  const meter: Meter = { ...ownMeter, renderMetrics: overrides.exposeAllMetrics ?? ownMeter.renderMetrics };
  const sockets = capabilities.flatMap(({ createSockets }) => createSockets?.({ meter }) ?? []);
  // Gives other machines access to /ready and /metrics.
  const operatorToken = await readOrCreateSecret(config.operatorTokenFile);
  const addresses = buildHttpAddresses(config, { isShared: overrides.isPortShared ?? false });

  return { endpoints, readinessDeps, ownMeter, meter, sockets, operatorToken, addresses };
}

/** Opens the HTTP server without listening. Closing it also stops `jobs` from starting more work. */
export async function openHttp(
  { config, clock, log, keys, store, databaseHealth, lifecycle, openModule }: ServiceContext,
  prepared: Awaited<ReturnType<typeof prepareHttp>>,
  jobs: Pick<JobWorkerHandle, 'drain'>,
): Promise<HttpServer> {
  const { endpoints, readinessDeps, meter, sockets, operatorToken, addresses } = prepared;
  const check = createReadinessCheck(readinessDeps);
  const keyUses = await openModule('key uses', () => createKeyUseRecorder({ store: store.keys, clock, log }));
  const { tls: tlsFiles } = config;
  const tls = tlsFiles && (await openModule('tls', () => openTls(tlsFiles, { log })));
  return lifecycle.open(
    'http',
    () => {
      const server = createHttpServer({
        endpoints,
        sockets,
        ...addresses,
        async authenticate(secret) {
          databaseHealth.throwIfRefused();
          const keyCheck = await keys.authenticate(secret);
          if (keyCheck.status === 'valid') keyUses.record(keyCheck.record.id);
          return keyCheck;
        },
        wasValid: (secret) => keys.wasValid(secret),
        isKeyActive: (id) => keys.isActive(id),
        tls: tls?.credentials,
        probes: { checkReadiness: async () => ({ ...(await check()) }) },
        operator: { token: operatorToken, hosts: config.operatorHosts, trustedProxies: config.trustedProxies },
        cors: config.cors,
        acquireParseSlot: createParseSlots({ clock }),
        limits: {
          bodyBytesMax: config.limits.bodyBytesMax,
          keepAliveMs: config.limits.keepAliveMs,
          deadlinePlainMs: config.limits.deadlinePlainMs,
          deadlineStreamMs: config.limits.deadlineStreamMs,
          connectionsPerAddress: config.limits.connectionsPerAddress,
          refusalsPerAddress: config.limits.refusalsPerAddress,
        },
        ids: systemIdGenerator,
        clock,
        log,
        meter,
      });
      tls?.onChange((credentials) => server.setTlsCredentials(credentials));
      return server;
    },
    async (server) => {
      jobs.drain();
      await server.close({ graceMs: config.shutdownGraceMs });
    },
  );
}

/** Operations of the HTTP server that no endpoint defines, for metrics. */
const OPERATIONS_WITHOUT_ENDPOINT = [
  'probe.health',
  'probe.ready',
  'probe.metrics',
  'unserved',
  'refused-method',
  'base-url',
  'realtime.connect',
  'unknown',
];
