import { createEngineProcess } from '../engine-process.ts';
import type { LoadedModel } from '../engine.ts';
import type { Supervisor, SupervisorLog, SupervisorTimes } from '../supervisor.ts';
import { createLlamaClient } from './client.ts';
import type { LlamaUp, ProcessOptions } from './protocol.ts';

export interface LlamaProcessOptions extends Omit<ProcessOptions, 'socket' | 'token' | 'stateFolder'> {
  /** For logs and file names. */
  readonly name: string;
  /** Where the socket and passing state files live; created with mode 0700. */
  readonly runFolder: string;
  readonly times?: Partial<SupervisorTimes>;
}

/** How long a heartbeat may take, in ms. Ours. */
const PING_MS_MAX = 10_000;

/** A model file in an engine process of its own, which is started when it is asked for and started again when it ends. */
export const createLlamaProcess = async (
  { name, runFolder, times, ...options }: LlamaProcessOptions,
  log: SupervisorLog,
): Promise<Supervisor<LlamaUp>> =>
  await createEngineProcess<LoadedModel>(
    {
      name,
      runFolder,
      times,
      besideMain: import.meta.url,
      optionsAt: ({ stateFolder }, address): ProcessOptions => ({ ...options, ...address, stateFolder }),
      connect: createLlamaClient,
      pingMsMax: PING_MS_MAX,
    },
    log,
  );
