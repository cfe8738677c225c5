// Main file of a guard process: it starts a server program, and stops it on SIGTERM or when its standard input closes,
// which happens whenever the process that started the guard ends. The program leads its own process group, so that the
// processes that it starts are stopped too.
import { spawn, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { signalProcessGroup } from './process-group.ts';

/** First line of standard input; not command-line arguments, which every user of the machine can read. */
export interface GuardRequest {
  readonly command: string;
  readonly args: readonly string[];
  /** Complete environment of the program: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** Private folder of this start; removed at its end. */
  readonly folder: string;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly graceMs: number;
}

/** The only line of standard output: the program was started. */
export interface GuardReport {
  readonly pid: number;
}

let currentRequest: GuardRequest | undefined;
let program: ChildProcess | undefined;
let isStopping = false;

const cleanUpAndExit = (code: number): never => {
  if (currentRequest) rmSync(currentRequest.folder, { recursive: true, force: true });
  process.exit(code);
};

const startProgram = (line: string): void => {
  if (isStopping || currentRequest) return;
  /** The command server wrote this line itself, so it needs no validation. */
  const guardRequest = JSON.parse(line) as GuardRequest;
  currentRequest = guardRequest;
  // Both outputs of the program go to standard error: standard output holds only the report.
  const child = spawn(guardRequest.command, [...guardRequest.args], {
    env: guardRequest.environment,
    stdio: ['ignore', 2, 2],
    detached: true,
  });
  program = child;
  child.on('error', (error) => {
    if (child.pid !== undefined) return;
    process.stderr.write(`${guardRequest.command} did not start: ${error.message}\n`);
    cleanUpAndExit(127);
  });
  child.on('exit', (code, signal) => {
    process.stderr.write(`${guardRequest.command} exited: ${signal ?? `code ${code}`}\n`);
    // Child processes of the program may hold memory and ports that the next start needs.
    if (child.pid !== undefined) signalProcessGroup(child.pid, 'SIGKILL');
    cleanUpAndExit(code ?? 128 + (signal ? constants.signals[signal] : 0));
  });
  if (child.pid === undefined) return;
  const report: GuardReport = { pid: child.pid };
  process.stdout.write(`${JSON.stringify(report)}\n`);
};

const stopProgram = (): void => {
  if (isStopping) return;
  isStopping = true;
  const pid = program?.pid;
  if (pid === undefined) cleanUpAndExit(0);
  else {
    program?.kill('SIGTERM');
    setTimeout(() => signalProcessGroup(pid, 'SIGKILL'), currentRequest?.graceMs ?? 0);
  }
};

// The reader of these streams may be gone.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);
createInterface({ input: process.stdin }).on('line', startProgram).on('close', stopProgram);
process.on('SIGTERM', stopProgram);
// Signals of a terminal are meant for the parent process, which decides when the program stops.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
