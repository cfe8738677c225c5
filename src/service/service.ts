import { mkdirSync } from 'node:fs';
import { createDecodeAudio } from '../audio/decode-audio.ts';
import { createReplaceableCatalogue } from '../catalogue/catalogue.ts';
import { familyOf } from '../catalogue/families/families.ts';
import { familyNameOf } from '../catalogue/model.ts';
import type { ResolvedModel } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import { readModelsSection } from '../config/config-file.ts';
import type { ModelsSection } from '../config/config-file.ts';
import { listenersOf, regionsOf } from '../config/regions.ts';
import { ServiceError } from '../core/error.ts';
import { systemIds } from '../core/id.ts';
import type { RegionId } from '../core/region.ts';
import type { Research } from '../core/research.ts';
import type { Meter } from '../core/telemetry.ts';
import { createExtract } from '../documents/extract.ts';
import { createAnswerCheck } from '../generation/answer-check.ts';
import { openAdmission } from '../generation/admission.ts';
import { createCountPrompt } from '../generation/count-prompt.ts';
import { createDeploymentAdmission } from '../generation/deployment-admission.ts';
import { createEmbed } from '../generation/embed.ts';
import { createFitHistory } from '../generation/fit-history.ts';
import { createGenerate } from '../generation/generate.ts';
import { logOnlyLedger } from '../generation/ledger.ts';
import { createQuotas } from '../generation/quotas.ts';
import { createRank } from '../generation/rank.ts';
import { createResearch } from '../generation/research/research.ts';
import { createCountWithServerTools } from '../generation/server-tools/count-with-server-tools.ts';
import { createTokenize } from '../generation/tokenize.ts';
import { detectLanguage } from '../generation/translation/detect-language.ts';
import { createWithDocuments } from '../generation/with-documents.ts';
import { createTranslate } from '../generation/translation/translate.ts';
import { createHttp } from '../http/server.ts';
import { extractJob } from '../jobs/kinds/extract.ts';
import { systemClock } from '../lib/clock.ts';
import { present } from '../lib/present.ts';
import { chatCompletions } from '../protocols/compatible/chat-completions/endpoint.ts';
import { completions } from '../protocols/compatible/completions/endpoint.ts';
import { conversationEndpoints } from '../protocols/compatible/conversations/endpoints.ts';
import { embeddings } from '../protocols/compatible/embeddings/endpoint.ts';
import { modelGet, modelList } from '../protocols/compatible/models/endpoint.ts';
import { rerank } from '../protocols/compatible/rerank/endpoint.ts';
import { backgroundAnswer } from '../protocols/compatible/responses/background-answer.ts';
import { responseEndpoints } from '../protocols/compatible/responses/endpoints.ts';
import { tellChange } from '../protocols/compatible/responses/tell-change.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createPlaces } from '../protocols/realtime/places.ts';
import { realtime, realtimePlain } from '../protocols/realtime/endpoint.ts';
import { countTokens } from '../protocols/messages/count-tokens/endpoint.ts';
import { messagesCreate } from '../protocols/messages/create/endpoint.ts';
import { messagesModelGet, messagesModelList } from '../protocols/messages/models/endpoint.ts';
import { fineTunes } from '../protocols/native/fine-tunes/endpoint.ts';
import { multimodalGeneration, textGeneration } from '../protocols/native/generation/endpoint.ts';
import { nativeModelList } from '../protocols/native/models/endpoint.ts';
import { textRerank } from '../protocols/native/rerank/endpoint.ts';
import { textEmbedding } from '../protocols/native/text-embedding/endpoint.ts';
import { tokenizer } from '../protocols/native/tokenizer/endpoint.ts';
import { responseJob } from '../jobs/kinds/response.ts';
import { createConversations } from '../resources/conversations/service.ts';
import { createDeploymentDirectory } from '../resources/deployments/directory.ts';
import { ensureFirstKey } from '../resources/keys/first-key.ts';
import type { Keys } from '../resources/keys/key.ts';
import { createKeys } from '../resources/keys/service.ts';
import { createBackgroundResponses } from '../resources/responses/background-service.ts';
import { startPastEvents } from '../resources/responses/past-events.ts';
import { createRunBell } from '../resources/responses/run-bell.ts';
import { createJobBell } from '../resources/jobs/job-bell.ts';
import { createResponses } from '../resources/responses/service.ts';
import { startRetention } from '../resources/retention/retention.ts';
import { createHeldStream } from '../telemetry/held-stream.ts';
import { createLog } from '../telemetry/log.ts';
import { logFile } from '../telemetry/log-file.ts';
import { createMeter } from '../telemetry/meter.ts';
import { prettyLines } from '../telemetry/pretty.ts';
import { createOpenAudio } from '../transcription/opened-audio.ts';
import { openAudioStream } from '../transcription/open-audio-stream.ts';
import type { ReportProgress } from '../weights/progress.ts';
import { addressesOf, reachableAs, reachedBy } from './addresses.ts';
import type { ReachedRegion } from './addresses.ts';
import { cannotListen } from './cannot-listen.ts';
import { createCalledEngines } from './deployed/called-engines.ts';
import { openDeployedEngines } from './deployed/open-deployed-engines.ts';
import { engineSettingsOf } from './engine-settings.ts';
import { openBatchJobs } from './open-batch-jobs.ts';
import { openBatches } from './open-batches.ts';
import { openDeployments } from './open-deployments.ts';
import { openFiles } from './open-files.ts';
import { openJobs } from './open-jobs.ts';
import { openResearch, researchLimits } from './open-research.ts';
import { openVocabularies } from './open-vocabularies.ts';
import { operatorToken } from './operator-token.ts';
import { openServerTools } from './open-server-tools.ts';
import { openSpeech } from './open-speech.ts';
import { openTranscriptions } from './open-transcriptions.ts';
import { createModelEngines } from './model-engines.ts';
import { openCatalogue, openDatabase, openRuntimes, openWeights } from './parts.ts';
import type { ProcessSharing } from './process-sharing.ts';
import { DEFAULT_MODEL, readiness, report } from './readiness.ts';
import type { Report } from './readiness.ts';
import type { Parts } from './replaceable-parts.ts';

