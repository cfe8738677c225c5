import { createAudioDecoder } from '../audio/audio-decoder.ts';
import type { Config } from '../config/config.ts';
import { systemIdGenerator } from '../core/id.ts';
import type { RegionId } from '../core/region.ts';
import { createResearch } from '../generation/research/research.ts';
import type { Lifecycle } from '../lib/lifecycle.ts';
import { createAudioOpener } from '../transcription/audio-opener.ts';
import { createEndpoints } from './create-endpoints.ts';
import { openBatches } from './open-batches.ts';
import { openEngines } from './open-engines.ts';
import { openFiles } from './open-files.ts';
import { openGeneration } from './open-generation.ts';
import { openHttp, prepareHttp } from './open-http.ts';
import { openJobs } from './open-jobs.ts';
import { getResearchLimits, openResearch } from './open-research.ts';
import { openResponses } from './open-responses.ts';
import { openTranscriptions } from './open-transcriptions.ts';
import { openVocabularies } from './open-vocabularies.ts';
import { createServiceContext } from './service-context.ts';
import type { ServiceOverrides } from './service-overrides.ts';

/** Opens the modules. They are closed in the reverse order: requests first, then jobs, engines, and the store last. */
export async function openModules(config: Config, overrides: Partial<ServiceOverrides>, lifecycle: Lifecycle) {
  const context = await createServiceContext(config, overrides, lifecycle);
  const { environment, clock, log, store, jobNotifier, runsCleanup, openModule } = context;
  const listenUrls = new Map<RegionId, string>();
  const files = await openModule('files', () =>
    openFiles({
      config,
      environment,
      store,
      clock,
      log,
      jobNotifier,
      getListenUrl: (region) => listenUrls.get(region) ?? '',
      runsCleanup,
    }),
  );
  const { blobs, getLimits } = files;
  const batches = await openModule('batches', () =>
    openBatches({ config, store, blobs, getLimits, notifier: jobNotifier, clock, log, runsCleanup }),
  );
  const enginesModule = await openEngines(context);
  const { catalogue, engines, speech } = enginesModule;
  const vocabularies = openVocabularies({ config, store, clock, catalogue, engines });
  const generation = await openGeneration(context, {
    files,
    engines: enginesModule,
    onRunStart: (deployment) => ownMeter.trackDeploymentRequest(deployment),
  });
  const { extract, generateText, tokenize, serverTools } = generation;
  const responses = openResponses(context, enginesModule, generation);
  const { findHotwords } = vocabularies.vocabularies;
  const transcriptions = await openModule('transcriptions', () =>
    openTranscriptions({
      config,
      store,
      blobs,
      files: files.files,
      createLinksBelow: files.createLinksBelow,
      fileBytesMax: files.fileBytesMax,
      getCatalogue: () => catalogue,
      leaseSpeechEngine: speech.speechFor,
      openAudio: createAudioOpener(createAudioDecoder()),
      findHotwords,
      jobNotifier,
      clock,
      log,
      runsCleanup,
    }),
  );

  const { search, readPage, examine } = serverTools;
  const research = await openModule('research', () =>
    openResearch({
      config,
      store,
      research:
        overrides.research ??
        createResearch({
          generate: generateText,
          examine,
          tokenize,
          search,
          readPage,
          clock,
          ...getResearchLimits(config),
        }),
      jobNotifier,
      ids: systemIdGenerator,
      clock,
      log,
      runsCleanup,
    }),
  );

  const endpoints = createEndpoints(context, {
    engines: enginesModule,
    generation,
    responses,
    files,
    batches,
    vocabularies,
    transcriptions,
    research,
  });
  const prepared = await prepareHttp(context, { endpoints, engines: enginesModule, serverTools, findHotwords });
  const { ownMeter, meter } = prepared;
  const jobs = await openJobs(context, {
    endpoints,
    meter,
    engines: enginesModule,
    extract,
    responses,
    files,
    batches,
    transcriptions,
    research,
  });
  const http = await openHttp(context, prepared, jobs);

  return { context, engines: enginesModule, generation, research, prepared, jobs, http, listenUrls };
}
