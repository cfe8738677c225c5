import { createEngineProcess } from '../engine-process.ts';
import type { LoadedModel } from '../engine.ts';
import type { SupervisorLog } from '../child-run.ts';
import type { StartGuard } from '../start-guard.ts';
import type { Supervisor, SupervisorTimes } from '../supervisor.ts';
import { createLlamaClient } from './client.ts';
import type { LlamaEndpoint, LlamaProcessArguments } from './protocol.ts';

export interface LlamaProcessOptions extends Omit<LlamaProcessArguments, 'socket' | 'token' | 'stateFolder'> {
  /** Name for logs and files. */
  readonly name: string;
  /** Folder for the socket and temporary state files; created with mode 0700. */
  readonly runFolder: string;
  readonly times?: Partial<SupervisorTimes>;
  readonly guard?: StartGuard | undefined;
}

/** Time limit of one heartbeat, in ms. Chosen by Parley. */
const PING_MS_MAX = 10_000;

/** Runs a model file in its own engine process: started on first use, and restarted after it ends. */
export const createLlamaProcess = async (
  { name, runFolder, times, guard, ...options }: LlamaProcessOptions,
  log: SupervisorLog,
): Promise<Supervisor<LlamaEndpoint>> =>
  await createEngineProcess<LoadedModel>(
    {
      name,
      modelFile: options.modelFile,
      runFolder,
      times,
      guard,
      siblingModuleUrl: import.meta.url,
      createOptions: ({ stateFolder }, address): LlamaProcessArguments => ({ ...options, ...address, stateFolder }),
      connect: createLlamaClient,
      pingMsMax: PING_MS_MAX,
    },
    log,
  );
