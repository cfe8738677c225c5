import { createLlamaRunner } from './llama-runner.ts';
import { NONE_RUNNER } from './none-runner.ts';
import { createOnnxRunner, type OnnxRunnerDeps } from './onnx-runner.ts';
import { createPreferredServerRunner } from './preferred-server-runner.ts';
import { createProgramRunner } from './program-runner.ts';
import type { Runner } from './runner.ts';
import { createScriptedRunner } from './scripted-runner.ts';
import type { RunnerKind } from './select-runner.ts';
import { createUpstreamRunner, type UpstreamRunnerDeps } from './upstream-runner.ts';

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
