import type { ModelEntry } from '../../catalogue/model.ts';
import { planProgram } from '../server-engines.ts';
import { openProgramEngine } from './open-program-engine.ts';
import { createServerKey, getRunnerOptions, type Runner, type RunnerDeps } from './runner.ts';

/** Runs the server program that an entry names. */
export function createProgramRunner(deps: RunnerDeps): Runner {
  const { host, models, textEngines } = deps;
  const getKey = (entry: ModelEntry): string => createServerKey(entry, deps);

  return {
    parts: ['text', 'embeddings', 'ranking'],
    getKey,
    lease: (entry) =>
      textEngines.lease(getKey(entry), async () => {
        const runner = getRunnerOptions(entry, 'program');
        const hasFile = runner.weights !== undefined && !host;
        const modelFile = hasFile ? await models.locate(entry, runner.weights) : undefined;
        return await openProgramEngine(entry, planProgram(entry, runner, modelFile), getKey(entry), deps);
      }),
    getState: (entry) => {
      const [program] = [getRunnerOptions(entry, 'program').program.command].flat();
      return models.describe(entry, { engineState: textEngines.getState(getKey(entry)), program });
    },
  };
}
