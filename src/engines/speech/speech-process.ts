import { fileURLToPath } from 'node:url';
import { choosePlace } from '../run-place.ts';
import type { SpeechModel } from '../speech-engine.ts';
import { createSupervisor } from '../supervisor.ts';
import type { Supervisor, SupervisorLog, SupervisorTimes } from '../supervisor.ts';
import type { Loads, ProcessOptions, ProcessUp, Ready, SpeechUp, VectorModel, VectorUp } from './protocol.ts';
import { createSpeechClient } from './speech-client.ts';
import type { SpeechClient } from './speech-client.ts';

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

async function createProcess<Model>(
  { name, runFolder, times, ...options }: OwnOptions & { readonly loads: Loads },
  log: SupervisorLog,
): Promise<Supervisor<ProcessUp<Model>>> {
  const place = await choosePlace(runFolder);
  const address = { socket: place.socket, ...(place.token === undefined ? {} : { token: place.token }) };
  const processOptions: ProcessOptions = { ...options, ...address };
  // The child's main file has the extension of ours: .ts from sources, .js from dist.
  const main = fileURLToPath(new URL(`./process${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
  let pings: SpeechClient | undefined;
  const supervisor = createSupervisor<ProcessUp<Model>>(
    {
      name,
      launch: () => ({
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', main, JSON.stringify(processOptions)],
        handshake(line) {
          if (!line.startsWith('{"ready"')) return undefined;
          const { model } = JSON.parse(line) as Ready<Model>;
          return { ...address, model };
        },
      }),
      heartbeat: (up) => (pings ??= createSpeechClient(up)).ping(PING_MS_MAX),
      onGone() {
        pings?.close();
        pings = undefined;
      },
    },
    log,
    times,
  );
  return {
    ready: (signal) => supervisor.ready(signal),
    gone: (up) => supervisor.gone(up),
    get state() {
      return supervisor.state;
    },
    get pid() {
      return supervisor.pid;
    },
    async stop() {
      await supervisor.stop();
      place.remove();
    },
  };
}
