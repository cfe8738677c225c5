import { mkdirSync } from 'node:fs';
import { createAudioDecoder } from '../audio/audio-decoder.ts';
import { createReplaceableCatalogue } from '../catalogue/catalogue.ts';
import { getFamily } from '../catalogue/families/families.ts';
import { getFamilyName } from '../catalogue/model.ts';
import type { ResolvedModel } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import { readModelsSection } from '../config/config-file.ts';
import type { ModelsSection } from '../config/config-file.ts';
import { createListenerConfigs, listRegions } from '../config/regions.ts';
import { ServiceError } from '../core/error.ts';
import { systemIdGenerator } from '../core/id.ts';
import type { RegionId } from '../core/region.ts';
import type { ResearchPipeline } from '../core/research.ts';
import type { Meter } from '../core/telemetry.ts';
import { createDocumentExtractor } from '../documents/document-extractor.ts';
import { createAnswerChecker } from '../generation/answer-checker.ts';
import { unlimitedAdmission } from '../generation/admission.ts';
import { createCountPrompt } from '../generation/count-prompt.ts';
import { createDeploymentAdmission } from '../generation/deployment-admission.ts';
import { createEmbedder } from '../generation/embed.ts';
import { createFitHistory } from '../generation/fit-history.ts';
import { createGenerate } from '../generation/generate.ts';
import { logOnlyLedger } from '../generation/ledger.ts';
import { createQuotas } from '../generation/quotas.ts';
import { createRanker } from '../generation/rank.ts';
import { createResearch } from '../generation/research/research.ts';
import { createCountWithServerTools } from '../generation/server-tools/count-with-server-tools.ts';
import { createTokenize } from '../generation/tokenize.ts';
import { detectLanguage } from '../generation/translation/detect-language.ts';
import { createWithDocuments } from '../generation/with-documents.ts';
import { createTranslate } from '../generation/translation/translate.ts';
import { createHttpServer } from '../http/http-server.ts';
import { createExtractHandler } from '../jobs/kinds/extract-handler.ts';
import { systemClock } from '../lib/clock.ts';
import { createLifecycle, openAllOrNone } from '../lib/lifecycle.ts';
import type { Lifecycle } from '../lib/lifecycle.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { createChatCompletionsEndpoint } from '../protocols/compatible/chat-completions/endpoint.ts';
import { createCompletionsEndpoint } from '../protocols/compatible/completions/endpoint.ts';
import { createConversationEndpoints } from '../protocols/compatible/conversations/endpoints.ts';
import { createEmbeddingsEndpoint } from '../protocols/compatible/embeddings/endpoint.ts';
import { createModelGetEndpoint, createModelListEndpoint } from '../protocols/compatible/models/endpoint.ts';
import { createRerankEndpoint } from '../protocols/compatible/rerank/endpoint.ts';
import { createBackgroundRunner } from '../protocols/compatible/responses/background-runner.ts';
import { createResponseEndpoints } from '../protocols/compatible/responses/endpoints.ts';
import { encodeChange } from '../protocols/compatible/responses/encode-change.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createRecognitionLimit } from '../protocols/realtime/recognition-limit.ts';
import { createRealtimeEndpoint, createRealtimeHttpEndpoint } from '../protocols/realtime/endpoint.ts';
import { createCountTokensEndpoint } from '../protocols/messages/count-tokens/endpoint.ts';
import { createMessagesEndpoint } from '../protocols/messages/create/endpoint.ts';
import {
  createMessagesModelGetEndpoint,
  createMessagesModelListEndpoint,
} from '../protocols/messages/models/endpoint.ts';
import { createFineTuneEndpoints } from '../protocols/native/fine-tunes/endpoint.ts';
import {
  createMultimodalGenerationEndpoint,
  createTextGenerationEndpoint,
} from '../protocols/native/generation/endpoint.ts';
import { createNativeModelListEndpoint } from '../protocols/native/models/endpoint.ts';
import { createTextRerankEndpoint } from '../protocols/native/rerank/endpoint.ts';
import { createTextEmbeddingEndpoint } from '../protocols/native/text-embedding/endpoint.ts';
import { createTokenizerEndpoint } from '../protocols/native/tokenizer/endpoint.ts';
import { createResponseHandler } from '../jobs/kinds/response-handler.ts';
import { createConversations } from '../resources/conversations/service.ts';
import { createDeploymentDirectory } from '../resources/deployments/directory.ts';
import { ensureFirstKey } from '../resources/keys/first-key.ts';
import type { Keys } from '../resources/keys/key.ts';
import { createKeys } from '../resources/keys/service.ts';
import { createBackgroundResponses } from '../resources/responses/background-service.ts';
import { startEventCleanup } from '../resources/responses/event-cleanup.ts';
import { createRunNotifier } from '../resources/responses/run-notifier.ts';
import { createJobNotifier } from '../resources/jobs/job-notifier.ts';
import { createResponses } from '../resources/responses/service.ts';
import { startRetention } from '../resources/retention/retention.ts';
import { createPausableStream } from '../telemetry/pausable-stream.ts';
import { createLog } from '../telemetry/log.ts';
import { createLogFile } from '../telemetry/log-file.ts';
import { createMeter } from '../telemetry/meter.ts';
import { createPrettyDestination } from '../telemetry/pretty-destination.ts';
import { createAudioOpener } from '../transcription/audio-opener.ts';
import { openAudioStream } from '../transcription/open-audio-stream.ts';
import type { ReportProgress } from '../weights/progress-meter.ts';
import { buildHttpAddresses, toReachableUrl, listReachableRegions } from './http-addresses.ts';
import type { ReachableRegion } from './http-addresses.ts';
import { toListenError } from './listen-error.ts';
import { createEngineRouter } from './deployments/engine-router.ts';
import { openDeploymentEngines } from './deployments/open-deployment-engines.ts';
import { resolveEngineSettings } from './engine-settings.ts';
import { openBatchJobs } from './open-batch-jobs.ts';
import { openBatches } from './open-batches.ts';
import { openDeployments } from './open-deployments.ts';
import { openFiles } from './open-files.ts';
import { openJobWorker } from './open-job-worker.ts';
import { openResearch, getResearchLimits } from './open-research.ts';
import { openVocabularies } from './open-vocabularies.ts';
import { readOperatorToken } from './operator-token.ts';
import { openServerTools } from './open-server-tools.ts';
import { openSpeech } from './open-speech.ts';
import { openTranscriptions } from './open-transcriptions.ts';
import { createModelEngines } from './model-engines.ts';
import { openCatalogue, openDatabase, openRuntimes, openWeights } from './open-components.ts';
import type { ProcessSharing } from './process-sharing.ts';
import { DEFAULT_MODEL, checkReadiness, buildServiceReport } from './readiness.ts';
import type { ServiceReport } from './readiness.ts';
import type { ServiceOverrides } from './service-overrides.ts';

