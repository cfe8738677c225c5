import { listRegions } from '../config/regions.ts';
import { systemIdGenerator } from '../core/id.ts';
import type { Meter } from '../core/telemetry.ts';
import { createHttpServer } from '../http/http-server.ts';
import type { HttpServer } from '../http/http-server.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createRealtimeEndpoint } from '../protocols/realtime/endpoint.ts';
import { createRecognitionLimit } from '../protocols/realtime/recognition-limit.ts';
import { createMeter } from '../telemetry/meter.ts';
import { openAudioStream } from '../transcription/open-audio-stream.ts';
import { SERVED_INTERFACES } from './create-endpoints.ts';
import { buildHttpAddresses } from './http-addresses.ts';
import type { EnginesModule } from './open-engines.ts';
import type { GenerationModule } from './open-generation.ts';
import type { JobWorkerHandle } from './open-job-worker.ts';
import type { VocabulariesModule } from './open-vocabularies.ts';
import { readOperatorToken } from './operator-token.ts';
import { checkReadiness } from './readiness.ts';
import type { ServiceContext } from './service-context.ts';

interface HttpDeps {
  readonly endpoints: readonly Endpoint[];
  readonly engines: EnginesModule;
  readonly serverTools: Pick<GenerationModule['serverTools'], 'buildReports'>;
  readonly findHotwords: VocabulariesModule['vocabularies']['findHotwords'];
}

/** Creates what HTTP requests and jobs are measured by, and what the HTTP server reports about the models. */
export async function prepareHttp(
  { config, overrides, clock, log }: ServiceContext,
  { endpoints, engines: { catalogue, engines, directory, speech }, serverTools, findHotwords }: HttpDeps,
) {
  const regions = listRegions(config).map(([id]) => id);
  const readinessDeps = {
    catalogue,
    engines,
    servedRoutes: endpoints,
    interfaces: SERVED_INTERFACES,
    regions,
    clock,
    getToolReports: serverTools.buildReports,
  };
  const ownMeter = createMeter({
    operations: [...endpoints.map((endpoint) => endpoint.operation), ...OPERATIONS_WITHOUT_ENDPOINT],
    isDeployed: (deployment) => directory.find(deployment, deployment.name) !== undefined,
  });
  directory.onRemoved(ownMeter.removeDeployment);
  const meter: Meter = { ...ownMeter, renderMetrics: overrides.exposeAllMetrics ?? ownMeter.renderMetrics };
  const recognition = createRealtimeEndpoint({
    catalogue: () => catalogue,
    acquireSpeechEngine: (model) => speech.speechFor(model),
    findHotwords,
    openAudio: openAudioStream,
    // Connections spread over the processes almost evenly, so each process gets an equal share of the sessions.
    recognitionLimit: createRecognitionLimit(Math.max(1, Math.floor(config.speech.sessionsMax / config.workers))),
    strict: config.strict,
    clock,
    log,
    meter,
  });
  const operatorToken = await readOperatorToken(config.operatorTokenFile);
  const addresses = buildHttpAddresses(config, { isShared: overrides.isPortShared ?? false });

  return { endpoints, readinessDeps, ownMeter, meter, recognition, operatorToken, addresses };
}

/** Opens the HTTP server without listening. Closing it also stops `jobs` from starting more work. */
export async function openHttp(
  { config, clock, log, keys, lifecycle }: ServiceContext,
  prepared: Awaited<ReturnType<typeof prepareHttp>>,
  jobs: Pick<JobWorkerHandle, 'drain'>,
): Promise<HttpServer> {
  const { endpoints, readinessDeps, meter, recognition, operatorToken, addresses } = prepared;
  return lifecycle.open(
    'http',
    () =>
      createHttpServer({
        endpoints,
        sockets: [recognition],
        ...addresses,
        authenticate: (secret) => keys.authenticate(secret),
        probes: { checkReadiness: async () => ({ ...(await checkReadiness(readinessDeps)) }) },
        operatorToken,
        cors: config.cors,
        limits: {
          bodyBytesMax: config.limits.bodyBytesMax,
          keepAliveMs: config.limits.keepAliveMs,
          deadlinePlainMs: config.limits.deadlinePlainMs,
          deadlineStreamMs: config.limits.deadlineStreamMs,
        },
        ids: systemIdGenerator,
        clock,
        log,
        meter,
      }),
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
  'realtime.connect',
  'unknown',
];
