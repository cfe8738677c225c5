import type { ReplaceableCatalogue } from '../catalogue/catalogue.ts';
import { getWeightsId } from '../catalogue/model.ts';
import type { ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import { REQUESTED_MODEL_CHARS_MAX } from '../core/limits.ts';
import type { Log } from '../core/telemetry.ts';
import { INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';
import type { Weights } from '../core/weights.ts';
import type { EmbeddingEngine, RankingEngine, TextEngine } from '../engines/engine.ts';
import { createLlamaEngine } from '../engines/llama/llama-engine.ts';
import { createLlamaProcess } from '../engines/llama/llama-process.ts';
import type { LlamaProcessOptions } from '../engines/llama/llama-process.ts';
import type { LlamaEndpoint } from '../engines/llama/protocol.ts';
import { createEngineRegistry } from '../engines/engine-registry.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import { parsePromptScript } from '../engines/scripted/parse-prompt-script.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import type { RunningProgram } from '../engines/command/command-server.ts';
import type { Pool } from '../engines/pool/pool.ts';
import type { SupervisedLease } from '../engines/sharing/lease-table.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { SupervisedProcess } from '../engines/supervisor.ts';
import { detectModelInfo } from '../generation/check-abilities.ts';
import type { Clock } from '../lib/clock.ts';
import type { ReportProgress } from '../weights/progress-meter.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import type { EngineHost, ModelState } from './engine-host.ts';
import { createOnnxEngines, isOnnx } from './onnx-engines.ts';
import { createProgramEngine, createServerPool, planProgram, planPreferredServer } from './server-engines.ts';
import type { ProgramPlan } from './server-engines.ts';

type Upstream = Extract<ModelEntry['runner'], { readonly type: 'upstream' }>;

/** Maximum number of engines loaded at once. The default weights and one more model fit into a machine with 8 GB. */
const ENGINES_MAX = 2;

/** Retry-After for requests to a model whose weights are downloading or missing, in seconds. */
const DOWNLOAD_RETRY_SECONDS = 30;

/** A lease on one part of an engine, such as its embeddings. The engine stays open until the lease is released. */
interface EnginePartLease<Part> {
  readonly engine: Part;
  release(): void;
}

/** Finds or starts the engine that runs a catalogue entry. */
export interface ModelEngines {
  /**
   * Leases the engine of the model.
   * @throws ServiceError `overloaded` while weights are downloading or missing; `unsupported` for an entry without an engine.
   */
  engineFor(model: ResolvedModel): Promise<EngineLease>;
  /** Leases the engine for embeddings. @throws ServiceError as `engineFor`; `unsupported` also when it has no embeddings. */
  embeddingsFor(model: ResolvedModel): Promise<EnginePartLease<EmbeddingEngine>>;
  /** Leases the engine for speech recognition. @throws ServiceError as `engineFor`. */
  speechFor(model: ResolvedModel): Promise<EnginePartLease<SpeechEngine>>;
  /** Leases the engine for ranking. @throws ServiceError as `engineFor`; `unsupported` also when it cannot rank. */
  rankingFor(model: ResolvedModel): Promise<EnginePartLease<RankingEngine>>;
  /** Downloads missing weights and starts the engine. @throws ServiceError with the reason. */
  prepare(entry: ModelEntry, options: { signal: AbortSignal; onProgress?: ReportProgress }): Promise<void>;
  getState(entry: ModelEntry): Promise<ModelState>;
  /** Closes the connections to servers that none of the entries names. */
  closeUnusedServers(entries: readonly ModelEntry[]): Promise<void>;
  /** Returns when the engine of the entry last produced a token, in ms of the monotonic clock. */
  getLastTokenAt(entry: ModelEntry): number | undefined;
  close(): Promise<void>;
}

/** Access to the engines of this process for other processes of the same service. */
export interface EngineSharing {
  /** Leases the process that runs the model, for use by another process. @throws ServiceError as `engineFor`. */
  share(model: string): Promise<SupervisedLease>;
  /** Releases idle leases on engines that another process hosts. */
  releaseIdle(): Promise<void>;
}

export interface ModelEnginesDeps {
  readonly kind: 'llama' | 'scripted';
  readonly llama: Omit<LlamaProcessOptions, 'name' | 'modelFile' | 'contextTokens'>;
  /** Context length for every entry; undefined: each entry's own. */
  readonly contextTokens: number | undefined;
  readonly catalogue: Pick<ReplaceableCatalogue, 'weights' | 'find' | 'applyModelInfo'>;
  /** Path of the server program that runs local weights; undefined: the embedded engine runs them. */
  readonly preferredProgram: string | undefined;
  readonly weights: WeightsStore;
  readonly runtimes: Pick<RuntimeStore, 'locate' | 'runtime'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
  /** Present in a worker process: the host runs the engine processes, and this process starts none. */
  readonly host?: EngineHost;
  /** Makes the processes that share these engines release the leases that they do not use. */
  readonly reclaimUnused?: () => Promise<void>;
}

/** A registry entry: an engine, and its process when other processes may call that too. */
interface RunningEngine {
  readonly text: TextEngine;
  readonly supervised?: SupervisedProcess<unknown>;
  readonly state: TextEngine['state'];
  close(): Promise<void>;
}

export function createModelEngines(deps: ModelEnginesDeps): ModelEngines & EngineSharing {
  const { clock, host, reclaimUnused } = deps;
  const registry = createEngineRegistry<RunningEngine>({
    // The host enforces the limit for all processes.
    enginesMax: host ? Infinity : ENGINES_MAX,
    clock,
    ...(reclaimUnused ? { recallLeases: reclaimUnused } : {}),
  });
  /** Engines on other servers hold no weights here, so their number has no limit. */
  const servers = createEngineRegistry<TextEngine>({ enginesMax: Infinity, clock });
  const pools = new Map<string, Pool>();
  const downloads = new Set<string>();
  const lastTokenAtByKey = new Map<string, number>();
  const createTokenRecorder = (key: string) => (): void => void lastTokenAtByKey.set(key, deps.clock.monotonic());

  /** Entries with the same weights and context share one engine. */
  const getEngineKey = (entry: ModelEntry): string => {
    const { runner } = entry;
    if (isScripted(entry)) return 'scripted';
    switch (runner.type) {
      case 'weights':
        // A server program either writes text or embeds; the embedded engine does both.
        return `${runner.weights} ${getContextTokens(entry)}${deps.preferredProgram === undefined || writesText(entry) ? '' : ' embedded'}`;
      case 'upstream':
      case 'program':
        // Any difference in the description of a server makes it another engine.
        return `${runner.type} ${getDeclaredContextTokens(entry) ?? ''} ${JSON.stringify(runner)}`;
      case 'onnx':
        return `onnx ${runner.weights}`;
      case 'none':
        return 'none';
    }
  };

  /** True when a scripted engine replaces the real engine of this machine (tests, demos). */
  const isScripted = ({ runner }: ModelEntry): boolean => deps.kind === 'scripted' && runner.type !== 'upstream';

  const getContextTokens = (entry: ModelEntry): number => deps.contextTokens ?? entry.contextTokens;

  /** Excludes a context length that the engine itself reported: a report must not change the key of its engine. */
  const getDeclaredContextTokens = (entry: ModelEntry): number | undefined =>
    entry.isContextGuessed ? deps.contextTokens : getContextTokens(entry);

  const leaseLlama = (entry: ModelEntry, { id }: Weights): Promise<EngineLease<RunningEngine>> => {
    const contextTokens = getContextTokens(entry);
    const key = getEngineKey(entry);
    return registry.lease(key, async () => {
      // The host locates the file in its own process.
      const modelFile = host ? '' : await locateWeightsFile(entry, id);
      if (deps.preferredProgram !== undefined && writesText(entry))
        return await startProgram(entry, {
          ...planPreferredServer(entry, deps.preferredProgram, modelFile),
          contextTokens,
        });
      const options = { ...deps.llama, name: id, modelFile, contextTokens };
      const process = await (host ? host.open(entry.name, parseLlamaUp) : createLlamaProcess(options, deps.log));
      const engine = createLlamaEngine({ process, sequences: deps.llama.sequences, onToken: createTokenRecorder(key) });
      return createRunningEngine(recordingMetadata(entry, engine), process);
    });
  };

  const locateWeightsFile = async (entry: ModelEntry, id: string): Promise<string> => {
    const weights = deps.catalogue.weights(id);
    const file = await deps.weights.locate(weights);
    if (file === undefined) throw createMissingWeightsError(entry, weights);
    return file;
  };

  /** Returns true also for entries that need no local weights. */
  const hasLocalWeights = async (entry: ModelEntry): Promise<boolean> => {
    const id = getWeightsId(entry);
    return id === undefined || (await deps.weights.locate(deps.catalogue.weights(id))) !== undefined;
  };

  const startProgram = async (entry: ModelEntry, plan: ProgramPlan): Promise<RunningEngine> => {
    const { threads, sequences, gpu, runFolder } = deps.llama;
    const programDeps = {
      ...deps,
      threads,
      sequences,
      gpu,
      runFolder,
      onToken: createTokenRecorder(getEngineKey(entry)),
    };
    const openServer = host && (() => host.open(entry.name, parseProgramUp));
    const { engine, server } = await createProgramEngine(entry, plan, {
      ...programDeps,
      ...(openServer && { openServer }),
    });
    return createRunningEngine(recordingMetadata(entry, engine), server);
  };

  /** Adds what the engine reports about its model to the catalogue; an engine without such a report is no failure. */
  const recordingMetadata = (entry: ModelEntry, engine: TextEngine): TextEngine => {
    engine.loadModel().then(
      (model) => deps.catalogue.applyModelInfo(entry.name, detectModelInfo(model, engine.capabilities)),
      () => undefined,
    );
    return engine;
  };

  const createMissingWeightsError = (entry: ModelEntry, { id }: Weights): ServiceError =>
    downloads.has(id)
      ? new ServiceError('overloaded', `The weights of ${entry.name} are still downloading.`, {
          retryAfterSeconds: DOWNLOAD_RETRY_SECONDS,
        })
      : new ServiceError(
          'overloaded',
          `The weights of ${entry.name} are not on this machine: parley models pull ${entry.name}`,
          {
            retryAfterSeconds: DOWNLOAD_RETRY_SECONDS,
          },
        );

  const onnx = createOnnxEngines({
    ...deps,
    locateWeightsFolder: locateWeightsFile,
    process: {
      threads: deps.llama.threads,
      queueLengthMax: deps.llama.queueLengthMax,
      queueWaitMsMax: deps.llama.queueWaitMsMax,
      runFolder: deps.llama.runFolder,
    },
  });

  const leaseEngine = async (entry: ModelEntry): Promise<EngineLease> => {
    const { runner } = entry;
    if (runner.type === 'upstream')
      return await servers.lease(getEngineKey(entry), async () => {
        const key = getEngineKey(entry);
        const pool = await createServerPool(entry, runner, { ...deps, onToken: createTokenRecorder(key) });
        pools.set(key, pool);
        return recordingMetadata(entry, pool);
      });
    const { engine, release } = await leaseRunning(entry, runner);
    return { engine: engine.text, release };
  };

  /** Leases an engine that runs on this machine. */
  const leaseRunning = (
    entry: ModelEntry,
    runs: Exclude<ModelEntry['runner'], Upstream>,
  ): Promise<EngineLease<RunningEngine>> => {
    if (isScripted(entry))
      return registry.lease(getEngineKey(entry), async () =>
        createRunningEngine(
          createScriptedEngine({
            script: parsePromptScript,
            contextTokens: getContextTokens(entry),
            sequences: deps.llama.sequences,
            onToken: createTokenRecorder(getEngineKey(entry)),
          }),
        ),
      );
    switch (runs.type) {
      case 'weights':
        return leaseLlama(entry, deps.catalogue.weights(runs.weights));
      case 'program':
        return registry.lease(getEngineKey(entry), async () => {
          const modelFile =
            runs.weights === undefined || host ? undefined : await locateWeightsFile(entry, runs.weights);
          return await startProgram(entry, planProgram(entry, runs, modelFile));
        });
      case 'onnx':
        return Promise.reject(
          new ServiceError('unsupported', `The engine of model ${entry.name} does not generate text.`, {
            param: 'model',
          }),
        );
      case 'none':
        return Promise.reject(new ServiceError('unsupported', `${entry.name}: ${runs.reason}`, { param: 'model' }));
    }
  };

  const leasePart = async <Part>(
    { requestedName, entry }: ResolvedModel,
    pick: (engine: TextEngine) => Part | undefined,
    limitation: string,
  ): Promise<EnginePartLease<Part>> => {
    const { engine, release } = await leaseEngine(entry);
    const part = pick(engine);
    if (part !== undefined) return { engine: part, release };
    release();
    throw new ServiceError(
      'unsupported',
      `The engine of model ${requestedName.slice(0, REQUESTED_MODEL_CHARS_MAX)} ${limitation}.`,
      {
        param: 'model',
      },
    );
  };

  return {
    embeddingsFor: (model) =>
      isOnnx(model.entry) && !isScripted(model.entry)
        ? onnx.vectorsFor(model.entry)
        : leasePart(model, ({ embeddings }) => embeddings, 'does not produce embeddings'),
    async speechFor({ requestedName, entry }) {
      if (isOnnx(entry)) return await onnx.speechFor(entry);
      const why = entry.runner.type === 'none' ? entry.runner.reason : `${NO_SPEECH_RECOGNITION}.`;
      throw new ServiceError('unsupported', `${requestedName.slice(0, REQUESTED_MODEL_CHARS_MAX)}: ${why}`, {
        param: 'model',
      });
    },
    rankingFor: (model) => leasePart(model, ({ ranking }) => ranking, 'does not rank documents'),
    getLastTokenAt: (entry) => lastTokenAtByKey.get(getEngineKey(entry)),
    engineFor: ({ entry }) => leaseEngine(entry),
    async closeUnusedServers(entries) {
      const usedKeys = new Set(entries.map(getEngineKey));
      for (const key of pools.keys()) if (!usedKeys.has(key)) pools.delete(key);
      await servers.retire((key) => usedKeys.has(key));
    },
    async prepare(entry, { signal, onProgress }) {
      const weightsId = getWeightsId(entry);
      if (weightsId !== undefined && !isScripted(entry)) {
        const weights = deps.catalogue.weights(weightsId);
        if ((await deps.weights.locate(weights)) === undefined) {
          downloads.add(weights.id);
          try {
            await deps.weights.pull(weights, { signal, ...(onProgress ? { onProgress } : {}) });
          } finally {
            downloads.delete(weights.id);
          }
        }
      }
      if (isOnnx(entry) && !isScripted(entry)) {
        const { supervised, release } = await onnx.share(entry);
        return void (await supervised.waitUntilReady(signal).finally(release));
      }
      const { engine, release } = await leaseEngine(entry);
      await engine.loadModel().finally(release);
    },
    async share(model) {
      const entry = deps.catalogue.find(model);
      if (!entry)
        throw new ServiceError('model-not-found', `There is no model ${model} in the catalogue any more.`, {
          param: 'model',
        });
      if (isOnnx(entry)) return await onnx.share(entry);
      const lease = entry.runner.type === 'upstream' ? undefined : await leaseRunning(entry, entry.runner);
      if (lease?.engine.supervised) return { supervised: lease.engine.supervised, release: lease.release };
      lease?.release();
      throw new ServiceError('internal', INTERNAL_MESSAGE, {
        cause: `the engine of ${model} cannot be shared between processes`,
      });
    },
    async releaseIdle() {
      await Promise.all([registry.closeIdle(({ supervised }) => supervised !== undefined), onnx.releaseIdle()]);
    },
    async getState(entry) {
      const { runner } = entry;
      if (runner.type === 'none') return { state: 'off', reason: runner.reason };
      if (isScripted(entry)) return { state: 'ready' };
      if (isSpeechOnly(entry) && !isOnnx(entry)) return { state: 'off', reason: NO_SPEECH_RECOGNITION };
      if (runner.type === 'upstream') return getServersState(runner.addresses, pools.get(getEngineKey(entry)));
      if (host) return await host.getState(entry.name);
      const onnxState = isOnnx(entry) ? await onnx.getState(entry) : undefined;
      if (onnxState?.state === 'off' && !(await hasLocalWeights(entry)))
        return { ...onnxState, reason: `${onnxState.reason}, then run: parley models pull ${entry.name}` };
      if (onnxState) return onnxState;
      const state = registry.getState(getEngineKey(entry));
      if (state === 'ready') return { state };
      if (state === 'starting') return { state, reason: 'the engine is starting' };
      if (state === 'failing') return { state, reason: 'the engine fails to start; see the log' };
      const id = getWeightsId(entry);
      if (id !== undefined && downloads.has(id)) return { state: 'downloading', reason: 'the weights are downloading' };
      if (!(await hasLocalWeights(entry)))
        return { state: 'missing', reason: `the weights are missing; run: parley models pull ${entry.name}` };
      const program =
        runner.type === 'program'
          ? [runner.program.command].flat()[0]
          : writesText(entry)
            ? deps.preferredProgram
            : undefined;
      return { state: 'on-demand', reason: `loads on the first request${program ? `, in ${program}` : ''}` };
    },
    async close() {
      await Promise.all([registry.close(), servers.close(), onnx.close()]);
    },
  };
}

function createRunningEngine(engine: TextEngine, supervised?: SupervisedProcess<unknown>): RunningEngine {
  return {
    text: engine,
    ...(supervised ? { supervised } : {}),
    get state() {
      return engine.state;
    },
    close: () => engine.close(),
  };
}

/** The host is a process of the same version, so its messages need no validation. */
const parseLlamaUp = (value: unknown): LlamaEndpoint => value as LlamaEndpoint;
const parseProgramUp = (value: unknown): RunningProgram => value as RunningProgram;

const NO_SPEECH_RECOGNITION = 'its engine does not recognize speech';

const isSpeechOnly = ({ interfaces }: ModelEntry): boolean => interfaces.every((each) => each === 'speech');

const writesText = ({ interfaces }: ModelEntry): boolean =>
  !interfaces.every((each) => each === 'embeddings' || each === 'rerank');

/** Summarizes the state of a model's servers, naming each of them unless all are ready. */
function getServersState(addresses: readonly string[], pool: Pool | undefined): ModelState {
  if (!pool) return { state: 'on-demand', reason: `served by ${addresses.map((url) => new URL(url).host).join(', ')}` };
  const members = pool.describe();
  const memberStates = members
    .map(({ address, state }) => (state === 'ready' ? address : `${address} (${state})`))
    .join(', ');
  return pool.state === 'ready' && members.every(({ state }) => state === 'ready')
    ? { state: 'ready' }
    : { state: pool.state, reason: `served by ${memberStates}` };
}