export interface ListenAddress {
  /** The region of the listener itself, which a request gets unless its host name selects another. */
  readonly region: RegionId;
  readonly url: string;
  readonly regions: readonly ReachableRegion[];
}

export interface Service {
  readonly keys: Keys;
  /** Deep research for a caller in this process; requests of API clients run as jobs. */
  readonly research: ResearchPipeline;
  /** Opens the listeners. Requests are then answered, with 503 while a model is not available yet. */
  listen(): Promise<readonly ListenAddress[]>;
  /** Returns the first key, created at the first start; undefined when keys exist and its file is gone. */
  getFirstKey(): Promise<{ readonly secret: string; readonly isNew: boolean } | undefined>;
  /** Downloads missing weights of the default model and starts its engine. @throws ServiceError with the reason. */
  prepareDefaultModel(options: { readonly signal: AbortSignal; readonly onProgress: ReportProgress }): Promise<void>;
  /** Verifies the sandbox of the code interpreter by attacking it, which takes some seconds. Never throws. */
  verifySandbox(): Promise<void>;
  buildReport(): Promise<ServiceReport>;
  /** Buffers log lines while something else uses the terminal, until the returned function is called. */
  pauseLog(): () => void;
  /** Reads the models section of the configuration file again. @throws ServiceError; the current models then stay. */
  reloadModels(file: string): Promise<void>;
  /** Operations for the other processes of the same service. */
  readonly sharing: ProcessSharing;
  /** Stops accepting requests, lets running ones finish within the grace time, then closes everything. */
  close(): Promise<void>;
}

