import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { createEngineUnavailableError } from '../core/generation-errors.ts';
import type { ChildProcess } from 'node:child_process';
import { startChild, type ChildExit, type ProcessLaunch, type SupervisorLog } from './child-run.ts';
import { startHeartbeat } from './heartbeat.ts';
import {
  addExit,
  addReadyChild,
  addSteadyRun,
  FAILED_STARTS_MAX,
  getBackoffMs,
  isFailing,
  NO_EXITS,
  type RestartHistory,
} from './restart-history.ts';
import { createSilenceTimer, type SilenceTimer } from '../lib/silence-timer.ts';
import { createTimedAbort } from '../lib/linked-abort.ts';
import { raceWithAbort } from '../lib/race-with-abort.ts';
import { getAbortError } from './get-abort-error.ts';
import type { StartGuard } from './start-guard.ts';
import { MODEL_FILE_RETRY_MS } from './limits.ts';

/** Description of a child process that the supervisor starts, monitors and restarts. */
export interface ChildSpec<Ready> {
  /** Name for log lines. */
  readonly name: string;
  /** Returns what to start; called before each start. */
  readonly launch: () => ProcessLaunch<Ready> | Promise<ProcessLaunch<Ready>>;
  /**
   * Path of the file that each start loads. After several failed starts, the next one waits `fileRetryMs` or until the
   * file has changed.
   */
  readonly modelFile?: string | undefined;
  /** Decides before each start whether the child may load its model. */
  readonly guard?: StartGuard | undefined;
  /** Rejects if the child does not respond. */
  readonly heartbeat?: (ready: Ready) => Promise<void>;
  /** Whether the child prints a `BEAT_LINE` every second while it works. */
  readonly hasBeats?: boolean;
  /** Frees the resources of a child that was ready and has ended. */
  readonly onGone?: (ready: Ready) => void;
  /** Whether a child whose call failed still responds. Default: its exit is awaited. */
  readonly isAlive?: (ready: Ready) => Promise<boolean>;
  /** Returns the process id to report. Default: that of the child. */
  readonly getPid?: () => number | undefined;
  /** Frees what all starts share; called at the end of `stop`. */
  readonly onStopped?: () => void;
  /** Returns fields for the log line "engine process ready". */
  readonly getLogFields?: (ready: Ready) => Readonly<Record<string, unknown>>;
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
  /** Time without a beat after which a child that has beats is killed. */
  readonly silenceMsMax: number;
  /** Delay between an exit and the next start, which doubles with each consecutive exit; none after the first. */
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  /** Delay before the next start after several starts failed to load the same file. */
  readonly fileRetryMs: number;
  /** A child that was ready for this long resets the backoff. */
  readonly steadyMs: number;
  /** Time from SIGTERM to SIGKILL. */
  readonly stopMsMax: number;
}

/** Default times, chosen by Parley. A native engine loads a large model in seconds; a child without
 * beats that hangs is detected after lost heartbeats. */
const SUPERVISOR_TIMES: SupervisorTimes = {
  startMsMax: 300_000,
  progressMs: 30_000,
  waitMsMax: 60_000,
  heartbeatMs: 5_000,
  heartbeatsLostMax: 5,
  silenceMsMax: 10_000,
  backoffMsMin: 250,
  backoffMsMax: 30_000,
  fileRetryMs: MODEL_FILE_RETRY_MS,
  steadyMs: 60_000,
  stopMsMax: 5_000,
};

/** Upper bound, in ms, between a broken connection and the exit event of its process; usually far less passes. */
const EXIT_NOTICED_MS_MAX = 2_000;

export const createSupervisor = <Ready>(
  spec: ChildSpec<Ready>,
  log: SupervisorLog,
  customTimes: Partial<SupervisorTimes> = {},
): Supervisor<Ready> => new RestartingProcess(spec, log, { ...SUPERVISOR_TIMES, ...customTimes });

