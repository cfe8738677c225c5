import type { Config } from '../config/config.ts';
import type { RegionId } from '../core/region.ts';
import { createRelevanceScorer } from './create-relevance-scorer.ts';
import { openCapabilities } from './open-capabilities.ts';
import { createGenerationEndpoints } from './create-generation-endpoints.ts';
import { openBatches } from './open-batches.ts';
import { openEngines } from './open-engines.ts';
import { openFiles } from './open-files.ts';
import { openGeneration } from './open-generation.ts';
import { openHttp, prepareHttp } from './open-http.ts';
import { openJobs } from './open-jobs.ts';
import { openResponses } from './open-responses.ts';
import { createServiceContext, type ServiceBase } from './service-context.ts';
import type { ServiceModule } from './capability.ts';
import type { ServiceOverrides } from './service-overrides.ts';

/** Opens the modules. They are closed in the reverse order: requests first, then jobs, engines, and the store last. */
export async function openModules(config: Config, overrides: Partial<ServiceOverrides>, base: ServiceBase) {
  const context = await createServiceContext(config, overrides, base);
  const { openModule } = context;
  const listenUrls = new Map<RegionId, string>();
  const files = await openModule('files', () =>
    openFiles(context, {
      getListenUrl: (region) => listenUrls.get(region) ?? '',
      recordDamage: () => ownMeter.recordDamage('blob'),
    }),
  );
  const batches = await openModule('batches', () => openBatches(context, files));
  const enginesModule = await openEngines(context, {
    onWeightsChecked: (outcome) => ownMeter.recordWeightsCheck(outcome),
  });
  const { catalogue, engines } = enginesModule;
  const generation = await openGeneration(context, {
    files,
    engines: enginesModule,
    onRunStart: (deployment) => ownMeter.trackDeploymentRequest(deployment),
  });
  const { extract, generateText, tokenize, serverTools } = generation;
  const responses = openResponses(context, enginesModule, generation);
  const capabilities = await openCapabilities(context, {
    files,
    catalogue,
    engines,
    leaseSpeechEngine: engines.speechFor,
    generate: generateText,
    examine: serverTools.examine,
    tokenize,
    search: serverTools.search,
    readPage: serverTools.readPage,
    scoreRelevance: createRelevanceScorer({ catalogue, engines }),
  });

  const modules: readonly ServiceModule[] = [files, batches, responses, enginesModule.deployments, ...capabilities];
  const endpoints = [
    ...createGenerationEndpoints(context, { engines: enginesModule, generation, capabilities }),
    ...modules.flatMap((module) => module.endpoints ?? []),
  ];
  const prepared = await prepareHttp(context, { endpoints, engines: enginesModule, serverTools, capabilities });
  const { ownMeter, meter } = prepared;
  const jobs = await openJobs(context, {
    endpoints,
    meter,
    engines: enginesModule,
    extract,
    files,
    batches,
    modules,
  });
  const http = await openHttp(context, prepared, jobs);

  return { context, engines: enginesModule, generation, prepared, jobs, http, listenUrls };
}
