import { fileURLToPath } from 'node:url';
import { choosePlace } from './run-place.ts';
import type { RunPlace } from './run-place.ts';
import { createSupervisor } from './supervisor.ts';
import type { Supervisor, SupervisorLog, SupervisorTimes } from './supervisor.ts';

/** A process that welcomes calls, and how it is called. */
export interface EngineUp<Model> {
  /** Path of a Unix domain socket, or 127.0.0.1:port. */
  readonly socket: string;
  /** Required on every call when the socket is a loopback TCP address. */
  readonly token?: string;
  readonly model: Model;
}

interface EngineProcess<Model> {
  /** For logs. */
  readonly name: string;
  /** Where the socket lives; created with mode 0700. */
  readonly runFolder: string;
  /** `import.meta.url` beside the child's main file, `process`. */
  readonly besideMain: string;
  /** What the child is told, as JSON. */
  readonly optionsAt: (place: RunPlace, address: Omit<EngineUp<Model>, 'model'>) => object;
  readonly connect: (up: EngineUp<Model>) => { ping(msMax: number): Promise<void>; close(): void };
  /** How long a heartbeat may take. */
  readonly pingMsMax: number;
  readonly times?: Partial<SupervisorTimes> | undefined;
}

/** A program of ours that runs a model, which is started when it is asked for and started again when it ends. */
export async function createEngineProcess<Model>(
  { name, runFolder, besideMain, optionsAt, connect, pingMsMax, times }: EngineProcess<Model>,
  log: SupervisorLog,
): Promise<Supervisor<EngineUp<Model>>> {
  const place = await choosePlace(runFolder);
  const address = { socket: place.socket, ...(place.token === undefined ? {} : { token: place.token }) };
  // The child's main file has the extension of ours: .ts from sources, .js from dist.
  const main = fileURLToPath(new URL(`./process${besideMain.endsWith('.ts') ? '.ts' : '.js'}`, besideMain));
  const options = JSON.stringify(optionsAt(place, address));
  let pings: ReturnType<typeof connect> | undefined;
  const supervisor = createSupervisor<EngineUp<Model>>(
    {
      name,
      launch: () => ({
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', main, options],
        handshake(line) {
          if (!line.startsWith('{"ready"')) return undefined;
          // Our own child wrote it.
          const { model } = JSON.parse(line) as { readonly model: Model };
          return { ...address, model };
        },
      }),
      heartbeat: (up) => (pings ??= connect(up)).ping(pingMsMax),
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
