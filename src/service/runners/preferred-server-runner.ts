import type { ModelEntry } from '../../catalogue/model.ts';
import { planPreferredServer } from '../server-engines.ts';
import { openProgramEngine } from './open-program-engine.ts';
import { getContextTokens, getRunnerOptions, type Runner, type RunnerDeps } from './runner.ts';

/** Runs local weights in the server program that the operator prefers to the embedded engine. */
export function createPreferredServerRunner(deps: RunnerDeps): Runner {
  const { host, models, textEngines, preferredProgram: program = '' } = deps;
  const getWeights = (entry: ModelEntry): string => getRunnerOptions(entry, 'weights').weights;
  const getKey = (entry: ModelEntry): string => `preferred ${getWeights(entry)} ${getContextTokens(entry, deps)}`;

  return {
    parts: ['text', 'embeddings', 'ranking'],
    getKey,
    lease: (entry) =>
      textEngines.lease(getKey(entry), async () => {
        // The host locates the file in its own process.
        const modelFile = host ? '' : await models.locate(entry, getWeights(entry));
        const plan = planPreferredServer(entry, program, modelFile);
        const contextTokens = getContextTokens(entry, deps);
        return await openProgramEngine(entry, { ...plan, contextTokens }, getKey(entry), deps);
      }),
    getState: (entry) => models.describe(entry, { engineState: textEngines.getState(getKey(entry)), program }),
  };
}
