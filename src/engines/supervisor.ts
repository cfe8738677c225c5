import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ServiceError } from '../core/error.ts';
import { abortReason } from './abort-reason.ts';

/** A program that we start, watch and start again. */
export interface ChildSpec<Ready> {
  /** For logs. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Reads a line of standard output; the first result means that calls are welcome. */
  readonly handshake: (line: string) => Ready | undefined;
  /** Rejects when the child does not answer. */
  readonly heartbeat?: (ready: Ready) => Promise<void>;
  /** Frees what belongs to a child that is gone. */
  readonly onGone?: (ready: Ready) => void;
}

/** Something that is kept running for those who call it: a child of ours, or one that another process of ours keeps. */
export interface Supervised<Ready> {
  /**
   * The running child; starts it when it is not there yet.
   * @throws ServiceError `overloaded` when it does not come up in time, or keeps failing.
   */
  ready(signal?: AbortSignal): Promise<Ready>;
  /**
   * A caller has found this child dead. Resolves when its end is known here too, so that the next `ready` is not the same
   * one; after a while also when the child lives.
   * @returns whether it is gone.
   */
  gone(ready: Ready): Promise<boolean>;
  readonly state: 'stopped' | 'starting' | 'ready' | 'failing';
  /** Ends it, as far as this caller is concerned. */
  stop(): Promise<void>;
}

export interface Supervisor<Ready> extends Supervised<Ready> {
  /** Process id while there is a child. */
  readonly pid: number | undefined;
}

export interface SupervisorLog {
  info(message: string, facts?: Readonly<Record<string, unknown>>): void;
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

export interface SupervisorTimes {
  /** From start to handshake. */
  readonly startMsMax: number;
  /** A caller waits this long for a child that is starting. */
  readonly waitMsMax: number;
  readonly heartbeatMs: number;
  /** Heartbeats that may fail in a row. */
  readonly heartbeatsLostMax: number;
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  /** From SIGTERM to SIGKILL. */
  readonly stopMsMax: number;
}

/** Ours. A native engine loads a large model in seconds; a wedged one is noticed within half a minute. */
const SUPERVISOR_TIMES: SupervisorTimes = {
  startMsMax: 300_000,
  waitMsMax: 60_000,
  heartbeatMs: 5_000,
  heartbeatsLostMax: 5,
  backoffMsMin: 250,
  backoffMsMax: 30_000,
  stopMsMax: 5_000,
};

/** After this many failed starts in a row callers are refused at once; starting goes on with backoff. */
const FAILED_STARTS_MAX = 3;

/** A broken connection is seen before the end of the process behind it, by far less than this, in ms. */
const END_NOTICED_MS_MAX = 2_000;

/** Lines of standard error kept for the log of a failed start. */
const STDERR_LINES_MAX = 20;

export function createSupervisor<Ready>(
  spec: ChildSpec<Ready>,
  log: SupervisorLog,
  times: SupervisorTimes = SUPERVISOR_TIMES,
): Supervisor<Ready> {
  let child: ChildProcess | undefined;
  let current: Ready | undefined;
  let waiters: { resolve: (ready: Ready) => void; reject: (error: unknown) => void }[] = [];
  let failedStarts = 0;
  let isStopping = false;
  let restartTimer: NodeJS.Timeout | undefined;
  let heartbeatTimer: NodeJS.Timeout | undefined;

  const start = (): void => {
    if (child || isStopping) return;
    clearTimeout(restartTimer);
    restartTimer = undefined;
    const startedAt = Date.now();
    // Standard input is the life line: it closes with us, whatever ends us, and the child ends with it.
    const started = spawn(spec.command, [...spec.args], { stdio: ['pipe', 'pipe', 'pipe'] });
    child = started;
    const stderr: string[] = [];
    const startTimer = setTimeout(() => started.kill('SIGKILL'), times.startMsMax);
    started.stdin.on('error', () => undefined); // a child that died early
    createInterface({ input: started.stderr }).on('line', (line) => {
      stderr.push(line);
      if (stderr.length > STDERR_LINES_MAX) stderr.shift();
    });
    let isOver = false;
    createInterface({ input: started.stdout }).on('line', (line) => {
      // Its last words may arrive after its end.
      if (isOver || current !== undefined) return;
      const ready = spec.handshake(line);
      if (ready === undefined) return;
      clearTimeout(startTimer);
      current = ready;
      failedStarts = 0;
      log.info('engine process ready', { engine: spec.name, pid: started.pid, ms: Date.now() - startedAt });
      beat(started, ready, 0);
      for (const waiter of waiters.splice(0)) waiter.resolve(ready);
    });
    const over = (how: Readonly<Record<string, unknown>>): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(startTimer);
      clearTimeout(heartbeatTimer);
      child = undefined;
      const wasReady = current;
      current = undefined;
      if (wasReady !== undefined) spec.onGone?.(wasReady);
      if (isStopping) return;
      failedStarts = wasReady === undefined ? failedStarts + 1 : 0;
      log.warn('engine process ended', {
        engine: spec.name,
        ...how,
        wasReady: wasReady !== undefined,
        stderr: stderr.join('\n'),
      });
      if (failedStarts >= FAILED_STARTS_MAX) for (const waiter of waiters.splice(0)) waiter.reject(unavailable());
      const backoffMs = Math.min(times.backoffMsMax, times.backoffMsMin * 2 ** failedStarts);
      restartTimer = setTimeout(start, backoffMs);
    };
    started.on('error', (error) => over({ error: error.message }));
    started.on('exit', (code, exitSignal) => over({ code, signal: exitSignal }));
  };

