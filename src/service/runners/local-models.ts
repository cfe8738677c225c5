import {
  createDamagedWeightsError,
  createMalformedFileError,
  createMissingWeightsError,
  createUnfitAdapterError,
} from '../model-errors.ts';
import { getWeightsId, type Catalogue, type ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { ManagedEngine } from '../../engines/engine-registry.ts';
import type { ReportProgress } from '../../weights/progress-meter.ts';
import type { StartGuard } from '../../engines/start-guard.ts';
import type { WeightsStatus } from '../../weights/weights-status.ts';
import type { WeightsStore } from '../../weights/weights-store.ts';
import { createFindAdapterProblem, type FindAdapterProblem } from '../find-adapter-problem.ts';
import { createFindFileProblem, type FindFileProblem } from '../find-file-problem.ts';
import type { EngineHost, ModelState } from '../engine-host.ts';
import type { WeightsMonitor } from '../weights-monitor.ts';

/** Retry-After for requests to a model whose weights are downloading or missing, in seconds. */
const DOWNLOAD_RETRY_SECONDS = 30;

export interface LocalModelsDeps {
  readonly catalogue: Pick<Catalogue, 'weights'>;
  readonly weights: Pick<WeightsStore, 'inspect' | 'pull'>;
  /** Absent: weights are not checked after their first use. */
  readonly monitor?: WeightsMonitor;
  readonly findFileProblem?: FindFileProblem;
  readonly findAdapterProblem?: FindAdapterProblem;
  /** Present in a worker process: the host knows the states. */
  readonly host?: EngineHost;
}

/** Facts about the engine of an entry besides its weights. */
export interface LocalEngineInfo {
  /** State of the open engine; undefined when it is not open. */
  readonly engineState: ManagedEngine['state'] | undefined;
  /** Path of the program that will run the model. */
  readonly program?: string | undefined;
  /** Returns why the engine cannot be opened, whether or not its weights are here. */
  readonly findObstacle?: () => Promise<string | undefined>;
}

/** The weights on this machine, and the states of the models that run on it. */
export interface LocalModels {
  /**
   * Returns the path of the weights.
   * @throws ServiceError `overloaded` when they are missing, damaged or malformed, or an adapter of the entry does not fit
   *   them.
   */
  locate(entry: ModelEntry, weightsId: string): Promise<string>;
  /** Creates the guard of a process that loads the weights of the entry from the path. */
  createGuard(entry: ModelEntry, path: string | undefined): StartGuard | undefined;
  /** Checks the adapters of an entry without local weights. @throws ServiceError `overloaded` when one cannot be used. */
  checkAdapters(entry: ModelEntry): Promise<void>;
  /** Downloads the weights of the entry if it has some and they are missing. */
  pull(entry: ModelEntry, options: { signal: AbortSignal; onProgress?: ReportProgress }): Promise<void>;
  describe(entry: ModelEntry, info: LocalEngineInfo): Promise<ModelState>;
}

export function createLocalModels({
  catalogue,
  weights,
  monitor,
  host,
  findFileProblem = createFindFileProblem(),
  findAdapterProblem = createFindAdapterProblem(),
}: LocalModelsDeps): LocalModels {
  const downloads = new Set<string>();
  const checkAdapters = async (entry: ModelEntry, modelFile?: string): Promise<void> => {
    const problem = await findAdapterProblem(entry, modelFile);
    if (problem !== undefined) throw createUnfitAdapterError(problem);
  };
  const inspect = (id: string): Promise<WeightsStatus> => weights.inspect(catalogue.weights(id));
  /** Says why the weights of an entry cannot be used, with the command that repairs them. */
  const describeRefusal = async (entry: ModelEntry): Promise<ModelState | undefined> => {
    const id = getWeightsId(entry);
    const status = id === undefined ? undefined : await inspect(id);
    if (status?.state !== 'refused' || downloads.has(id ?? '')) return undefined;
    const reason = `the weights ${status.path} are damaged: ${status.problem}; run: ${pullCommand(entry)}`;
    return { state: 'failing', reason };
  };
  const addWarning = (entry: ModelEntry, state: ModelState): ModelState => {
    const warning = monitor?.getWarning(getWeightsId(entry) ?? '');
    return warning === undefined ? state : { ...state, warning };
  };

  return {
    async locate(entry, id) {
      const status = await inspect(id);
      if (status.state !== 'present') {
        const details = { retryAfterSeconds: DOWNLOAD_RETRY_SECONDS };
        if (downloads.has(id))
          throw new ServiceError('overloaded', `The weights of ${entry.name} are still downloading.`, details);
        throw status.state === 'refused'
          ? createDamagedWeightsError(entry.name, status)
          : createMissingWeightsError(entry.name, details);
      }
      const { path } = status;
      const problem = await findFileProblem(entry, path);
      if (problem !== undefined) throw createMalformedFileError(path, problem);
      await checkAdapters(entry, path);
      return path;
    },
    createGuard(entry, path) {
      const id = getWeightsId(entry);
      if (!monitor || id === undefined || path === undefined) return undefined;
      return monitor.createGuard(catalogue.weights(id), { model: entry.name, path });
    },
    checkAdapters: (entry) => checkAdapters(entry),
    async pull(entry, { signal, onProgress }) {
      const id = getWeightsId(entry);
      if (id === undefined || (await inspect(id)).state === 'present') return;
      downloads.add(id);
      try {
        await weights.pull(catalogue.weights(id), { signal, ...(onProgress ? { onProgress } : {}) });
      } finally {
        downloads.delete(id);
      }
    },
    async describe(entry, { engineState, program, findObstacle }) {
      if (host) return await host.getState(entry.name);
      if (engineState === 'ready') return addWarning(entry, ENGINE_STATES.ready);
      const refusal = await describeRefusal(entry);
      if (refusal) return refusal;
      if (engineState) return addWarning(entry, ENGINE_STATES[engineState]);
      const id = getWeightsId(entry);
      const status = id === undefined ? undefined : await inspect(id);
      const path = status?.state === 'present' ? status.path : undefined;
      const isMissing = id !== undefined && path === undefined;
      const obstacle = await findObstacle?.();
      if (obstacle !== undefined)
        return { state: 'off', reason: isMissing ? `${obstacle}, then run: ${pullCommand(entry)}` : obstacle };
      if (id !== undefined && downloads.has(id)) return { state: 'downloading', reason: 'the weights are downloading' };
      if (isMissing) return { state: 'missing', reason: `the weights are missing; run: ${pullCommand(entry)}` };
      const problem = path === undefined ? undefined : await findFileProblem(entry, path);
      if (problem !== undefined) return { state: 'failing', reason: `the model file ${path} is malformed: ${problem}` };
      const adapterProblem = await findAdapterProblem(entry, path);
      if (adapterProblem !== undefined) return { state: 'failing', reason: adapterProblem };
      return addWarning(entry, {
        state: 'on-demand',
        reason: `loads on the first request${program ? `, in ${program}` : ''}`,
      });
    },
  };
}

const pullCommand = ({ name }: ModelEntry): string => `parley models pull ${name}`;

const ENGINE_STATES: Readonly<Record<ManagedEngine['state'], ModelState>> = {
  ready: { state: 'ready' },
  starting: { state: 'starting', reason: 'the engine is starting' },
  failing: { state: 'failing', reason: 'the engine fails to start; see the log' },
};
