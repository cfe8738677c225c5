import { fileURLToPath } from 'node:url';
import { createRunLocation, type RunLocation } from './run-location.ts';
import type { SupervisorLog } from './child-run.ts';
import type { StartGuard } from './start-guard.ts';
import { createSupervisor, type Supervisor, type SupervisorTimes } from './supervisor.ts';

/** Address and model of an engine process that accepts requests. */
export interface EngineEndpoint<Model> {
  /** Path of a Unix domain socket, or 127.0.0.1:port. */
  readonly socket: string;
  /** Required on every call when the socket is a loopback TCP address. */
  readonly token?: string;
  readonly model: Model;
}

interface EngineProcessOptions<Model> {
  /** Name for log lines. */
  readonly name: string;
  /** Path of the file that each start loads. */
  readonly modelFile?: string;
  readonly guard?: StartGuard | undefined;
  /** Folder for the socket; created with mode 0700. */
  readonly runFolder: string;
  /** `import.meta.url` of a module in the same folder as the child's main file, `process`. */
  readonly siblingModuleUrl: string;
  /** Creates the options of the child, which receives them as a JSON argument. */
  readonly createOptions: (location: RunLocation, address: Omit<EngineEndpoint<Model>, 'model'>) => object;
  readonly connect: (endpoint: EngineEndpoint<Model>) => { ping(msMax: number): Promise<void>; close(): void };
  /** Time limit of one heartbeat, in ms. */
  readonly pingMsMax: number;
  readonly times?: Partial<SupervisorTimes> | undefined;
}

/** Runs a model in a child process of Parley: started on first use, and restarted after it ends. */
export async function createEngineProcess<Model>(
  {
    name,
    modelFile,
    guard,
    runFolder,
    siblingModuleUrl,
    createOptions,
    connect,
    pingMsMax,
    times,
  }: EngineProcessOptions<Model>,
  log: SupervisorLog,
): Promise<Supervisor<EngineEndpoint<Model>>> {
  const location = await createRunLocation(runFolder);
  const address = { socket: location.socket, ...(location.token === undefined ? {} : { token: location.token }) };
  // The child's main file has the same extension as this module: .ts in the sources, .js in dist.
  const main = fileURLToPath(new URL(`./process${siblingModuleUrl.endsWith('.ts') ? '.ts' : '.js'}`, siblingModuleUrl));
  const options = JSON.stringify(createOptions(location, address));
  let heartbeatClient: ReturnType<typeof connect> | undefined;
  return createSupervisor<EngineEndpoint<Model>>(
    {
      name,
      modelFile,
      guard,
      launch: () => ({
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', main, options],
        handshake(line) {
          if (!line.startsWith('{"ready"')) return undefined;
          // The line comes from Parley's own child process, so it is not validated.
          const { model } = JSON.parse(line) as { readonly model: Model };
          return { ...address, model };
        },
      }),
      hasBeats: true,
      heartbeat: (up) => (heartbeatClient ??= connect(up)).ping(pingMsMax),
      onGone() {
        heartbeatClient?.close();
        heartbeatClient = undefined;
      },
      onStopped: location.remove,
    },
    log,
    times,
  );
}
