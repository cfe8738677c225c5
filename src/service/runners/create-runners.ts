import type { ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import { createLlamaRunner } from './llama-runner.ts';
import { createOnnxRunner, type OnnxRunnerDeps } from './onnx-runner.ts';
import { createPreferredServerRunner, createProgramRunner } from './program-runners.ts';
import { getRunnerOptions, type Runner } from './runner.ts';
import { createScriptedRunner } from './scripted-runner.ts';
import type { RunnerKind } from './select-runner.ts';
import { createUpstreamRunner, type UpstreamRunnerDeps } from './upstream-runner.ts';

const getReason = (entry: ModelEntry): string => getRunnerOptions(entry, 'none').reason;

/** Refuses entries that are declared without an engine, with the reason that they give. */
const NONE_RUNNER: Runner = {
  parts: [],
  getKey: () => 'none',
  async lease(entry) {
    throw new ServiceError('unsupported', `${entry.name}: ${getReason(entry)}`, { param: 'model' });
  },
  getState: async (entry) => ({ state: 'off', reason: getReason(entry) }),
};

/** Creates the table of everything that can run a model. */
export const createRunners = (deps: OnnxRunnerDeps & UpstreamRunnerDeps): Readonly<Record<RunnerKind, Runner>> => ({
  llama: createLlamaRunner(deps),
  'preferred-server': createPreferredServerRunner(deps),
  program: createProgramRunner(deps),
  upstream: createUpstreamRunner(deps),
  onnx: createOnnxRunner(deps),
  scripted: createScriptedRunner(deps),
  none: NONE_RUNNER,
});