class RestartingProcess<Ready> implements Supervisor<Ready> {
  private readonly spec: ChildSpec<Ready>;
  private readonly log: SupervisorLog;
  private readonly times: SupervisorTimes;
  /** Settled when a child is ready, or when waiting is useless; then replaced. */
  private nextReady = createQuietResolvers<Ready>();
  private launching: Promise<void> | undefined;
  private child: ChildProcess | undefined;
  private current: Ready | undefined;
  private history: RestartHistory = NO_EXITS;
  /** Size and modification time of the model file at the last start. */
  private fileVersion: string | undefined;
  private isStopping = false;
  private restartTimer: NodeJS.Timeout | undefined;
  private steadyTimer: NodeJS.Timeout | undefined;
  private stopHeartbeat: () => void = () => undefined;
  private readonly silence: SilenceTimer;
  private readonly removeGuard: () => void;

  constructor(spec: ChildSpec<Ready>, log: SupervisorLog, times: SupervisorTimes) {
    this.spec = spec;
    this.log = log;
    this.times = times;
    this.silence = createSilenceTimer(times.silenceMsMax, () => this.killSilentChild());
    this.removeGuard = spec.guard?.onRevoked(() => this.child?.kill('SIGKILL')) ?? (() => undefined);
  }

  get state(): Supervisor<Ready>['state'] {
    if (this.current !== undefined) return 'ready';
    if (isFailing(this.history)) return 'failing';
    return this.child || this.launching || this.restartTimer ? 'starting' : 'stopped';
  }

  get pid(): number | undefined {
    return this.spec.getPid ? this.spec.getPid() : this.child?.pid;
  }

  async waitUntilReady(signal?: AbortSignal): Promise<Ready> {
    if (this.current !== undefined) return this.current;
    if (isFailing(this.history)) await this.restartIfFileChanged();
    if (this.isStopping || isFailing(this.history)) throw this.createUnavailableError();
    if (!this.restartTimer) this.start();
    const wait = createTimedAbort(signal, this.times.waitMsMax, () => this.createUnavailableError());
    return await raceWithAbort(this.nextReady.promise, wait.signal, getAbortError).finally(wait.unlink);
  }

