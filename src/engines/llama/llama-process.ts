import { fileURLToPath } from 'node:url';
import { createSupervisor } from '../supervisor.ts';
import type { Supervisor, SupervisorLog, SupervisorTimes } from '../supervisor.ts';
import { createLlamaClient } from './client.ts';
import type { LlamaClient } from './client.ts';
import type { LlamaUp, ProcessOptions, Ready } from './protocol.ts';
import { choosePlace } from '../run-place.ts';

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
export async function createLlamaProcess(
  { name, runFolder, times, ...options }: LlamaProcessOptions,
  log: SupervisorLog,
): Promise<Supervisor<LlamaUp>> {
  const place = await choosePlace(runFolder);
  const address = { socket: place.socket, ...(place.token === undefined ? {} : { token: place.token }) };
  const processOptions: ProcessOptions = { ...options, ...address, stateFolder: place.stateFolder };
  // The child's main file has the extension of ours: .ts from sources, .js from dist.
  const main = fileURLToPath(new URL(`./process${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
  let pings: LlamaClient | undefined;
  const supervisor = createSupervisor<LlamaUp>(
    {
      name,
      launch: () => ({
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', main, JSON.stringify(processOptions)],
        handshake(line) {
          if (!line.startsWith('{"ready"')) return undefined;
          const { model } = JSON.parse(line) as Ready;
          return { ...address, model };
        },
      }),
      heartbeat: (up) => (pings ??= createLlamaClient(up)).ping(PING_MS_MAX),
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
