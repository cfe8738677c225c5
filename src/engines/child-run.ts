import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { spawnPiped } from '../lib/spawn-piped.ts';
import { BEAT_LINE } from './beats.ts';
import { collectLastLines } from './last-lines.ts';

/** Parameters of one start. */
export interface ProcessLaunch<Ready> {
  readonly command: string;
  readonly args: readonly string[];
  /** Text for the child's standard input, which stays open as long as this process runs. */
  readonly input?: string;
  /** Whether the child gets its own process group, so that a signal to Parley's group does not end it too. */
  readonly isDetached?: boolean;
  /** Parses a line of standard output. The first defined result means that the child has initialized. */
  readonly handshake: (line: string) => Ready | undefined;
  /** Resolves when the initialized child accepts requests; must obey the signal. Absent: it accepts them at once. */
  readonly waitUntilServing?: (ready: Ready, signal: AbortSignal) => Promise<void>;
  /** Frees the resources of this start: after the child's exit, or if it could not be spawned. */
  readonly onExit?: (end: ChildExit) => void;
  /** Texts that must not appear in any log line. */
  readonly secrets?: readonly string[];
}

export interface ChildExit {
  readonly error?: string;
  readonly code?: number | null;
  readonly signal?: NodeJS.Signals | null;
}

export interface SupervisorLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Callbacks and settings of one run of a child process. */
interface ChildRunOptions<Ready> {
  /** Name for log lines. */
  readonly name: string;
  readonly log: SupervisorLog;
  readonly times: {
    /** Time limit from start to ready. A child that exceeds it is killed. */
    readonly startMsMax: number;
    /** Interval of the log line for a start in progress, which shows the child's last line. */
    readonly progressMs: number;
  };
  /** Called when the child accepts requests; `startMs` is the time since its start. */
  readonly onReady: (ready: Ready, startMs: number) => void;
  /** Called for each `BEAT_LINE`. */
  readonly onBeat?: () => void;
  /** Called once, with the last lines of standard error. */
  readonly onExit: (exit: ChildExit, lastLines: readonly string[]) => void;
}

/** Starts a child process and follows it from its start to its exit. */
export function startChild<Ready>(
  launch: ProcessLaunch<Ready>,
  { name, log, times, onReady, onBeat, onExit }: ChildRunOptions<Ready>,
): ChildProcess {
  const startedAt = Date.now();
  // Standard input shows the child that its parent is alive: it closes when this process ends, and the child then exits.
  const child = spawnPiped(launch.command, launch.args, { detached: launch.isDetached ?? false });
  child.stdin.on('error', () => undefined); // the child may exit early
  if (launch.input !== undefined) child.stdin.write(launch.input);
  const stderrTail = collectLastLines(child.stderr, launch.secrets);
  const getLogFields = () => ({
    engine: name,
    pid: child.pid,
    seconds: Math.round((Date.now() - startedAt) / 1000),
  });
  const startTimer = setTimeout(() => {
    log.warn('engine process not ready in time', getLogFields());
    child.kill('SIGKILL');
  }, times.startMsMax);
  const progressTimer = setInterval(
    () => log.info('engine process is starting', { ...getLogFields(), line: stderrTail.getLines().at(-1) }),
    times.progressMs,
  );
  const settled = new AbortController();
  const endStart = (): void => {
    clearTimeout(startTimer);
    clearInterval(progressTimer);
  };
  const acceptCalls = (ready: Ready): void => {
    if (settled.signal.aborted) return;
    endStart();
    onReady(ready, Date.now() - startedAt);
  };
  watchHandshake(child, launch, { acceptCalls, onBeat, signal: settled.signal });
  const handleExit = (exit: ChildExit): void => {
    if (settled.signal.aborted) return;
    endStart();
    settled.abort();
    onExit(exit, stderrTail.getLines());
  };
  child.on('error', (error) => handleExit({ error: error.message }));
  child.on('exit', (code, signal) => handleExit({ code, signal }));
  return child;
}

/** Calls `acceptCalls` once: when the child has initialized and accepts requests. */
function watchHandshake<Ready>(
  child: ChildProcess & { readonly stdout: NodeJS.ReadableStream },
  { handshake, waitUntilServing }: ProcessLaunch<Ready>,
  {
    acceptCalls,
    onBeat,
    signal,
  }: {
    readonly acceptCalls: (ready: Ready) => void;
    readonly onBeat: (() => void) | undefined;
    readonly signal: AbortSignal;
  },
): void {
  let hasHandshake = false;
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === BEAT_LINE) return onBeat?.();
    // Lines may still arrive after the exit.
    if (signal.aborted || hasHandshake) return;
    const ready = handshake(line);
    if (ready === undefined) return;
    hasHandshake = true;
    if (!waitUntilServing) return acceptCalls(ready);
    waitUntilServing(ready, signal).then(
      () => acceptCalls(ready),
      () => child.kill('SIGKILL'),
    );
  });
}