  async confirmExit(ready: Ready): Promise<boolean> {
    const { child } = this;
    if (this.current !== ready || !child) return true;
    if (await this.spec.isAlive?.(ready)) return false;
    if (this.child !== child) return true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, EXIT_NOTICED_MS_MAX);
      child.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
    });
    return this.current !== ready;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.removeGuard();
    clearTimeout(this.restartTimer);
    this.restartTimer = undefined;
    this.stopHeartbeat();
    this.silence.stop();
    this.rejectWaiters();
    await this.launching;
    if (this.child) await endChild(this.child, this.times.stopMsMax);
    this.spec.onStopped?.();
  }

  private rejectWaiters(): void {
    this.nextReady.reject(this.createUnavailableError());
    this.nextReady = createQuietResolvers();
  }

  private createUnavailableError(): ServiceError {
    const { modelFile } = this.spec;
    if (modelFile === undefined || this.isStopping || !isFailing(this.history)) return createEngineUnavailableError(5);
    return new ServiceError(
      'overloaded',
      `The engine cannot load the model file ${basename(modelFile)}: ${FAILED_STARTS_MAX} starts failed. The operator finds the reason in the log, and must replace the file if it is damaged; a changed file is loaded at once.`,
      { retryAfterSeconds: Math.ceil(this.times.fileRetryMs / 1000) },
    );
  }

  /** Starts at once when the file that could not be loaded has changed. */
  private async restartIfFileChanged(): Promise<void> {
    const { modelFile } = this.spec;
    if (modelFile === undefined || (await readFileVersion(modelFile)) === this.fileVersion) return;
    this.history = NO_EXITS;
    this.start();
  }

  private start(): void {
    if (this.child || this.launching || this.isStopping) return;
    clearTimeout(this.restartTimer);
    this.restartTimer = undefined;
    this.launching = this.launch().finally(() => (this.launching = undefined));
  }

  private async launch(): Promise<void> {
    try {
      await this.spec.guard?.check();
    } catch (error) {
      return this.refuseStart(error);
    }
    try {
      if (this.spec.modelFile !== undefined) this.fileVersion = await readFileVersion(this.spec.modelFile);
      const launch = await this.spec.launch();
      if (this.isStopping) return launch.onExit?.({});
      try {
        this.run(launch);
      } catch (error) {
        launch.onExit?.({});
        throw error;
      }
    } catch (error) {
      if (!this.isStopping)
        this.scheduleRestart({ error: error instanceof Error ? error.message : String(error) }, undefined, []);
    }
  }

  /** Starts nothing until the next call, which gets the reason unless it is gone. */
  private refuseStart(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.log.warn('engine process not started', { engine: this.spec.name, reason });
    this.nextReady.reject(error);
    this.nextReady = createQuietResolvers();
  }

  private run(launch: ProcessLaunch<Ready>): void {
    const child = startChild(launch, {
      name: this.spec.name,
      log: this.log,
      times: this.times,
      onBeat: () => this.silence.reset(),
      onReady: (ready, startMs) => this.handleReady(child, ready, startMs),
      onExit: (exit, lastLines) => this.handleExit(launch, exit, lastLines),
    });
    this.child = child;
  }

  private handleReady(child: ChildProcess, ready: Ready, startMs: number): void {
    const { name, heartbeat, getLogFields } = this.spec;
    this.current = ready;
    this.history = addReadyChild(this.history);
    this.steadyTimer = setTimeout(() => (this.history = addSteadyRun(this.history)), this.times.steadyMs);
    this.steadyTimer.unref();
    this.log.info('engine process ready', { engine: name, pid: child.pid, ms: startMs, ...getLogFields?.(ready) });
    if (this.spec.hasBeats) this.silence.start();
    if (heartbeat)
      this.stopHeartbeat = startHeartbeat({
        check: () => heartbeat(ready),
        intervalMs: this.times.heartbeatMs,
        lostMax: this.times.heartbeatsLostMax,
        onLost: () => {
          this.log.warn('engine process does not answer', { engine: name, pid: child.pid });
          child.kill('SIGKILL');
        },
      });
    this.nextReady.resolve(ready);
    this.nextReady = createQuietResolvers();
  }

  private killSilentChild(): void {
    const { child } = this;
    this.silence.stop();
    this.log.warn('engine process hangs', {
      engine: this.spec.name,
      pid: child?.pid,
      silentMs: this.times.silenceMsMax,
    });
    child?.kill('SIGKILL');
  }

  private handleExit(launch: ProcessLaunch<Ready>, exit: ChildExit, lastLines: readonly string[]): void {
    this.stopHeartbeat();
    this.silence.stop();
    clearTimeout(this.steadyTimer);
    this.child = undefined;
    const exitedReady = this.current;
    this.current = undefined;
    if (exitedReady !== undefined) this.spec.onGone?.(exitedReady);
    launch.onExit?.(exit);
    if (!this.isStopping) this.scheduleRestart(exit, exitedReady, lastLines);
  }

  /** Logs an exit that was not requested, and schedules the next start. */
  private scheduleRestart(exit: ChildExit, exitedReady: Ready | undefined, lastLines: readonly string[]): void {
    const wasReady = exitedReady !== undefined;
    this.history = addExit(this.history, { wasReady });
    const stderr = lastLines.join('\n');
    this.log.warn('engine process ended', { engine: this.spec.name, ...exit, wasReady, stderr });
    if (isFailing(this.history)) this.rejectWaiters();
    const waitsForFile = isFailing(this.history) && this.spec.modelFile !== undefined;
    const delayMs = waitsForFile ? this.times.fileRetryMs : getBackoffMs(this.history, this.times);
    this.restartTimer = setTimeout(() => this.start(), delayMs);
  }
}

/** Returns the size and modification time of a file; undefined when it cannot be read. */
const readFileVersion = (path: string): Promise<string | undefined> =>
  stat(path).then(
    ({ size, mtimeMs }) => `${size} ${mtimeMs}`,
    () => undefined,
  );

/** Creates a promise that may be rejected while nobody waits for it. */
function createQuietResolvers<T>(): PromiseWithResolvers<T> {
  const resolvers = Promise.withResolvers<T>();
  resolvers.promise.catch(() => undefined);
  return resolvers;
}

/** Asks a child to end, and kills it after a time limit. Resolves after its exit. */
async function endChild(child: ChildProcess, stopMsMax: number): Promise<void> {
  // A child without a pid could not be spawned and emits no exit event.
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const killTimer = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
  child.stdin?.end();
  child.kill('SIGTERM');
  await exited;
  clearTimeout(killTimer);
}
