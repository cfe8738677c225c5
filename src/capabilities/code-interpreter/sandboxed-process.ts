import { spawnPiped } from '../../lib/spawn-piped.ts';
import type { InterpreterCommand, InterpreterReport } from './child/messages.ts';
import { parseReport } from './parse-report.ts';
import { CODE_CREATION_MS_MAX } from './limits.ts';
import { startContainerGuard } from './sandboxes/container-guard.ts';
import type { SandboxLaunch } from './sandboxes/sandbox.ts';

/** A process in a sandbox, and the messages between the service and it. */
export interface SandboxedProcess {
  send(command: InterpreterCommand): void;
  /** Sets the listener for the next reports, in place of the one before. An invalid report line kills the process. */
  setListener(listener: (report: InterpreterReport) => void): void;
  /** Resolves when the process has ended. Never rejects. */
  readonly termination: Promise<ProcessTermination>;
  /** Resolves when nothing of the process is left: its container is removed, too. Never rejects. */
  readonly removal: Promise<void>;
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
 * Starts the command of a sandbox. `kill` ends the process and all that it started; `removal` resolves when nothing of them
 * is left, and never rejects.
 */
export function spawnInSandbox({ command, args, env, container, release }: SandboxLaunch) {
  // In a process group of its own, so that it is killed as one and gets no signals of the service's terminal.
  const child = spawnPiped(command, args, { env, cwd: '/', detached: true });
  // The process may end during a write; its termination reports the reason.
  child.stdin.on('error', () => undefined);
  if (release) child.once('error', release).once('close', release);
  const ended = new Promise<void>(
    (resolve) => void child.once('error', () => resolve()).once('close', () => resolve()),
  );
  const killGroup = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      child.kill('SIGKILL');
    }
  };
  if (!container) return { child, kill: killGroup, removal: ended };

  // A container engine runs the process outside this process group.
  const guard = startContainerGuard(container, { env, commandPid: child.pid });
  void ended.then(guard.remove);
  let hasOutput = false;
  child.stdout.once('data', () => {
    hasOutput = true;
    guard.confirmCreation();
  });
  const kill = (): void => {
    guard.remove();
    // A command that is killed while it creates a container may leave it behind later. Its removal ends the command, too.
    if (hasOutput) return killGroup();
    const timer = setTimeout(killGroup, CODE_CREATION_MS_MAX).unref();
    void ended.then(() => clearTimeout(timer));
  };
  return { child, kill, removal: Promise.all([ended, guard.removal]).then(() => undefined) };
}

/** @param lineBytesMax Maximum length of one line. A longer one kills the process. */
export function startSandboxedProcess(launch: SandboxLaunch, lineBytesMax: number): SandboxedProcess {
  const { child, kill: killAll, removal } = spawnInSandbox(launch);
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
    removal,
    kill,
  };
}
