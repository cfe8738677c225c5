import type { ModelEntry } from '../../catalogue/model.ts';
import { createProgramEngine, planPreferredServer, planProgram, type ProgramPlan } from '../server-engines.ts';
import { getConfiguredTemplate } from '../chat-template-file.ts';
import {
  createServerKey,
  getContextTokens,
  getRunnerOptions,
  type Runner,
  type RunnerDeps,
  type RunningEngine,
} from './runner.ts';
import { createRunningTextEngine, recordModelInfo } from './running-engine.ts';

/** Runs the server program that an entry names. */
export function createProgramRunner(deps: RunnerDeps): Runner {
  const { models, textEngines } = deps;
  const getKey = (entry: ModelEntry): string => createServerKey(entry, deps);

  return {
    parts: ['text', 'embeddings', 'ranking'],
    getKey,
    lease: (entry) =>
      textEngines.lease(getKey(entry), async () => {
        const runner = getRunnerOptions(entry, 'program');
        const modelFile = runner.weights !== undefined ? await models.locate(entry, runner.weights) : undefined;
        return await openProgramEngine(entry, planProgram(entry, runner, modelFile), getKey(entry), deps);
      }),
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
    `preferred ${getWeights(entry)} ${getContextTokens(entry, deps)} ${getConfiguredTemplate(entry) ?? ''}`;

  return {
    parts: ['text', 'embeddings', 'ranking'],
    getKey,
    lease: (entry) =>
      textEngines.lease(getKey(entry), async () => {
        const modelFile = await models.locate(entry, getWeights(entry));
        const plan = planPreferredServer(entry, program, modelFile);
        const contextTokens = getContextTokens(entry, deps);
        return await openProgramEngine(entry, { ...plan, contextTokens }, getKey(entry), deps);
      }),
    getState: (entry) => models.describe(entry, { engineState: textEngines.getState(getKey(entry)), program }),
  };
}

/** Starts the server program of an entry, here or in the host process, and opens the engine that calls it. */
async function openProgramEngine(
  entry: ModelEntry,
  plan: ProgramPlan,
  key: string,
  deps: RunnerDeps,
): Promise<RunningEngine> {
  const { host, llama } = deps;
  const { engine, server } = await createProgramEngine(entry, plan, {
    ...deps,
    ...llama,
    onToken: deps.createTokenRecorder(key),
    ...(host && { openServer: () => host.open(entry.name) }),
  });
  recordModelInfo(entry, engine, deps);
  return createRunningTextEngine(engine, server);
}
