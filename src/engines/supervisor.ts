import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ServiceError } from '../core/error.ts';
import { collectLastLines } from './last-lines.ts';
import { createWaiterList } from './waiter-list.ts';

/** Description of a child process that the supervisor starts, monitors and restarts. */
export interface ChildSpec<Ready> {
  /** Name for log lines. */
  readonly name: string;
  /** Returns what to start; called before each start. */
  readonly launch: () => ProcessLaunch<Ready> | Promise<ProcessLaunch<Ready>>;
  /** Rejects if the child does not respond. */
  readonly heartbeat?: (ready: Ready) => Promise<void>;
  /** Frees the resources of a child that was ready and has ended. */
  readonly onGone?: (ready: Ready) => void;
  /** Returns fields for the log line "engine process ready". */
  readonly getLogFields?: (ready: Ready) => Readonly<Record<string, unknown>>;
}

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

/** A process that is kept running for its callers: a child of this process, or of another process of Parley. */
export interface SupervisedProcess<Ready> {
  /**
   * Returns the running process; starts it if necessary.
   * @throws ServiceError `overloaded` if it is not ready in time, or keeps failing.
   */
  waitUntilReady(signal?: AbortSignal): Promise<Ready>;
  /**
   * Call this after a request to the process failed. Resolves when its exit is known here too, so that the next
   * `waitUntilReady` does not return the same process. Also resolves, after a time limit, if the process is alive.
   * @returns whether the process has ended.
   */
  confirmExit(ready: Ready): Promise<boolean>;
  readonly state: 'stopped' | 'starting' | 'ready' | 'failing';
  /** Ends the process, or only this caller's use of it. */
  stop(): Promise<void>;
}

export interface Supervisor<Ready> extends SupervisedProcess<Ready> {
  /** Process id of the current child, if there is one. */
  readonly pid: number | undefined;
}

export interface SupervisorLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface SupervisorTimes {
  /** Time limit from start to ready. A child that exceeds it is killed and started again. */
  readonly startMsMax: number;
  /** Interval of the log line for a start in progress, which shows the child's last line. */
  readonly progressMs: number;
  /** Longest time that a caller waits for a child to become ready. */
  readonly waitMsMax: number;
  readonly heartbeatMs: number;
  /** Number of consecutive failed heartbeats after which the child is killed. */
  readonly heartbeatsLostMax: number;
  /** Delay between an exit and the next start; doubles with each consecutive exit. */
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  /** A child that was ready for this long resets the backoff. */
  readonly steadyMs: number;
  /** Time from SIGTERM to SIGKILL. */
  readonly stopMsMax: number;
}

/** Default times, chosen by Parley. A native engine loads a large model in seconds; a hang is detected in 30 s. */
const SUPERVISOR_TIMES: SupervisorTimes = {
  startMsMax: 300_000,
  progressMs: 30_000,
  waitMsMax: 60_000,
  heartbeatMs: 5_000,
  heartbeatsLostMax: 5,
  backoffMsMin: 250,
  backoffMsMax: 30_000,
  steadyMs: 60_000,
  stopMsMax: 5_000,
};

/** After this many consecutive failed starts, callers are rejected at once; restarts continue with backoff. */
const FAILED_STARTS_MAX = 3;

/** Upper bound, in ms, between a broken connection and the exit event of its process; usually far less passes. */
const EXIT_NOTICED_MS_MAX = 2_000;

