import type { ModelEntry } from '../../catalogue/model.ts';
import type { RunningProgram } from '../../engines/command/command-server.ts';
import { createProgramEngine, type ProgramPlan } from '../server-engines.ts';
import type { RunnerDeps, RunningEngine } from './runner.ts';
import { createRunningTextEngine, recordModelInfo } from './running-text-engine.ts';

/** Starts the server program of an entry, here or in the host process, and opens the engine that calls it. */
export async function openProgramEngine(
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
    ...(host && { openServer: () => host.open(entry.name, parseProgram) }),
  });
  recordModelInfo(entry, engine, deps);
  return createRunningTextEngine(engine, server);
}

/** The host is a process of the same version, so its messages need no validation. */
const parseProgram = (value: unknown): RunningProgram => value as RunningProgram;
