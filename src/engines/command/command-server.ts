import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../find-free-port.ts';
import type { StartGuard } from '../start-guard.ts';
import { createSupervisor, type Supervisor, type SupervisorTimes } from '../supervisor.ts';
import type { ProcessLaunch, SupervisorLog } from '../child-run.ts';
import { createProgramEnvironment, getSecretValues } from './program-environment.ts';
import type { GuardRequest, GuardReport } from './guard.ts';
import { checkHealth, waitUntilHealthy } from './check-health.ts';
import type { CommandLine, LaunchParameters } from './command-line.ts';
import { signalProcessGroup } from './process-group.ts';

export interface CommandServerOptions {
  /** Name for logs. */
  readonly name: string;
  /** Builds the command line; called before each start. */
  readonly createLine: (launchParameters: LaunchParameters) => CommandLine;
  /** Parley's environment; the program inherits only a small part of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Parent of the private folders of the starts; created with mode 0700. */
  readonly runFolder: string;
  readonly times?: Partial<CommandTimings>;
  readonly guard?: StartGuard | undefined;
}

export interface CommandTimings extends SupervisorTimes {
  /** Limit of one heartbeat, in milliseconds. */
  readonly heartbeatMsMax: number;
  /** Milliseconds from the program's SIGTERM to its SIGKILL. */
  readonly graceMs: number;
}

/** A program that accepts calls. */
export interface RunningProgram {
  /** Without a trailing slash. */
  readonly url: string;
  /** Key of this start only. */
  readonly apiKey: string;
}

/**
 * Parley's defaults. Large models take many minutes to load, or to be downloaded and compiled. SGLang's health check waits
 * up to 20 s for a generated token, so the heartbeat is slower than for the embedded engine; a hung program is noticed
 * within two minutes.
 */
const DEFAULT_TIMINGS = {
  startMsMax: 1_800_000,
  heartbeatMs: 10_000,
  heartbeatsLostMax: 3,
  heartbeatMsMax: 25_000,
  graceMs: 5_000,
} as const satisfies Partial<CommandTimings>;

/** Parley's choice: milliseconds that the guard may take to exit after it sent SIGKILL to the program. */
const GUARD_EXIT_MS_MAX = 3_000;

/** Parley's choice: milliseconds that a program that may be dead has to respond. */
const ALIVE_CHECK_MS_MAX = 1_000;

/**
 * Parley's choice: milliseconds that a start waits for the remaining processes of the start before, which may hold memory of
 * an accelerator.
 */
const GROUP_EXIT_WAIT_MS_MAX = 3_000;

const HOST = '127.0.0.1';

/** Path that returns 200 when the program accepts calls: llama-server, vLLM and SGLang have it. */
const HEALTH_PATH = '/health';

const isHealthy = ({ url, apiKey }: RunningProgram, msMax: number): Promise<boolean> =>
  checkHealth(`${url}${HEALTH_PATH}`, apiKey, msMax);

/**
 * Creates a server program that Parley starts, monitors and restarts. When Parley ends, in whatever way, the program ends
 * too, with all processes of its process group. Needs process groups, which Windows does not have.
 */
export function createCommandServer(
  options: CommandServerOptions,
  { log }: { log: SupervisorLog },
): Supervisor<RunningProgram> {
  const timings = { ...DEFAULT_TIMINGS, ...options.times };
  const allTimings = { stopMsMax: timings.graceMs + GUARD_EXIT_MS_MAX, ...timings };
  /** Process group of the running program, or of the last one. */
  let group: number | undefined;
  let isRunning = false;

  const launch = async (): Promise<ProcessLaunch<RunningProgram>> => {
    if (group !== undefined) await waitForGroupExit(group);
    const parameters = await createLaunchParameters(options.runFolder);
    const removeFolder = (): void => rmSync(parameters.folder, { recursive: true, force: true });
    try {
      const commandLine = options.createLine(parameters);
      const environment = createProgramEnvironment(options.environment, commandLine.environment);
      for (const [name, text] of Object.entries(commandLine.files ?? {}))
        await writeFile(join(parameters.folder, name), text, { mode: 0o600 });
      const guardRequest: GuardRequest = {
        command: commandLine.command,
        args: commandLine.args,
        environment,
        folder: parameters.folder,
        graceMs: allTimings.graceMs,
      };
      return {
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', GUARD_PATH],
        input: `${JSON.stringify(guardRequest)}\n`,
        isDetached: true,
        handshake(report) {
          group = (JSON.parse(report) as GuardReport).pid;
          isRunning = true;
          return { url: `http://${parameters.host}:${parameters.port}`, apiKey: parameters.apiKey };
        },
        waitUntilServing: (up, signal) => waitUntilHealthy(`${up.url}${HEALTH_PATH}`, up.apiKey, signal),
        onExit({ signal }) {
          // A guard that was killed could not stop its program.
          if (isRunning && group !== undefined && signal !== null) signalProcessGroup(group, 'SIGKILL');
          isRunning = false;
          removeFolder();
        },
        secrets: [parameters.apiKey, ...getSecretValues(commandLine.environment)],
      };
    } catch (error) {
      removeFolder();
      throw error;
    }
  };

  return createSupervisor<RunningProgram>(
    {
      name: options.name,
      guard: options.guard,
      launch,
      heartbeat: async (up) => {
        if (!(await isHealthy(up, allTimings.heartbeatMsMax))) throw new Error('not healthy');
      },
      isAlive: (up) => isHealthy(up, ALIVE_CHECK_MS_MAX),
      getPid: () => (isRunning ? group : undefined),
      getLogFields: ({ url }) => ({ program: group, url }),
    },
    log,
    allTimings,
  );
}

/** Main file of the guard: .ts from sources, .js from dist. */
const GUARD_PATH = fileURLToPath(new URL(`./guard${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));

async function createLaunchParameters(runFolder: string): Promise<LaunchParameters> {
  await mkdir(runFolder, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(runFolder, 'command-'));
  try {
    return { host: HOST, port: await findFreePort(), apiKey: randomBytes(32).toString('hex'), folder };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Limited in time: a container without an init process keeps zombie processes for ever. */
async function waitForGroupExit(group: number): Promise<void> {
  const deadline = performance.now() + GROUP_EXIT_WAIT_MS_MAX;
  while (signalProcessGroup(group, 0) && performance.now() < deadline) await pause(20);
}
