import { spawn } from 'node:child_process';
import type { InterpreterCommand, InterpreterReport } from './child/messages.ts';
import { parseReport } from './parse-report.ts';
import type { SandboxLaunch } from './sandboxes/sandbox.ts';

/** A process in a sandbox, and the messages between the service and it. */
export interface SandboxedProcess {
  send(command: InterpreterCommand): void;
  /** Sets the listener for the next reports, in place of the one before. An invalid report line kills the process. */
  setListener(listener: (report: InterpreterReport) => void): void;
  /** Resolves when the process has ended. Never rejects. */
  readonly termination: Promise<ProcessTermination>;
  /** Kills the process and all that it started. */
  kill(why: KillReason): void;
}

/**
 * `done`: the process is no longer needed. `time`: it exceeded a time limit. `output`: it sent too much or an invalid
 * message. `aborted`: the caller canceled the work.
 */
export type KillReason = 'done' | 'time' | 'output' | 'aborted';

export interface ProcessTermination {
  readonly killReason?: KillReason;
  /** Exit code, signal or error message. */
  readonly cause: string;
  /** End of its standard error output; for the log, because a program may have written it. */
  readonly stderr: string;
}

const STDERR_CHARS_MAX = 4_000;

/**
 * Shell script that runs its arguments when its standard input ends, and again 5 s later: an engine that is killed while it
 * creates a container may create it after the first time. It ignores the signals that end services.
 */
const RUN_AT_END = `trap '' HUP INT TERM; read -r _; "$0" "$@"; sleep 5; exec "$0" "$@"`;

/** Starts the command of a sandbox. `kill` ends the process and all that it started. */
export function spawnInSandbox({ command, args, env, removeCommand, release }: SandboxLaunch) {
  // In a process group of its own, so that it is killed as one and gets no signals of the service's terminal.
  const child = spawn(command, args, { env, cwd: '/', detached: true });
  // The process may end during a write; its termination reports the reason.
  child.stdin.on('error', () => undefined);
  if (release) child.once('error', release).once('close', release);
  // A container engine runs the process outside this process group.
  const remove = removeCommand && removeOnceOrAtEnd(removeCommand, env);
  if (remove) child.once('error', remove).once('close', remove);
  const kill = (): void => {
    remove?.();
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      child.kill('SIGKILL');
    }
  };
  return { child, kill };
}

/**
 * Returns a function that removes a container. It is also removed as soon as this process has ended, however that
 * happened: a shell waits for the end of a pipe.
 */
function removeOnceOrAtEnd(
  { command, args }: NonNullable<SandboxLaunch['removeCommand']>,
  env: SandboxLaunch['env'],
): () => void {
  const shell = spawn('/bin/sh', ['-c', RUN_AT_END, command, ...args], {
    env,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.on('error', () => undefined).unref();
  shell.stdin.on('error', () => undefined);
  return () => void shell.stdin.end();
}

/** @param lineBytesMax Maximum length of one line. A longer one kills the process. */
export function startSandboxedProcess(launch: SandboxLaunch, lineBytesMax: number): SandboxedProcess {
  const { child, kill: killAll } = spawnInSandbox(launch);
  let killReason: KillReason | undefined;
  let stderr = '';
  let listener: (report: InterpreterReport) => void = () => undefined;
  let pieces: Buffer[] = [];
  let lineBytes = 0;

  const kill = (why: KillReason): void => {
    if (killReason !== undefined || child.exitCode !== null || child.signalCode !== null) return;
    killReason = why;
    killAll();
  };

  const onLine = (line: string): void => {
    if (killReason !== undefined) return;
    const report = parseReport(line);
    if (report) listener(report);
    else kill('output');
  };
  child.stdout.on('data', (piece: Buffer) => {
    let rest = piece;
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      pieces.push(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      const line = Buffer.concat(pieces).toString('utf8');
      pieces = [];
      lineBytes = 0;
      onLine(line);
    }
    lineBytes += rest.length;
    if (lineBytes > lineBytesMax) {
      pieces = [];
      kill('output');
    } else if (killReason === undefined) pieces.push(rest);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-STDERR_CHARS_MAX)));
  const termination = new Promise<ProcessTermination>((resolve) => {
    const end = (cause: string): void => resolve({ ...(killReason !== undefined && { killReason }), cause, stderr });
    child.once('error', (error) => end(error.message));
    child.once('close', (code, signal) => end(signal ?? `code ${code}`));
  });
  return {
    send: (command) => void child.stdin.write(`${JSON.stringify(command)}\n`),
    setListener(next) {
      listener = next;
    },
    termination,
    kill,
  };
}
