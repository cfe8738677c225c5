// Main file of a guard: it starts a server program that is not ours, and ends it when it is told to or when its standard
// input closes, which it does with the process that started the guard, whatever ends that. The program leads a process
// group of its own, so that what it has started ends with it.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { signalGroup } from './process-group.ts';

/** The first line of standard input; not arguments, which every user of a machine may read. */
export interface GuardOrder {
  readonly command: string;
  readonly args: readonly string[];
  /** All of it: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  readonly workingFolder?: string;
  /** Of this start alone: removed at its end. */
  readonly folder: string;
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
}

/** The only line of standard output: the program was started. */
export interface GuardReport {
  readonly pid: number;
}

let order: GuardOrder | undefined;
let program: ChildProcess | undefined;
let isEnding = false;

const leave = (code: number): never => {
  if (order) rmSync(order.folder, { recursive: true, force: true });
  process.exit(code);
};

const begin = (line: string): void => {
  if (isEnding || order) return;
  /** Parser of what our own command server writes. */
  const read = JSON.parse(line) as GuardOrder;
  order = read;
  // Both outputs of the program are our standard error: our standard output holds nothing but our own line.
  const started = spawn(read.command, [...read.args], {
    env: read.environment,
    stdio: ['ignore', 2, 2],
    detached: true,
    ...(read.workingFolder === undefined ? {} : { cwd: read.workingFolder }),
  });
  program = started;
  started.on('error', (error) => {
    if (started.pid !== undefined) return;
    const where = read.workingFolder === undefined ? '' : ` in ${read.workingFolder}`;
    process.stderr.write(`${read.command} could not be started${where}: ${error.message}\n`);
    leave(127);
  });
  started.on('exit', (code, signal) => {
    process.stderr.write(`${read.command} ended: ${signal ?? `code ${code}`}\n`);
    // What it has started may hold memory and ports that the next start needs.
    if (started.pid !== undefined) signalGroup(started.pid, 'SIGKILL');
    leave(code ?? 128 + (signal ? constants.signals[signal] : 0));
  });
  if (started.pid === undefined) return;
  const report: GuardReport = { pid: started.pid };
  process.stdout.write(`${JSON.stringify(report)}\n`);
};

const end = (): void => {
  if (isEnding) return;
  isEnding = true;
  const pid = program?.pid;
  if (pid === undefined) leave(0);
  else {
    program?.kill('SIGTERM');
    setTimeout(() => signalGroup(pid, 'SIGKILL'), order?.graceMs ?? 0);
  }
};

// Nobody may be there any more to read what is said.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);
createInterface({ input: process.stdin }).on('line', begin).on('close', end);
process.on('SIGTERM', end);
// A terminal's signals are for the process that started us; it decides when the program goes.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
