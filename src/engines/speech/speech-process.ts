import { omitNullish } from '../../lib/omit-nullish.ts';
import { createEngineProcess, type EngineEndpoint } from '../engine-process.ts';
import type { SpeechModel } from '../speech-engine.ts';
import type { SupervisorLog } from '../child-run.ts';
import type { StartGuard } from '../start-guard.ts';
import type { Supervisor, SupervisorTimes } from '../supervisor.ts';
import type {
  ModelFiles,
  OnnxProcessArguments,
  SpeechEndpoint,
  EmbeddingModelInfo,
  EmbeddingEndpoint,
} from './protocol.ts';
import { createSpeechClient } from './speech-client.ts';

interface CommonProcessOptions extends Omit<OnnxProcessArguments, 'socket' | 'token' | 'modelFiles'> {
  /** Name for log lines. */
  readonly name: string;
  /** Folder for the socket; created with mode 0700. */
  readonly runFolder: string;
  readonly times?: Partial<SupervisorTimes>;
  readonly guard?: StartGuard | undefined;
}

export type SpeechProcessOptions = CommonProcessOptions &
  Omit<Extract<ModelFiles, { readonly type: 'speech' }>, 'type'>;
export type EmbeddingProcessOptions = CommonProcessOptions &
  Omit<Extract<ModelFiles, { readonly type: 'embedding' }>, 'type'>;

/** Timeout of a heartbeat, in ms. On a loaded machine, a model run takes seconds and blocks the process meanwhile. */
const PING_MS_MAX = 20_000;

/** Creates a child process for a speech model. It starts on first use, and restarts after it exits. */
export const createSpeechProcess = async (
  { weightsFolder, voiceFile, beamWidth, ...options }: SpeechProcessOptions,
  log: SupervisorLog,
): Promise<Supervisor<SpeechEndpoint>> =>
  await createProcess<SpeechModel>(
    { ...options, modelFiles: { type: 'speech', weightsFolder, beamWidth, ...omitNullish({ voiceFile }) } },
    log,
  );

/** Creates a child process for an embedding model. It starts on first use, and restarts after it exits. */
export const createEmbeddingProcess = async (
  { weightsFolder, ...options }: EmbeddingProcessOptions,
  log: SupervisorLog,
): Promise<Supervisor<EmbeddingEndpoint>> =>
  await createProcess<EmbeddingModelInfo>({ ...options, modelFiles: { type: 'embedding', weightsFolder } }, log);

const createProcess = async <Model>(
  { name, runFolder, times, guard, ...options }: CommonProcessOptions & { readonly modelFiles: ModelFiles },
  log: SupervisorLog,
): Promise<Supervisor<EngineEndpoint<Model>>> =>
  await createEngineProcess<Model>(
    {
      name,
      runFolder,
      times,
      guard,
      siblingModuleUrl: import.meta.url,
      createOptions: (_location, address): OnnxProcessArguments => ({ ...options, ...address }),
      connect: createSpeechClient,
      pingMsMax: PING_MS_MAX,
    },
    log,
  );
