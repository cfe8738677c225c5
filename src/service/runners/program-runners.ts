import type { ModelEntry, RemoteOptions } from '../../catalogue/model.ts';
import type { EngineLease } from '../../engines/engine-registry.ts';
import { CONTEXT_MEMORY_SHARE } from '../../engines/limits.ts';
import { planContext, type ContextPlan } from '../../engines/plan-context.ts';
import type { SupervisedProcess } from '../../engines/supervisor.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { readModelShape } from '../../weights/read-model-shape.ts';
import {
  createProgramEngine,
  planPreferredServer,
  planProgram,
  type ProgramEngineDeps,
  type ProgramPlan,
} from '../server-engines.ts';
import { getConfiguredTemplate } from '../chat-template-file.ts';
import { formatAdapters } from '../process-options.ts';
import {
  createServerKey,
  getConfiguredContext,
  getRunnerOptions,
  type Runner,
  type RunnerDeps,
  type RunningEngine,
} from './runner.ts';
import { createRunningEngine, createRunningTextEngine, recordModelInfo } from './running-engine.ts';

/** Runs the server program that an entry names. */
export function createProgramRunner(deps: RunnerDeps): Runner {
  const { models, textEngines } = deps;
  const getKey = (entry: ModelEntry): string => createServerKey(entry, deps);

  return {
    parts: ['text', 'embeddings', 'ranking'],
    getKey,
    async lease(entry) {
      const lease = await textEngines.lease(getKey(entry), async () => {
        const runner = getRunnerOptions(entry, 'program');
        const modelFile = runner.weights !== undefined ? await models.locate(entry, runner.weights) : undefined;
        if (modelFile === undefined) await models.checkAdapters(entry);
        const guard = models.createGuard(entry, modelFile);
        const planned = planProgram(entry, runner, modelFile);
        const plan = { ...planned, contextTokens: planned.contextTokens ?? deps.contextTokens };
        if (plan.command !== 'llama-server' || plan.contextTokens !== undefined || modelFile === undefined)
          return await openProgramEngine(entry, plan, getKey(entry), { ...deps, guard });
        // Unlike the other programs, llama-server does not choose a context that fits into the memory.
        const { contextTokens, sequences } = await planServerContext(entry, modelFile, deps);
        const llama = { ...deps.llama, sequences };
        return await openProgramEngine(entry, { ...plan, contextTokens }, getKey(entry), { ...deps, llama, guard });
      });
      return await selectLeasedEntry(lease, entry);
    },
    getState: (entry) => {
      const [program] = [getRunnerOptions(entry, 'program').program.command].flat();
      return models.describe(entry, { engineState: textEngines.getState(getKey(entry)), program });
    },
  };
}

/** Runs local weights in the server program that the operator prefers to the embedded engine. */
export function createPreferredServerRunner(deps: RunnerDeps): Runner {
  const { models, textEngines, preferredProgram: program = '' } = deps;
  const getWeights = (entry: ModelEntry): string => getRunnerOptions(entry, 'weights').weights;
  const getKey = (entry: ModelEntry): string =>
    `preferred ${getWeights(entry)} ${getConfiguredContext(entry, deps) ?? ''} ${getConfiguredTemplate(entry) ?? ''} ${formatAdapters(entry)}`;

  return {
    parts: ['text', 'embeddings', 'ranking'],
    getKey,
    lease: (entry) =>
      textEngines.lease(getKey(entry), async () => {
        const modelFile = await models.locate(entry, getWeights(entry));
        const guard = models.createGuard(entry, modelFile);
        const plan = planPreferredServer(entry, program, modelFile);
        const { contextTokens, sequences } = await planServerContext(entry, modelFile, deps);
        const llama = { ...deps.llama, sequences };
        return await openProgramEngine(entry, { ...plan, contextTokens }, getKey(entry), { ...deps, llama, guard });
      }),
    getState: (entry) => models.describe(entry, { engineState: textEngines.getState(getKey(entry)), program }),
  };
}

/** Chooses the contexts of a server program for local weights: those configured, or what a share of the free memory holds. */
async function planServerContext(entry: ModelEntry, modelFile: string, deps: RunnerDeps): Promise<ContextPlan> {
  const { sequences } = deps.llama;
  const configured = getConfiguredContext(entry, deps);
  const shape = configured === undefined && modelFile !== '' ? await readModelShape(modelFile) : undefined;
  if (!shape) return { contextTokens: configured ?? entry.contextTokens, sequences };
  const freeBytes = process.availableMemory() * CONTEXT_MEMORY_SHARE;
  return await planContext({
    trainedTokens: shape.contextTokens ?? entry.contextTokens,
    sequences,
    isFitting: (plan) => plan.contextTokens * plan.sequences * shape.cacheBytesPerToken <= freeBytes,
  });
}

/** Selects the engine of an entry from a lease on a process that may serve several. */
async function selectLeasedEntry(
  { engine, release }: EngineLease<RunningEngine>,
  entry: ModelEntry,
): Promise<EngineLease<RunningEngine>> {
  try {
    return { engine: engine.selectEntry ? await engine.selectEntry(entry) : engine, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Starts the server program of an entry, here or in the host process, and opens the engine that calls it. */
async function openProgramEngine(
  entry: ModelEntry,
  plan: ProgramPlan,
  key: string,
  deps: RunnerDeps & Pick<ProgramEngineDeps, 'guard'>,
): Promise<RunningEngine> {
  const { host, llama } = deps;
  const open = async (each: ModelEntry, remote: RemoteOptions, openServer: ProgramEngineDeps['openServer']) => {
    const { engine, server } = await createProgramEngine(
      each,
      { ...plan, remote },
      { ...deps, ...llama, onToken: deps.createTokenRecorder(key), ...(openServer && { openServer }) },
    );
    recordModelInfo(each, engine, deps);
    return { running: createRunningTextEngine(engine, server), server };
  };
  const { running, server } = await open(entry, plan.remote, host && (() => host.open(entry.name)));
  if (plan.command !== 'vllm') return running;
  // The same program serves the model and its adapters.
  const opened = new Map([[plan.remote.adapter, Promise.resolve(running)]]);
  const selectEntry = (other: ModelEntry): Promise<RunningEngine> => {
    const { adapter } = getRunnerOptions(other, 'program').remote;
    const { adapter: _, ...remote } = plan.remote;
    let found = opened.get(adapter);
    if (!found) {
      found = open(other, { ...remote, ...omitNullish({ adapter }) }, async () => withoutStop(server)).then(
        (one) => one.running,
      );
      found.catch(() => opened.delete(adapter));
      opened.set(adapter, found);
    }
    return found;
  };
  return createRunningEngine(
    {
      get state() {
        return running.state;
      },
      async close() {
        const engines = await Promise.allSettled(opened.values());
        await Promise.all(engines.map(async (each) => each.status === 'fulfilled' && (await each.value.close())));
      },
    },
    {
      getParts: () => running.getParts(),
      waitUntilReady: (signal) => running.waitUntilReady(signal),
      supervised: server,
      selectEntry,
    },
  );
}

/** Returns the process for an engine whose end must not stop it. */
const withoutStop = <Ready>(server: SupervisedProcess<Ready>): SupervisedProcess<Ready> => ({
  waitUntilReady: (signal) => server.waitUntilReady(signal),
  confirmExit: (ready) => server.confirmExit(ready),
  get state() {
    return server.state;
  },
  stop: async () => undefined,
});
