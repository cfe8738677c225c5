import { createEngineProcess } from '../engine-process.ts';
import type { EngineUp } from '../engine-process.ts';
import type { SpeechModel } from '../speech-engine.ts';
import type { Supervisor, SupervisorLog, SupervisorTimes } from '../supervisor.ts';
import type { Loads, ProcessOptions, SpeechUp, VectorModel, VectorUp } from './protocol.ts';
import { createSpeechClient } from './speech-client.ts';

interface OwnOptions extends Omit<ProcessOptions, 'socket' | 'token' | 'loads'> {
  /** For logs. */
  readonly name: string;
  /** Where the socket lives; created with mode 0700. */
  readonly runFolder: string;
  readonly times?: Partial<SupervisorTimes>;
}

export type SpeechProcessOptions = OwnOptions & Omit<Extract<Loads, { readonly type: 'speech' }>, 'type'>;
export type VectorProcessOptions = OwnOptions & Omit<Extract<Loads, { readonly type: 'vectors' }>, 'type'>;

/** How long a heartbeat may take, in ms. Ours: one run of a graph takes seconds on a loaded machine, and answers nobody meanwhile. */
const PING_MS_MAX = 20_000;

/** A model that hears speech, in a process of its own, which is started when it is asked for and again when it ends. */
export const createSpeechProcess = async (
  { weightsFolder, voiceFile, ...options }: SpeechProcessOptions,
  log: SupervisorLog,
): Promise<Supervisor<SpeechUp>> =>
  await createProcess<SpeechModel>(
    { ...options, loads: { type: 'speech', weightsFolder, ...(voiceFile === undefined ? {} : { voiceFile }) } },
    log,
  );

/** A model that makes vectors, in the same kind of process. */
export const createVectorProcess = async (
  { weightsFolder, ...options }: VectorProcessOptions,
  log: SupervisorLog,
): Promise<Supervisor<VectorUp>> =>
  await createProcess<VectorModel>({ ...options, loads: { type: 'vectors', weightsFolder } }, log);

const createProcess = async <Model>(
  { name, runFolder, times, ...options }: OwnOptions & { readonly loads: Loads },
  log: SupervisorLog,
): Promise<Supervisor<EngineUp<Model>>> =>
  await createEngineProcess<Model>(
    {
      name,
      runFolder,
      times,
      besideMain: import.meta.url,
      optionsAt: (_place, address): ProcessOptions => ({ ...options, ...address }),
      connect: createSpeechClient,
      pingMsMax: PING_MS_MAX,
    },
    log,
  );
