import { spawn } from 'node:child_process';
import type { Order, Report } from './child/messages.ts';
import { readReport } from './read-report.ts';
import type { Launch } from './sandboxes/sandbox.ts';

/** A process in a sandbox, and the lines between us and it. */
export interface SandboxedProcess {
  say(order: Order): void;
  /** What it tells from now on; undefined for a line that is no report, and the process is killed. */
  hear(listener: (report: Report) => void): void;
  /** How it ended. Resolved in any case. */
  readonly ended: Promise<ProcessEnd>;
  /** It, and all that it started. */
  kill(why: KillReason): void;
}

/** `output`: it said more than it may, or what is not said here. */
export type KillReason = 'done' | 'time' | 'output' | 'aborted';

export interface ProcessEnd {
  readonly killed?: KillReason;
  /** Its exit code, or the signal that ended it. */
  readonly by: string;
  /** The last of its standard error: for the log, as it may have been written by a program. */
  readonly said: string;
}

export interface StartOptions {
  /** Of one line. A longer one is not waited for. */
  readonly lineBytesMax: number;
}

const SAID_CHARS_MAX = 4_000;

export function startSandboxed(launch: Launch, { lineBytesMax }: StartOptions): SandboxedProcess {
  // A group of its own: it is killed as one, and no key that a person presses at our terminal reaches it.
  const child = spawn(launch.command, launch.args, { env: { ...launch.env }, cwd: '/', detached: true });
  let killed: KillReason | undefined;
  let said = '';
  let listener: (report: Report) => void = () => undefined;
  let pieces: Buffer[] = [];
  let lineBytes = 0;

  const kill = (why: KillReason): void => {
    if (killed !== undefined || child.exitCode !== null || child.signalCode !== null) return;
    killed = why;
    if (launch.end) {
      const { command, args } = launch.end;
      spawn(command, args, { env: { ...launch.env }, stdio: 'ignore' }).on('error', () => undefined);
    }
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      child.kill('SIGKILL');
    }
  };

  const onLine = (line: string): void => {
    if (killed !== undefined) return;
    const report = readReport(line);
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
    } else if (killed === undefined) pieces.push(rest);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-SAID_CHARS_MAX)));
  // It may end while something is said to it; why is told by its end.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<ProcessEnd>((resolve) => {
    const end = (by: string): void => resolve({ ...(killed !== undefined && { killed }), by, said });
    child.once('error', (error) => end(error.message));
    child.once('close', (code, signal) => end(signal ?? `code ${code}`));
  });
  return {
    say: (order) => void child.stdin.write(`${JSON.stringify(order)}\n`),
    hear(next) {
      listener = next;
    },
    ended,
    kill,
  };
}
