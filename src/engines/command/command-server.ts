import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../free-port.ts';
import { createSupervisor } from '../supervisor.ts';
import type { Launch, Supervisor, SupervisorLog, SupervisorTimes } from '../supervisor.ts';
import { programEnvironment, secretsOf } from './environment.ts';
import type { GuardOrder, GuardReport } from './guard.ts';
import { askHealth, untilHealthy } from './health.ts';
import type { CommandLine, Place } from './presets.ts';
import { signalGroup } from './process-group.ts';

export interface CommandServerOptions {
  /** For logs. */
  readonly name: string;
  /** The words of a start; asked before each. */
  readonly line: (place: Place) => CommandLine;
  /** Our own; the program gets little of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where private folders of its starts are made; created with mode 0700. */
  readonly runFolder: string;
  /** Absent: ours. */
  readonly workingFolder?: string;
  /** Answers with 200 when calls are welcome. Absent: /health, which llama-server, vLLM and SGLang have. */
  readonly healthPath?: string;
  readonly times?: Partial<CommandTimes>;
}

export interface CommandTimes extends SupervisorTimes {
  /** One heartbeat. */
  readonly pingMsMax: number;
  /** From the program's SIGTERM to its SIGKILL. */
  readonly graceMs: number;
}

/** A program that takes calls. */
export interface ProgramUp {
  /** Without a slash at its end. */
  readonly url: string;
  /** Of this start alone. */
  readonly apiKey: string;
}

/**
 * A server program that we start, watch and start again. It ends with us, whatever ends us, together with all that it has
 * started; only what puts itself into a process group of its own stays. Needs process groups, which Windows has not.
 */
export interface CommandServer {
  /**
   * Where the program takes calls; starts it when it does not run yet.
   * @throws ServiceError `overloaded` when it does not come up in time, or keeps failing.
   */
  ready(signal?: AbortSignal): Promise<ProgramUp>;
  /**
   * A caller's call to this program has failed. Resolves at once when the program answers, else when its end is known
   * here too, so that the next `ready` is not the same one.
   * @returns whether it is gone.
   */
  gone(up: ProgramUp): Promise<boolean>;
  readonly state: Supervisor<unknown>['state'];
  /** Process id of the program while it runs. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

/**
 * Ours. Large models take many minutes to load, or to be fetched and compiled. SGLang's health check waits up to 20 s for
 * a token of its own, so a slower heartbeat than that of our own engine; a hung program is noticed within two minutes.
 */
const COMMAND_TIMES = {
  startMsMax: 1_800_000,
  heartbeatMs: 10_000,
  heartbeatsLostMax: 3,
  pingMsMax: 25_000,
  graceMs: 5_000,
} as const satisfies Partial<CommandTimes>;

/** Ours: what a guard needs after its own SIGKILL to the program, in ms. */
const GUARD_MS_MAX = 3_000;

/** Ours: how long a program that may be dead has to answer, in ms. */
const ALIVE_MS_MAX = 1_000;

/** Ours: how long a start waits for what is left of the one before, in ms: it may hold the memory of an accelerator. */
const REMAINS_MS_MAX = 3_000;

const HOST = '127.0.0.1';

export function createCommandServer(options: CommandServerOptions, { log }: { log: SupervisorLog }): CommandServer {
  const { healthPath = '/health' } = options;
  const ownTimes = { ...COMMAND_TIMES, ...options.times };
  const times = { stopMsMax: ownTimes.graceMs + GUARD_MS_MAX, ...ownTimes };
  const dead = new WeakSet<ProgramUp>();
  /** Group of the running program, or of the last. */
  let group: number | undefined;
  let isRunning = false;

  const launch = async (): Promise<Launch<ProgramUp>> => {
    if (group !== undefined) await untilGroupEnded(group);
    const place = await openPlace(options.runFolder);
    const removeFolder = (): void => rmSync(place.folder, { recursive: true, force: true });
    try {
      const line = options.line(place);
      const environment = programEnvironment(options.environment, line.environment);
      for (const [name, text] of Object.entries(line.files ?? {}))
        await writeFile(join(place.folder, name), text, { mode: 0o600 });
      const order: GuardOrder = {
        command: line.command,
        args: line.args,
        environment,
        folder: place.folder,
        graceMs: times.graceMs,
        ...(options.workingFolder === undefined ? {} : { workingFolder: options.workingFolder }),
      };
      return {
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', GUARD],
        input: `${JSON.stringify(order)}\n`,
        isDetached: true,
        handshake(report) {
          group = (JSON.parse(report) as GuardReport).pid;
          isRunning = true;
          return { url: `http://${place.host}:${place.port}`, apiKey: place.apiKey };
        },
        welcome: (up, signal) => untilHealthy(`${up.url}${healthPath}`, up.apiKey, signal),
        onEnd({ signal }) {
          // A guard that was killed could not end its program.
          if (isRunning && group !== undefined && signal !== null) signalGroup(group, 'SIGKILL');
          isRunning = false;
          removeFolder();
        },
        hidden: [place.apiKey, ...secretsOf(line.environment)],
      };
    } catch (error) {
      removeFolder();
      throw error;
    }
  };

  const supervisor = createSupervisor<ProgramUp>(
    {
      name: options.name,
      launch,
      heartbeat: async ({ url, apiKey }) => {
        if (!(await askHealth(`${url}${healthPath}`, apiKey, times.pingMsMax))) throw new Error('not healthy');
      },
      onGone: (up) => void dead.add(up),
      factsOf: ({ url }) => ({ program: group, url }),
    },
    log,
    times,
  );

  return {
    ready: (signal) => supervisor.ready(signal),
    async gone(up) {
      // The port of one that is gone may be another program's by now.
      if (!dead.has(up) && (await askHealth(`${up.url}${healthPath}`, up.apiKey, ALIVE_MS_MAX))) return false;
      return await supervisor.gone(up);
    },
    get state() {
      return supervisor.state;
    },
    get pid() {
      return isRunning ? group : undefined;
    },
    stop: () => supervisor.stop(),
  };
}

/** The guard's main file has the extension of ours: .ts from sources, .js from dist. */
const GUARD = fileURLToPath(new URL(`./guard${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));

async function openPlace(runFolder: string): Promise<Place> {
  await mkdir(runFolder, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(runFolder, 'command-'));
  try {
    return { host: HOST, port: await freePort(), apiKey: randomBytes(32).toString('hex'), folder };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** A container without an init keeps ended processes for ever: no start waits for them longer than that. */
async function untilGroupEnded(group: number): Promise<void> {
  const deadline = performance.now() + REMAINS_MS_MAX;
  while (signalGroup(group, 0) && performance.now() < deadline) await pause(20);
}
