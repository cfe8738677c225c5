import { spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { waitUntil } from './wait-until.ts';

/** A third-party server in its own process. */
export interface PeerProgram {
  readonly pid: number;
  stop(): Promise<void>;
}

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** URL that answers 200 when the program is ready. */
  readonly healthUrl: string;
  /** File for the program's output. Its end is part of the error when the program does not start. */
  readonly logFile: string;
}

const START_MS_MAX = 90_000;
const LOG_TAIL_CHARS = 1500;

/** Starts a program and waits until it is ready. @throws Error with the end of the program's output. */
export async function startProgram({
  command,
  args,
  env = {},
  healthUrl,
  logFile,
}: ProgramOptions): Promise<PeerProgram> {
  const out = openSync(logFile, 'w');
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', out, out] });
  const state = { hasExited: false };
  const exited = new Promise<void>((resolve) => {
    for (const event of ['exit', 'error'] as const)
      child.once(event, () => {
        state.hasExited = true;
        resolve();
      });
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const killTimer = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await exited;
    clearTimeout(killTimer);
  };
  // Stops the server also when the benchmark aborts.
  process.once('exit', () => child.kill('SIGKILL'));
  const isReady = async (): Promise<boolean> => {
    if (state.hasExited) return true;
    return fetch(healthUrl).then(
      (response) => response.ok,
      () => false,
    );
  };
  const isInTime = await waitUntil(isReady, START_MS_MAX);
  if (!state.hasExited && isInTime && child.pid !== undefined) return { pid: child.pid, stop };
  if (!state.hasExited) await stop();
  throw new Error(`${command} did not start: …${readFileSync(logFile, 'utf8').slice(-LOG_TAIL_CHARS)}`);
}

/** Returns a port that was free a moment ago. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
