import { spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { until } from './until.ts';

/** A server that is not ours, in a process of its own. */
export interface Program {
  readonly pid: number;
  stop(): Promise<void>;
}

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Answers 200 when the program is ready. */
  readonly health: string;
  /** What it prints goes here; the end of it is shown when the program does not start. */
  readonly log: string;
}

const START_MS_MAX = 90_000;
const LAST_WORDS = 1500;

/** @throws Error with the end of what the program printed. */
export async function startProgram({ command, args, env = {}, health, log }: ProgramOptions): Promise<Program> {
  const out = openSync(log, 'w');
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', out, out] });
  const state = { ended: false };
  const gone = new Promise<void>((resolve) => {
    for (const event of ['exit', 'error'] as const)
      child.once(event, () => {
        state.ended = true;
        resolve();
      });
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const patience = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await gone;
    clearTimeout(patience);
  };
  // A bench that breaks off leaves no server behind.
  process.once('exit', () => child.kill('SIGKILL'));
  const isReady = async (): Promise<boolean> => {
    if (state.ended) return true;
    return fetch(health).then(
      (response) => response.ok,
      () => false,
    );
  };
  const inTime = await until(isReady, START_MS_MAX);
  if (!state.ended && inTime && child.pid !== undefined) return { pid: child.pid, stop };
  if (!state.ended) await stop();
  throw new Error(`${command} did not start: …${readFileSync(log, 'utf8').slice(-LAST_WORDS)}`);
}

/** One that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