export function createSupervisor<Ready>(
  spec: ChildSpec<Ready>,
  log: SupervisorLog,
  customTimes: Partial<SupervisorTimes> = {},
): Supervisor<Ready> {
  const times = { ...SUPERVISOR_TIMES, ...customTimes };
  let launching: Promise<void> | undefined;
  let child: ChildProcess | undefined;
  let current: Ready | undefined;
  const waiters = createWaiterList<Ready>({ waitMsMax: times.waitMsMax, createTimeoutError: createUnavailableError });
  let failedStarts = 0;
  let exitsInRow = 0;
  let isStopping = false;
  let restartTimer: NodeJS.Timeout | undefined;
  let heartbeatTimer: NodeJS.Timeout | undefined;

  const start = (): void => {
    if (child || launching || isStopping) return;
    clearTimeout(restartTimer);
    restartTimer = undefined;
    launching = prepare().finally(() => (launching = undefined));
  };

  const prepare = async (): Promise<void> => {
    try {
      const launch = await spec.launch();
      if (isStopping) return launch.onExit?.({});
      try {
        run(launch);
      } catch (error) {
        launch.onExit?.({});
        throw error;
      }
    } catch (error) {
      if (!isStopping)
        handleUnexpectedExit({ error: error instanceof Error ? error.message : String(error) }, undefined, []);
    }
  };

  const run = (launch: ProcessLaunch<Ready>): void => {
    const startedAt = Date.now();
    const secondsSinceStart = (): number => Math.round((Date.now() - startedAt) / 1000);
    // Standard input shows the child that its parent is alive: it closes when this process ends, and the child then
    // exits.
    const started = spawn(launch.command, [...launch.args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: launch.isDetached ?? false,
    });
    child = started;
    started.stdin.on('error', () => undefined); // the child may exit early
    if (launch.input !== undefined) started.stdin.write(launch.input);
    const stderrTail = collectLastLines(started.stderr, launch.secrets);
    const startTimer = setTimeout(() => {
      log.warn('engine process not ready in time', {
        engine: spec.name,
        pid: started.pid,
        seconds: secondsSinceStart(),
      });
      started.kill('SIGKILL');
    }, times.startMsMax);
    const progressTimer = setInterval(() => {
      const fields = {
        engine: spec.name,
        pid: started.pid,
        seconds: secondsSinceStart(),
        line: stderrTail.getLines().at(-1),
      };
      log.info('engine process is starting', fields);
    }, times.progressMs);
    const settled = new AbortController();
    let hasHandshake = false;
    let hasExited = false;
    let steadyTimer: NodeJS.Timeout | undefined;

    const acceptCalls = (ready: Ready): void => {
      if (hasExited) return;
      clearTimeout(startTimer);
      clearInterval(progressTimer);
      current = ready;
      failedStarts = 0;
      steadyTimer = setTimeout(() => (exitsInRow = 0), times.steadyMs);
      steadyTimer.unref();
      const fields = { engine: spec.name, pid: started.pid, ms: Date.now() - startedAt, ...spec.getLogFields?.(ready) };
      log.info('engine process ready', fields);
      scheduleHeartbeat(started, ready, 0);
      waiters.resolveAll(ready);
    };

    createInterface({ input: started.stdout }).on('line', (line) => {
      // Lines may still arrive after the exit.
      if (hasExited || hasHandshake) return;
      const ready = launch.handshake(line);
      if (ready === undefined) return;
      hasHandshake = true;
      if (!launch.waitUntilServing) return acceptCalls(ready);
      launch.waitUntilServing(ready, settled.signal).then(
        () => acceptCalls(ready),
        () => started.kill('SIGKILL'),
      );
    });

    const handleExit = (exit: ChildExit): void => {
      if (hasExited) return;
      hasExited = true;
      clearTimeout(startTimer);
      clearInterval(progressTimer);
      clearTimeout(heartbeatTimer);
      clearTimeout(steadyTimer);
      settled.abort();
      child = undefined;
      const exitedReady = current;
      current = undefined;
      if (exitedReady !== undefined) spec.onGone?.(exitedReady);
      launch.onExit?.(exit);
      if (!isStopping) handleUnexpectedExit(exit, exitedReady, stderrTail.getLines());
    };
    started.on('error', (error) => handleExit({ error: error.message }));
    started.on('exit', (code, signal) => handleExit({ code, signal }));
  };

  /** Logs an exit that was not requested, and schedules the next start. */
  const handleUnexpectedExit = (exit: ChildExit, wasReady: Ready | undefined, lastLines: readonly string[]): void => {
    failedStarts = wasReady === undefined ? failedStarts + 1 : 0;
    log.warn('engine process ended', {
      engine: spec.name,
      ...exit,
      wasReady: wasReady !== undefined,
      stderr: lastLines.join('\n'),
    });
    if (failedStarts >= FAILED_STARTS_MAX) waiters.rejectAll();
    const backoffMs = Math.min(times.backoffMsMax, times.backoffMsMin * 2 ** exitsInRow);
    exitsInRow++;
    restartTimer = setTimeout(start, backoffMs);
  };

  const scheduleHeartbeat = (target: ChildProcess, ready: Ready, lostHeartbeats: number): void => {
    const { heartbeat } = spec;
    if (!heartbeat) return;
    heartbeatTimer = setTimeout(() => {
      heartbeat(ready).then(
        () => target === child && scheduleHeartbeat(target, ready, 0),
        () => {
          if (target !== child) return;
          if (lostHeartbeats + 1 < times.heartbeatsLostMax) return scheduleHeartbeat(target, ready, lostHeartbeats + 1);
          log.warn('engine process does not answer', { engine: spec.name, pid: target.pid });
          target.kill('SIGKILL');
        },
      );
    }, times.heartbeatMs);
    heartbeatTimer.unref();
  };

  return {
    get state() {
      if (current !== undefined) return 'ready';
      if (failedStarts >= FAILED_STARTS_MAX) return 'failing';
      return child || launching || restartTimer ? 'starting' : 'stopped';
    },
    get pid() {
      return child?.pid;
    },
    async waitUntilReady(signal) {
      if (current !== undefined) return current;
      if (isStopping || failedStarts >= FAILED_STARTS_MAX) throw createUnavailableError();
      if (!restartTimer) start();
      return await waiters.wait(signal);
    },
    async confirmExit(ready) {
      const runningChild = child;
      if (current !== ready || !runningChild) return true;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, EXIT_NOTICED_MS_MAX);
        runningChild.once('exit', () => {
          clearTimeout(timer);
          resolve();
        });
      });
      return current !== ready;
    },
    async stop() {
      isStopping = true;
      clearTimeout(restartTimer);
      restartTimer = undefined;
      clearTimeout(heartbeatTimer);
      waiters.rejectAll();
      await launching;
      const runningChild = child;
      // A child without a pid could not be spawned and emits no exit event.
      if (runningChild?.pid === undefined || runningChild.exitCode !== null || runningChild.signalCode !== null) return;
      const exited = new Promise<void>((resolve) => runningChild.once('exit', () => resolve()));
      const killTimer = setTimeout(() => runningChild.kill('SIGKILL'), times.stopMsMax);
      runningChild.stdin?.end();
      runningChild.kill('SIGTERM');
      await exited;
      clearTimeout(killTimer);
    },
  };
}

const createUnavailableError = (): ServiceError =>
  new ServiceError('overloaded', 'The engine of this model is not available at present.', { retryAfterSeconds: 5 });
