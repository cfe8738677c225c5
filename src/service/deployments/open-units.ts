import {
  createDamagedWeightsError,
  createMalformedFileError,
  createMissingWeightsError,
  createUnfitAdapterError,
} from '../model-errors.ts';
import type { Catalogue, ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { LlamaProcessOptions } from '../../engines/llama/llama-process.ts';
import type { StartGuard } from '../../engines/start-guard.ts';
import type { Clock } from '../../lib/clock.ts';
import type { WeightsStore } from '../../weights/weights-store.ts';
import { createFindAdapterProblem } from '../find-adapter-problem.ts';
import { createFindFileProblem } from '../find-file-problem.ts';
import type { WeightsMonitor } from '../weights-monitor.ts';
import { createProgramEngine, planProgram, planPreferredServer, type ProgramPlan } from '../server-engines.ts';
import { canRunInServer } from '../runners/select-runner.ts';
import { openEmbeddedUnits } from './embedded-units.ts';
import { DEPLOYMENT_CONTEXT_TOKENS_MIN } from './limits.ts';
import type { MemoryBudget } from './memory-budget.ts';
import type { OpenUnits, UnitsRequest } from './deployment-units.ts';
import { createOpenProgramUnits } from './program-units.ts';
import { openScriptedUnits } from './scripted-units.ts';
import { openUpstreamUnits } from './upstream-units.ts';

export interface OpenUnitsDeps {
  readonly kind: 'llama' | 'scripted';
  readonly llama: Omit<LlamaProcessOptions, 'name' | 'modelFile' | 'contextTokens'>;
  /** Path of the server program that runs local weights; undefined: the embedded engine runs them. */
  readonly preferredProgram: string | undefined;
  readonly catalogue: Pick<Catalogue, 'weights'>;
  readonly weights: Pick<WeightsStore, 'inspect'>;
  readonly monitor?: WeightsMonitor;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly memory: MemoryBudget;
  readonly log: Log;
  readonly clock: Clock;
}

/** Creates the function that opens the units of a deployment with the engine that its catalogue entry names. */
export function createOpenUnits(deps: OpenUnitsDeps): OpenUnits {
  const { catalogue, weights } = deps;
  const openProgramUnits = createOpenProgramUnits();
  const findFileProblem = createFindFileProblem();
  const findAdapterProblem = createFindAdapterProblem();

  const locateWeightsFile = async (entry: ModelEntry, id: string): Promise<string> => {
    const status = await weights.inspect(catalogue.weights(id));
    if (status.state === 'missing') throw createMissingWeightsError(entry.name);
    if (status.state === 'refused') throw createDamagedWeightsError(entry.name, status);
    const problem = await findFileProblem(entry, status.path);
    if (problem === undefined) return status.path;
    throw createMalformedFileError(status.path, problem);
  };

  const createGuard = ({ name, runner }: ModelEntry, path: string | undefined): StartGuard | undefined =>
    path === undefined || !('weights' in runner) || runner.weights === undefined
      ? undefined
      : deps.monitor?.createGuard(catalogue.weights(runner.weights), { model: name, path });

  const openPrograms = (request: UnitsRequest, plan: ProgramPlan, guard: StartGuard | undefined, signal: AbortSignal) =>
    openProgramUnits(
      request,
      {
        ...deps,
        plan,
        async create(name) {
          const programDeps = { ...deps, ...deps.llama, guard, onToken: () => undefined };
          return await createProgramEngine({ ...request.entry, name }, plan, programDeps);
        },
      },
      signal,
    );

  return async (request, signal) => {
    const { entry } = request;
    const { runner, contextTokens } = entry;
    if (runner.type === 'upstream') {
      const { workspaceShare } = deps.llama;
      return await openUpstreamUnits(request, runner, { ...deps, workspaceShare }, signal);
    }
    if (runner.type === 'none') throw new ServiceError('unsupported', `${entry.name}: ${runner.reason}`);
    if (deps.kind === 'scripted') return openScriptedUnits(request);
    const file = runner.weights === undefined ? undefined : await locateWeightsFile(entry, runner.weights);
    const adapterProblem = await findAdapterProblem(entry, file);
    if (adapterProblem !== undefined) throw createUnfitAdapterError(adapterProblem);
    const guard = createGuard(entry, file);
    if (runner.type === 'program')
      return await openPrograms(request, { ...planProgram(entry, runner, file), contextTokens }, guard, signal);
    if (deps.preferredProgram !== undefined && canRunInServer(entry))
      return await openPrograms(
        request,
        {
          ...planPreferredServer(entry, deps.preferredProgram, file ?? ''),
          // Each unit is a process with contexts of its own.
          contextTokens: entry.isContextGuessed
            ? Math.min(contextTokens, DEPLOYMENT_CONTEXT_TOKENS_MIN)
            : contextTokens,
        },
        guard,
        signal,
      );
    return await openEmbeddedUnits(request, file ?? '', { ...deps, llama: { ...deps.llama, guard } });
  };
}