const KEEP_FOREVER = { conversationsDays: undefined, responsesDays: undefined };

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

/** Time that closing one module may take beyond the configured grace times, in ms. */
const CLOSE_MARGIN_MS = 60_000;

/**
 * Creates a service from the configuration: the composition root, the only place that connects the modules. If that
 * fails, nothing stays open.
 */
export async function createService(config: Config, overrides: Partial<ServiceOverrides> = {}): Promise<Service> {
  const closeMsMax = config.shutdownGraceMs + config.deployments.drainMs + CLOSE_MARGIN_MS;
  const lifecycle = overrides.lifecycle ?? createLifecycle({ closeMsMax });
  return await openAllOrNone(lifecycle, () => openService(config, overrides, lifecycle));
}

/** Opens the modules. They are closed in the reverse order: requests first, then jobs, engines, and the store last. */
async function openService(
  config: Config,
  overrides: Partial<ServiceOverrides>,
  lifecycle: Lifecycle,
): Promise<Service> {
  /** Opens a module that is closed with the service. */
  const openModule = <Module extends { close(): Promise<void> }>(
    name: string,
    open: () => Module | Promise<Module>,
  ): Promise<Module> => lifecycle.open(name, open, (module) => module.close());
  const clock = overrides.clock ?? systemClock;
  const environment = overrides.environment ?? process.env;
  const logStream = createPausableStream(isLogPretty(config) ? process.stderr : createLogFile(2));
  const logLines = isLogPretty(config) ? createPrettyDestination(logStream) : logStream;
  const { worker } = overrides;
  const { level } = config.log;
  const log = overrides.log ?? createLog({ level, destination: logLines, ...(worker === undefined ? {} : { worker }) });
  mkdirSync(config.data, { recursive: true, mode: 0o700 });
  const store = await openModule('store', () => overrides.store ?? openDatabase(config));
  const keys = createKeys({ store, clock });
  const jobNotifier = createJobNotifier();
  const conversations = createConversations({ store, clock });
  const runNotifier = createRunNotifier();
  const responses = createResponses({ store, clock, notifier: runNotifier });
  const background = createBackgroundResponses({
    store,
    clock,
    ids: systemIdGenerator,
    encodeStatusChange: encodeChange,
    notifier: runNotifier,
    jobNotifier,
  });
  const listenUrls = new Map<RegionId, string>();
  const runsCleanup = worker === undefined;
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
  const extract = createDocumentExtractor();
  const batches = await openModule('batches', () =>
    openBatches({ config, store, blobs, getLimits, notifier: jobNotifier, clock, log, runsCleanup }),
  );
  const directory = await openModule('deployment directory', () => createDeploymentDirectory({ store, log }));
  await directory.refresh();
  const catalogue = createReplaceableCatalogue(await openCatalogue(config), directory);
  const weights = overrides.weights ?? openWeights(config, environment, log);
  const { engineHost: host, reclaimUnused } = overrides;
  const runtimes = openRuntimes(config, environment, log);
  const engineDeps = { catalogue, weights, runtimes, environment, log, clock, ...omitNullish({ host, reclaimUnused }) };
  const engineSettings = await resolveEngineSettings(config, engineDeps);
  const deployments = openDeployments({ config, store, clock, log, catalogue, directory, jobNotifier });
  const engines = await openModule(
    'engines',
    () => overrides.engines ?? createModelEngines({ ...engineDeps, ...engineSettings }),
  );
  const deploymentEngines = await openModule('deployment engines', () =>
    openDeploymentEngines({
      ...engineDeps,
      settings: engineSettings,
      drainMs: config.deployments.drainMs,
      onServingStatus: (id, local) => deployments.recordServingStatus(id, local),
      ...omitNullish({ onUnitsReplaced: overrides.onUnitsReplaced }),
    }),
  );
  const vocabularies = openVocabularies({ config, store, clock, catalogue, engines });
  const speech = await openModule('speech', () => openSpeech({ kind: config.engine.kind, engines }));
  const answerCheck = await openModule('answer check', () => createAnswerChecker());
  const quotas = overrides.quotas ?? createQuotas(clock);
  const admission = createDeploymentAdmission({
    quotas,
    inner: overrides.admission ?? unlimitedAdmission,
    onRunStart: (deployment) => ownMeter.trackDeploymentRequest(deployment),
  });
  const accounting = { admission, ledger: overrides.ledger ?? logOnlyLedger };
  const engineRouter = createEngineRouter(engines, deploymentEngines.callable);
  const { engineFor } = engineRouter;
  const getPromptStyle = ({ entry }: ResolvedModel) => getFamily(getFamilyName(entry));
  const { findDocument } = files.texts;
  const withDocuments = createWithDocuments({ findDocument, extract });
  const generateText = createGenerate({
    catalogue,
    acquireEngine: engineFor,
    getModelStyle: getPromptStyle,
    ...accounting,
    ids: systemIdGenerator,
    answerChecker: answerCheck,
  });
  const translate = createTranslate({ generate: generateText, catalogue, acquireEngine: engineFor, detectLanguage });
  const countText = createCountPrompt({ catalogue, acquireEngine: engineFor, getModelStyle: getPromptStyle });
  const countPrompt = withDocuments(createCountWithServerTools(countText));
  const serverTools = await openModule('server tools', () =>
    openServerTools({
      config: overrides.isPrimary ? withoutWarmSandboxes(config) : config,
      environment,
      store,
      files,
      catalogue,
      engines,
      engineFor,
      countPrompt: countText,
      extract,
      ids: systemIdGenerator,
      clock,
      log,
      runsCleanup,
    }),
  );
  const generate = withDocuments(serverTools.wrapGenerate(generateText));
  const fitHistory = createFitHistory({ generate, countPrompt });
  const tokenize = createTokenize({ catalogue, acquireEngine: engineFor, getModelStyle: getPromptStyle });
  const embed = createEmbedder({ catalogue, acquireEngine: engineRouter.embeddingsFor, ...accounting });
  const rank = createRanker({ catalogue, acquireEngine: engineRouter.rankingFor, ...accounting });

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

  const interfaces = [
    'chat',
    'completions',
    'messages',
    'responses',
    'native',
    'translation',
    'research',
    'embeddings',
    'rerank',
    'speech',
  ] as const;
  // The OpenAI-compatible list omits models that only the native interface serves.
  const modelListDeps = {
    catalogue: () => catalogue,
    served: ['chat', 'responses', 'completions', 'embeddings', 'rerank', 'speech'] as const,
  };
  const { strict } = config;
  const generationDeps = { generate, translate, catalogue: () => catalogue, clock, strict };
  const endpoints: readonly Endpoint[] = [
    createChatCompletionsEndpoint(generationDeps),
    createCompletionsEndpoint(generationDeps),
    createTextGenerationEndpoint({
      ...generationDeps,
      research: { research: research.research, runs: research.runs, streamPlan: config.research.streamPlan },
    }),
    createMultimodalGenerationEndpoint(generationDeps),
    createMessagesEndpoint(generationDeps),
    createCountTokensEndpoint({ countPrompt, catalogue: () => catalogue, strict }),
    createMessagesModelListEndpoint({ catalogue: () => catalogue }),
    createMessagesModelGetEndpoint({ catalogue: () => catalogue }),
    createModelListEndpoint(modelListDeps),
    createModelGetEndpoint(modelListDeps),
    createNativeModelListEndpoint({ catalogue: () => catalogue, servedInterfaces: interfaces }),
    createEmbeddingsEndpoint({ embed, catalogue: () => catalogue, strict }),
    createTextEmbeddingEndpoint({ embed, catalogue: () => catalogue, strict }),
    createRerankEndpoint({ rank, strict }),
    createTextRerankEndpoint({ rank, strict }),
    ...createConversationEndpoints({ conversations, responses, ids: systemIdGenerator, strict }),
    ...files.endpoints,
    ...batches.endpoints,
    ...vocabularies.endpoints,
    ...createResponseEndpoints({
      responses,
      background,
      findDocument,
      fitHistory,
      countPrompt,
      ids: systemIdGenerator,
      ...generationDeps,
    }),
    ...deployments.endpoints,
    createTokenizerEndpoint({ tokenize, catalogue: () => catalogue, strict }),
    ...transcriptions.endpoints,
    ...createFineTuneEndpoints(),
    createRealtimeHttpEndpoint(),
  ];
  const regions = listRegions(config).map(([id]) => id);
  const readinessDeps = {
    catalogue,
    engines,
    servedRoutes: endpoints,
    interfaces,
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
    strict,
    clock,
    log,
    meter,
  });
  const operatorToken = await readOperatorToken(config.operatorTokenFile);
  const addresses = buildHttpAddresses(config, { isShared: overrides.isPortShared ?? false });

  // Every process that listens also runs jobs. The primary runs only deployment jobs, because it hosts the engines.
  const { work } = batches;
  const batchJobs = await openBatchJobs({ config, work, blobs, endpoints, keys, catalogue, clock, log, meter });
  const deploymentHandlers = {
    deployment: deployments.createJobHandler({
      deployed: deploymentEngines.local,
      async prepare({ baseModel }) {
        const entry = catalogue.find(baseModel);
        if (!entry) throw new ServiceError('overloaded', `There is no model ${baseModel} in the catalogue any more.`);
        const { engine, release } = await engines.engineFor({ requestedName: baseModel, entry });
        await engine.loadModel().finally(release);
      },
    }),
  };
  const otherHandlers = {
    ...batchJobs,
    extract: createExtractHandler({ store, blobs, extract, ids: systemIdGenerator, clock }),
    ...transcriptions.jobs,
    ...research.jobs,
    response: createResponseHandler({
      background,
      notifier: runNotifier,
      keys,
      clock,
      ids: systemIdGenerator,
      log,
      deadlineMs: config.limits.deadlineStreamMs,
      answer: createBackgroundRunner({
        responses,
        background,
        findDocument,
        fitHistory,
        ids: systemIdGenerator,
        ...generationDeps,
      }),
    }),
  };
  const { conversationsDays, responsesDays } = config.retention;
  // Only the primary deletes expired data if there are several processes.
  const retentionDays = runsCleanup ? { conversationsDays, responsesDays } : KEEP_FOREVER;
  await openModule('retention', () => startRetention({ store, clock, log, ...retentionDays }));
  if (runsCleanup) await openModule('event cleanup', () => startEventCleanup({ store, clock, log }));
  const jobs = await openModule('jobs', () =>
    openJobWorker({
      jobs: store.jobs,
      handlers: overrides.jobHandlers ?? {
        ...(host ? {} : deploymentHandlers),
        ...(overrides.isPrimary ? {} : otherHandlers),
      },
      notifier: jobNotifier,
      clock,
      log,
      meter,
      timing: overrides.jobTiming,
    }),
  );
  const http = await lifecycle.open(
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

  const replaceModels = async (section: ModelsSection): Promise<void> => {
    catalogue.replace(await openCatalogue(section));
    await engines.closeUnusedServers(catalogue.list());
  };

  return {
    keys,
    research: research.research,
    sharing: {
      log,
      quotas,
      writeLogLines: (lines) => logLines.write(lines),
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
      async startJobs() {
        await deployments.resetAfterRestart();
        jobs.start();
      },
    },
    async listen() {
      if (!host) await deployments.resetAfterRestart();
      const boundSockets = await http.listen().catch((error: unknown) => {
        throw toListenError(error);
      });
      const listeners = createListenerConfigs(config);
      const listenAddresses = boundSockets.map(({ boundHost, port, region }, at) => ({
        region,
        url: `http://${boundHost.includes(':') ? `[${boundHost}]` : boundHost}:${port}`,
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
    verifySandbox: serverTools.verifySandbox,
    buildReport: () => buildServiceReport(readinessDeps),
    pauseLog: () => logStream.pause(),
    async reloadModels(file) {
      await replaceModels(readModelsSection(file));
      log.info('models reloaded', { models: catalogue.list().length });
    },
    close: () => lifecycle.closeAll(),
  };
}

/** Keeps no warm sandboxes in a primary, which answers no requests. */
const withoutWarmSandboxes = (config: Config): Config => ({
  ...config,
  codeInterpreter: { ...config.codeInterpreter, warm: 0 },
});

/** Returns whether to format the log for people. It goes to standard error; standard output belongs to commands. */
const isLogPretty = ({ log: { pretty } }: Config): boolean => (pretty === 'auto' ? process.stderr.isTTY : pretty);
