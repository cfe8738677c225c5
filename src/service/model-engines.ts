import { createModelGoneError } from './model-errors.ts';
import type { ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import { INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';
import { REQUESTED_MODEL_CHARS_MAX } from '../core/limits.ts';
import { createEngineRegistry, type EngineLease } from '../engines/engine-registry.ts';
import type { SupervisedLease } from '../engines/sharing/lease-table.ts';
import type { EngineLoad } from '../telemetry/process-metrics.ts';
import type { ReportProgress } from '../weights/progress-meter.ts';
import type { ModelState } from './engine-host.ts';
import type { EngineDeps, EngineSettings } from './engine-settings.ts';
import { createRunners } from './runners/create-runners.ts';
import { createLocalModels } from './runners/local-models.ts';
import type { EnginePart, EngineParts, Runner, RunnerDeps, RunningEngine } from './runners/runner.ts';
import { selectRunner } from './runners/select-runner.ts';
import type { RunningPool } from './runners/upstream-runner.ts';

/** Maximum number of text engines loaded at once. The default weights and one more model fit into a machine with 8 GB. */
const TEXT_ENGINES_MAX = 2;

/** Maximum number of onnx processes: one for speech and one for embeddings. Together they take 0.9 GB. */
const ONNX_ENGINES_MAX = 2;

/** Finds or starts the engine that runs a catalogue entry. Engines stay open until their leases are released. */
export interface ModelEngines {
  /**
   * Leases the engine of the model.
   * @throws ServiceError `overloaded` while weights are downloading or missing; `unsupported` for an entry without an engine.
   */
  engineFor(model: ResolvedModel): Promise<EngineLease>;
  /** Leases the engine for embeddings. @throws ServiceError as `engineFor`; `unsupported` also when it has no embeddings. */
  embeddingsFor(model: ResolvedModel): Promise<EngineLease<EngineParts['embeddings']>>;
  /** Leases the engine for speech recognition. @throws ServiceError as `engineFor`. */
  speechFor(model: ResolvedModel): Promise<EngineLease<EngineParts['speech']>>;
  /** Leases the engine for ranking. @throws ServiceError as `engineFor`; `unsupported` also when it cannot rank. */
  rankingFor(model: ResolvedModel): Promise<EngineLease<EngineParts['ranking']>>;
  /** Downloads missing weights and starts the engine. @throws ServiceError with the reason. */
  prepare(entry: ModelEntry, options: { signal: AbortSignal; onProgress?: ReportProgress }): Promise<void>;
  getState(entry: ModelEntry): Promise<ModelState>;
  /** Closes the connections to servers that none of the entries names. */
  closeUnusedServers(entries: readonly ModelEntry[]): Promise<void>;
  /** Returns when the engine of the entry last produced a token, in ms of the monotonic clock. */
  getLastTokenAt(entry: ModelEntry): number | undefined;
  /** Returns the loads of the engine processes that this process hosts. */
  readLoads(): Promise<readonly EngineLoad[]>;
  close(): Promise<void>;
}

/** Access to the engines of this process for other processes of the same service. */
export interface EngineSharing {
  /** Leases the process that runs the model, for use by another process. @throws ServiceError as `engineFor`. */
  share(model: string): Promise<SupervisedLease>;
  /** Releases idle leases on engines that another process hosts. */
  releaseIdle(): Promise<void>;
}

export interface ModelEnginesDeps extends EngineDeps, EngineSettings, Pick<RunnerDeps, 'runtimes'> {}

export function createModelEngines(deps: ModelEnginesDeps): ModelEngines & EngineSharing {
  const { catalogue, clock, host, reclaimUnused } = deps;
  const lastTokenAtByKey = new Map<string, number>();
  const models = createLocalModels(deps);
  const createLocalRegistry = (enginesMax: number) =>
    createEngineRegistry<RunningEngine>({
      // The host enforces the limit for all processes.
      enginesMax: host ? Infinity : enginesMax,
      clock,
      ...(reclaimUnused ? { recallLeases: reclaimUnused } : {}),
    });
  const textEngines = createLocalRegistry(TEXT_ENGINES_MAX);
  const onnxEngines = createLocalRegistry(ONNX_ENGINES_MAX);
  const pools = createEngineRegistry<RunningPool>({ enginesMax: Infinity, clock });
  const runners = createRunners({
    ...deps,
    models,
    textEngines,
    onnxEngines,
    pools,
    createTokenRecorder: (key) => () => void lastTokenAtByKey.set(key, clock.monotonic()),
  });
  const getRunner = (entry: ModelEntry): Runner => runners[selectRunner(entry, deps)];
  const getKey = (entry: ModelEntry): string => getRunner(entry).getKey(entry);
  const leaseEngine = (entry: ModelEntry) => getRunner(entry).lease(entry);

  const leasePart = async <Part extends EnginePart>(
    model: ResolvedModel,
    part: Part,
  ): Promise<EngineLease<EngineParts[Part]>> => {
    const runner = getRunner(model.entry);
    if (!runner.parts.includes(part)) throw createRefusal(model, part);
    const { engine, release } = await runner.lease(model.entry);
    const found = engine.getParts()[part];
    if (found !== undefined) return { engine: found, release };
    release();
    throw createMissingPartError(`The engine of model ${shortenName(model)} ${LIMITATIONS[part]}.`);
  };

  return {
    engineFor: (model) => leasePart(model, 'text'),
    embeddingsFor: (model) => leasePart(model, 'embeddings'),
    speechFor: (model) => leasePart(model, 'speech'),
    rankingFor: (model) => leasePart(model, 'ranking'),
    getLastTokenAt: (entry) => lastTokenAtByKey.get(getKey(entry)),
    async closeUnusedServers(entries) {
      const usedKeys = new Set(entries.map(getKey));
      await pools.retire((key) => usedKeys.has(key));
    },
    async prepare(entry, options) {
      if (selectRunner(entry, deps) !== 'scripted') await models.pull(entry, options);
      const { engine, release } = await leaseEngine(entry);
      await engine.waitUntilReady(options.signal).finally(release);
    },
    async share(model) {
      const entry = catalogue.find(model);
      if (!entry) throw createModelGoneError('model-not-found', model, { param: 'model' });
      const { engine, release } = await leaseEngine(entry);
      if (engine.supervised) return { supervised: engine.supervised, release };
      release();
      throw new ServiceError('internal', INTERNAL_MESSAGE, {
        cause: `the engine of ${model} cannot be shared between processes`,
      });
    },
    async releaseIdle() {
      const isShared = ({ supervised }: RunningEngine): boolean => supervised !== undefined;
      await Promise.all([textEngines.closeIdle(isShared), onnxEngines.closeIdle(isShared)]);
    },
    async getState(entry) {
      const runner = getRunner(entry);
      const isSpeechOnly = entry.interfaces.every((each) => each === 'speech');
      if (entry.runner.type !== 'none' && isSpeechOnly && !runner.parts.includes('speech'))
        return { state: 'off', reason: `its engine ${LIMITATIONS.speech}` };
      return await runner.getState(entry);
    },
    async readLoads() {
      const loads = await Promise.all(textEngines.list().map(async (engine) => await engine.readLoad?.()));
      return loads.filter((load) => load !== undefined);
    },
    async close() {
      await Promise.all([textEngines.close(), pools.close(), onnxEngines.close()]);
    },
  };
}

/** Clauses for errors about an engine without the part. */
const LIMITATIONS: Readonly<Record<EnginePart, string>> = {
  text: 'does not generate text',
  embeddings: 'does not produce embeddings',
  ranking: 'does not rank documents',
  speech: 'does not recognize speech',
};

const shortenName = ({ requestedName }: ResolvedModel): string => requestedName.slice(0, REQUESTED_MODEL_CHARS_MAX);

const createMissingPartError = (message: string): ServiceError =>
  new ServiceError('unsupported', message, { param: 'model' });

/** Creates the error for a part that no engine of the model's runner has. */
function createRefusal(model: ResolvedModel, part: EnginePart): ServiceError {
  const { name, runner } = model.entry;
  const modelName = part === 'speech' ? shortenName(model) : name;
  if (runner.type === 'none') return createMissingPartError(`${modelName}: ${runner.reason}`);
  if (part === 'speech') return createMissingPartError(`${modelName}: its engine ${LIMITATIONS.speech}.`);
  return createMissingPartError(`The engine of model ${modelName} ${LIMITATIONS.text}.`);
}