export interface ListenAddress {
  /** What the address itself leads to, without a host name that says otherwise. */
  readonly region: RegionId;
  readonly url: string;
  readonly regions: readonly ReachedRegion[];
}

export interface Service {
  readonly keys: Keys;
  /** For whoever waits in this process; those of callers are jobs. */
  readonly research: Research;
  /** Opens the sockets; requests are answered from here on, with 503 while a model is not there yet. */
  listen(): Promise<readonly ListenAddress[]>;
  /** The first key, made at the first start; undefined when keys exist and its file is gone. */
  firstKey(): Promise<{ readonly secret: string; readonly isNew: boolean } | undefined>;
  /** Downloads what the default model lacks and starts its engine. @throws ServiceError with the reason. */
  prepare(options: { readonly signal: AbortSignal; readonly onProgress: ReportProgress }): Promise<void>;
  /** Finds out what models may really use on this side: some seconds of attacks on the sandbox of their programs. Never throws. */
  prepareTools(): Promise<void>;
  report(): Promise<Report>;
  /** Log lines wait until what comes back is called: something else has the terminal. */
  holdLog(): () => void;
  /** Reads the models of the configuration file again. @throws ServiceError; then they stay as they are. */
  reloadModels(file: string): Promise<void>;
  /** For the other processes of a service that has several. */
  readonly sharing: ProcessSharing;
  /** Stops taking requests, lets running ones end within the grace time, then ends everything that was started. */
  close(): Promise<void>;
}

const NOTHING_ENDS = { conversationsDays: undefined, responsesDays: undefined };

/** What is answered without an endpoint, as http names it. */
const OTHER_OPERATIONS = [
  'probe.health',
  'probe.ready',
  'probe.metrics',
  'unserved',
  'refused-method',
  'realtime.connect',
  'unknown',
];