  const beat = (of: ChildProcess, ready: Ready, lost: number): void => {
    const { heartbeat } = spec;
    if (!heartbeat) return;
    heartbeatTimer = setTimeout(() => {
      heartbeat(ready).then(
        () => of === child && beat(of, ready, 0),
        () => {
          if (of !== child) return;
          if (lost + 1 < times.heartbeatsLostMax) return beat(of, ready, lost + 1);
          log.warn('engine process does not answer', { engine: spec.name, pid: of.pid });
          of.kill('SIGKILL');
        },
      );
    }, times.heartbeatMs);
    heartbeatTimer.unref();
  };

  const unavailable = (): ServiceError =>
    new ServiceError('overloaded', 'The engine of this model is not available at present.', { retryAfterSeconds: 5 });

  return {
    get state() {
      if (current !== undefined) return 'ready';
      if (failedStarts >= FAILED_STARTS_MAX) return 'failing';
      return child || restartTimer ? 'starting' : 'stopped';
    },
    get pid() {
      return child?.pid;
    },
    async ready(signal) {
      if (current !== undefined) return current;
      if (isStopping || failedStarts >= FAILED_STARTS_MAX) throw unavailable();
      if (!restartTimer) start();
      return await new Promise<Ready>((resolve, reject) => {
        const waiter = {
          resolve: (ready: Ready) => done(() => resolve(ready)),
          reject: (error: unknown) => done(() => reject(error)),
        };
        const timer = setTimeout(() => waiter.reject(unavailable()), times.waitMsMax);
        const onAbort = (): void => waiter.reject(signal && abortReason(signal));
        const done = (settle: () => void): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
          waiters = waiters.filter((other) => other !== waiter);
          settle();
        };
        waiters.push(waiter);
        signal?.addEventListener('abort', onAbort, { once: true });
        if (signal?.aborted) onAbort();
      });
    },
    async gone(ready) {
      const last = child;
      if (current !== ready || !last) return true;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, END_NOTICED_MS_MAX);
        last.once('exit', () => {
          clearTimeout(timer);
          resolve();
        });
      });
      return last.exitCode !== null || last.signalCode !== null;
    },
    async stop() {
      isStopping = true;
      clearTimeout(restartTimer);
      restartTimer = undefined;
      clearTimeout(heartbeatTimer);
      for (const waiter of waiters.splice(0)) waiter.reject(unavailable());
      const last = child;
      // Without a pid it could not be started, and will not end.
      if (last?.pid === undefined || last.exitCode !== null || last.signalCode !== null) return;
      const ended = new Promise<void>((resolve) => last.once('exit', () => resolve()));
      const killTimer = setTimeout(() => last.kill('SIGKILL'), times.stopMsMax);
      last.stdin?.end();
      last.kill('SIGTERM');
      await ended;
      clearTimeout(killTimer);
    },
  };
}