/** The only place that joins the parts. */
export async function createService(config: Config, overrides: Partial<Parts> = {}): Promise<Service> {
  const clock = overrides.clock ?? systemClock;
  const environment = overrides.environment ?? process.env;
  const logStream = createHeldStream(wantsPretty(config) ? process.stderr : logFile(2));
  const logLines = wantsPretty(config) ? prettyLines(logStream) : logStream;
  const { worker } = overrides;
  const { level } = config.log;
  const log = overrides.log ?? createLog({ level, destination: logLines, ...(worker === undefined ? {} : { worker }) });
  mkdirSync(config.data, { recursive: true, mode: 0o700 });
  const store = overrides.store ?? (await openDatabase(config));
  const keys = createKeys({ store, clock });
  const jobBell = createJobBell();
  const conversations = createConversations({ store, clock });
  const runBell = createRunBell();
  const responses = createResponses({ store, clock, bell: runBell });
  const background = createBackgroundResponses({ store, clock, ids: systemIds, tellChange, bell: runBell, jobBell });
  const listening = new Map<RegionId, string>();
  const files = await openFiles({
    config,
    environment,
    store,
    clock,
    log,
    bell: jobBell,
    listensAt: (region) => listening.get(region) ?? '',
    sweeps: worker === undefined,
  });
  const { blobs, limitsOf } = files;
  const extract = createExtract();
  const sweeps = worker === undefined;
  const batches = openBatches({ config, store, blobs, limitsOf, bell: jobBell, clock, log, sweeps });
  const directory = createDeploymentDirectory({ store, log });
  await directory.refresh();
  const catalogue = createReplaceableCatalogue(await openCatalogue(config), directory);
  const weights = overrides.weights ?? openWeights(config, environment, log);
  const { engineHost: host, recall } = overrides;
  const runtimes = openRuntimes(config, environment, log);
  const engineNeeds = { catalogue, weights, runtimes, environment, log, clock, ...present({ host, recall }) };
  const engineSettings = await engineSettingsOf(config, engineNeeds);
  const deployments = openDeployments({ config, store, clock, log, catalogue, directory, jobBell });
  const deployed = openDeployedEngines({
    ...engineNeeds,
    settings: engineSettings,
    drainMs: config.deployments.drainMs,
    onStanding: (id, kept) => deployments.tellStanding(id, kept),
    ...present({ onSwitch: overrides.onSwitch }),
  });
  const engines = overrides.engines ?? createModelEngines({ ...engineNeeds, ...engineSettings });
  const vocabularies = openVocabularies({ config, store, clock, catalogue, engines });
  const speech = openSpeech({ kind: config.engine.kind, engines });
  const answerCheck = createAnswerCheck();
  const quotas = overrides.quotas ?? createQuotas(clock);
  const admission = createDeploymentAdmission({
    quotas,
    inner: overrides.admission ?? openAdmission,
    running: (deployment) => ownMeter.deploymentRunStarted(deployment),
  });
  const books = { admission, ledger: overrides.ledger ?? logOnlyLedger };
  const called = createCalledEngines(engines, deployed.callable);
  const { engineFor } = called;
  const styleOf = ({ entry }: ResolvedModel) => familyOf(familyNameOf(entry));
  const { findDocument } = files.texts;
  const withDocuments = createWithDocuments({ findDocument, extract });
  const generateText = createGenerate({ catalogue, engineFor, styleOf, ...books, ids: systemIds, answerCheck });
  const translate = createTranslate({ generate: generateText, catalogue, engineFor, detectLanguage });
  const countText = createCountPrompt({ catalogue, engineFor, styleOf });
  const countPrompt = withDocuments(createCountWithServerTools(countText));
  const serverTools = await openServerTools({
    config: overrides.isPrimary ? withoutReserve(config) : config,
    environment,
    store,
    files,
    catalogue,
    engines,
    engineFor,
    countPrompt: countText,
    extract,
    ids: systemIds,
    clock,
    log,
    sweeps,
  });
  const generate = withDocuments(serverTools.around(generateText));
  const fitHistory = createFitHistory({ generate, countPrompt });
  const tokenize = createTokenize({ catalogue, engineFor, styleOf });
  const embed = createEmbed({ catalogue, engineFor: called.embeddingsFor, ...books });
  const rank = createRank({ catalogue, engineFor: called.rankingFor, ...books });

  const { findHotwords } = vocabularies.vocabularies;
  const transcriptions = openTranscriptions({
    config,
    store,
    blobs,
    files: files.files,
    linksAt: files.linksAt,
    fileBytesMax: files.fileBytesMax,
    catalogue: () => catalogue,
    speechFor: speech.speechFor,
    openAudio: createOpenAudio(createDecodeAudio()),
    findHotwords,
    bell: jobBell,
    clock,
    log,
    sweeps,
  });

  const { search, readPage, examine } = serverTools;
  const research = openResearch({
    config,
    store,
    research:
      overrides.research ??
      createResearch({ generate: generateText, examine, tokenize, search, readPage, clock, ...researchLimits(config) }),
    jobBell,
    ids: systemIds,
    clock,
    log,
    sweeps,
  });

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
  // What only the native interface can ask for is no model of the compatible list.
  const models = {
    catalogue: () => catalogue,
    served: ['chat', 'responses', 'completions', 'embeddings', 'rerank', 'speech'] as const,
  };
  const { strict } = config;
  const asking = { generate, translate, catalogue: () => catalogue, clock, strict };
  const endpoints: readonly Endpoint[] = [
    chatCompletions(asking),
    completions(asking),
    textGeneration({
      ...asking,
      research: { research: research.research, runs: research.runs, streamPlan: config.research.streamPlan },
    }),
    multimodalGeneration(asking),
    messagesCreate(asking),
    countTokens({ countPrompt, catalogue: () => catalogue, strict }),
    messagesModelList({ catalogue: () => catalogue }),
    messagesModelGet({ catalogue: () => catalogue }),
    modelList(models),
    modelGet(models),
    nativeModelList({ catalogue: () => catalogue, served: interfaces }),
    embeddings({ embed, catalogue: () => catalogue, strict }),
    textEmbedding({ embed, catalogue: () => catalogue, strict }),
    rerank({ rank, strict }),
    textRerank({ rank, strict }),
    ...conversationEndpoints({ conversations, responses, ids: systemIds, strict }),
    ...files.endpoints,
    ...batches.endpoints,
    ...vocabularies.endpoints,
    ...responseEndpoints({ responses, background, findDocument, fitHistory, countPrompt, ids: systemIds, ...asking }),
    ...deployments.endpoints,
    tokenizer({ tokenize, catalogue: () => catalogue, strict }),
    ...transcriptions.endpoints,
    ...fineTunes(),
    realtimePlain(),
  ];
  const regions = regionsOf(config).map(([id]) => id);
  const about = { catalogue, engines, served: endpoints, interfaces, regions, clock, tools: serverTools.report };
  const ownMeter = createMeter({
    operations: [...endpoints.map((endpoint) => endpoint.operation), ...OTHER_OPERATIONS],
    isDeployed: (deployment) => directory.find(deployment, deployment.name) !== undefined,
  });
  directory.whenGone(ownMeter.forgetDeployment);
  const meter: Meter = { ...ownMeter, expose: overrides.exposeAll ?? ownMeter.expose };
  const recognition = realtime({
    catalogue: () => catalogue,
    speechFor: (model) => speech.speechFor(model),
    findHotwords,
    openAudio: openAudioStream,
    // Processes share connections out evenly, more or less; so they do with what runs on them.
    places: createPlaces(Math.max(1, Math.floor(config.speech.sessionsMax / config.workers))),
    strict,
    clock,
    log,
    meter,
  });
  const addresses = addressesOf(config, { isShared: overrides.isPortShared ?? false });
  const http = await createHttp({
    endpoints,
    sockets: [recognition],
    ...addresses,
    authenticate: (secret) => keys.authenticate(secret),
    probes: { ready: async () => ({ ...(await readiness(about)) }) },
    operatorToken: await operatorToken(config.operatorTokenFile),
    cors: config.cors,
    limits: {
      bodyBytesMax: config.limits.bodyBytesMax,
      keepAliveMs: config.limits.keepAliveMs,
      deadlinePlainMs: config.limits.deadlinePlainMs,
      deadlineStreamMs: config.limits.deadlineStreamMs,
    },
    ids: systemIds,
    clock,
    log,
    meter,
  });

  // Whoever listens works, too; of several processes the primary does what is to be done to the engines it keeps.
  const { work } = batches;
  const batchJobs = await openBatchJobs({ config, work, blobs, endpoints, keys, catalogue, clock, log, meter });
  const deploymentWork = {
    deployment: deployments.job({
      deployed: deployed.kept,
      async prepare({ baseModel }) {
        const entry = catalogue.find(baseModel);
        if (!entry) throw new ServiceError('overloaded', `There is no model ${baseModel} any more.`);
        const { engine, release } = await engines.engineFor({ asked: baseModel, entry });
        await engine.model().finally(release);
      },
    }),
  };
  const otherWork = {
    ...batchJobs,
    extract: extractJob({ store, blobs, extract, ids: systemIds, clock }),
    ...transcriptions.jobs,
    ...research.jobs,
    response: responseJob({
      background,
      bell: runBell,
      keys,
      clock,
      ids: systemIds,
      log,
      deadlineMs: config.limits.deadlineStreamMs,
      answer: backgroundAnswer({ responses, background, findDocument, fitHistory, ids: systemIds, ...asking }),
    }),
  };
  const jobs = openJobs({
    jobs: store.jobs,
    handlers: overrides.jobHandlers ?? { ...(host ? {} : deploymentWork), ...(overrides.isPrimary ? {} : otherWork) },
    bell: jobBell,
    clock,
    log,
    meter,
    timing: overrides.jobTiming,
  });

  const { conversationsDays, responsesDays } = config.retention;
  // Of several processes the primary sees to it for all.
  const kept = worker === undefined ? { conversationsDays, responsesDays } : NOTHING_ENDS;
  const retention = startRetention({ store, clock, log, ...kept });
  const pastEvents = worker === undefined ? startPastEvents({ store, clock, log }) : undefined;

  const useModels = async (section: ModelsSection): Promise<void> => {
    catalogue.replace(await openCatalogue(section));
    await engines.keepServersOf(catalogue.list());
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
      async stateOf(model) {
        const entry = catalogue.find(model);
        return entry ? engines.stateOf(entry) : { state: 'off', reason: 'there is no such model any more' };
      },
      readMeter: () => ownMeter.read(),
      useModels,
      lend: (id) => deployed.kept.lend(id),
      deploymentSwitched: (id) => deployed.switched(id),
      async work() {
        await deployments.restart();
        jobs.start();
      },
    },
    async listen() {
      if (!host) await deployments.restart();
      const bound = await http.listen().catch((error: unknown) => {
        throw cannotListen(error);
      });
      const listeners = listenersOf(config);
      const addressed = bound.map(({ host, port, region }, at) => ({
        region,
        url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
        regions: reachedBy(listeners[at], config),
      }));
      for (const { url, regions: reached } of addressed)
        for (const { id } of reached) listening.set(id, reachableAs(url));
      jobs.start();
      return addressed;
    },
    firstKey: async () => {
      // Of the address that a newcomer is shown first.
      const region = addresses.listeners[0]?.region;
      return region && (await ensureFirstKey({ keys, keyFile: config.keyFile, region }));
    },
    async prepare(options) {
      const entry = catalogue.find(DEFAULT_MODEL);
      if (entry) await engines.prepare(entry, options);
    },
    prepareTools: serverTools.prepare,
    report: () => report(about),
    holdLog: () => logStream.hold(),
    async reloadModels(file) {
      await useModels(readModelsSection(file));
      log.info('models were read again', { models: catalogue.list().length });
    },
    async close() {
      jobs.drain();
      await http.close({ graceMs: config.shutdownGraceMs });
      await jobs.close();
      await deployed.close();
      await engines.close();
      await speech.close();
      await serverTools.close();
      await answerCheck.close();
      await retention.close();
      await batches.close();
      await transcriptions.close();
      await research.close();
      await pastEvents?.close();
      await directory.close();
      await files.close();
      await store.close();
    },
  };
}

/** Of a process that answers nobody: nothing is kept ready for programs. */
const withoutReserve = (config: Config): Config => ({
  ...config,
  codeInterpreter: { ...config.codeInterpreter, warm: 0 },
});

/** The log is on standard error: standard output belongs to what a person or a script asked for. */
const wantsPretty = ({ log: { pretty } }: Config): boolean => (pretty === 'auto' ? process.stderr.isTTY : pretty);
