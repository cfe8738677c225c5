import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ServiceError } from '../core/error.ts';
import { keepLastLines } from './last-lines.ts';
import { createWaitingCallers } from './waiting-callers.ts';

/** A program that we start, watch and start again. */
export interface ChildSpec<Ready> {
  /** For logs. */
  readonly name: string;
  /** What is to be started; asked before each start. */
  readonly launch: () => Launch<Ready> | Promise<Launch<Ready>>;
  /** Rejects when the child does not answer. */
  readonly heartbeat?: (ready: Ready) => Promise<void>;
  /** Frees what belongs to a child that was ready and is gone. */
  readonly onGone?: (ready: Ready) => void;
  /** Added to the log line of a child that is ready. */
  readonly factsOf?: (ready: Ready) => Readonly<Record<string, unknown>>;
}

/** One start of it. */
export interface Launch<Ready> {
  readonly command: string;
  readonly args: readonly string[];
  /** Written to its standard input, which stays open for as long as we live. */
  readonly input?: string;
  /** It leads a process group of its own: what ends all of ours leaves it the time to see our end. */
  readonly isDetached?: boolean;
  /** Reads a line of standard output; the first result is a child that has shown itself. */
  readonly handshake: (line: string) => Ready | undefined;
  /** Resolves when a child that has shown itself takes calls, and must heed the signal. Absent: it does so at once. */
  readonly welcome?: (ready: Ready, signal: AbortSignal) => Promise<void>;
  /** Frees what belongs to this start: after the end of its child, or where there never was one. */
  readonly onEnd?: (end: ChildEnd) => void;
  /** Texts that no log line may hold. */
  readonly hidden?: readonly string[];
}

export interface ChildEnd {
  readonly error?: string;
  readonly code?: number | null;
  readonly signal?: NodeJS.Signals | null;
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
  /** From start to ready. Beyond: the child is killed, and started again. */
  readonly startMsMax: number;
  /** How often a start that goes on is logged, with the child's last line. */
  readonly progressMs: number;
  /** A caller waits this long for a child that is starting. */
  readonly waitMsMax: number;
  readonly heartbeatMs: number;
  /** Heartbeats that may fail in a row. */
  readonly heartbeatsLostMax: number;
  /** From an end to the next start: twice as long with each end in a row. */
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  /** A child that was ready for so long ends such a row. */
  readonly steadyMs: number;
  /** From SIGTERM to SIGKILL. */
  readonly stopMsMax: number;
}

/** Ours. A native engine loads a large model in seconds; a wedged one is noticed within half a minute. */
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

/** After this many failed starts in a row callers are refused at once; starting goes on with backoff. */
const FAILED_STARTS_MAX = 3;

/** A broken connection is seen before the end of the process behind it, by far less than this, in ms. */
const END_NOTICED_MS_MAX = 2_000;

export function createSupervisor<Ready>(
  spec: ChildSpec<Ready>,
  log: SupervisorLog,
  ownTimes: Partial<SupervisorTimes> = {},
): Supervisor<Ready> {
  const times = { ...SUPERVISOR_TIMES, ...ownTimes };
  let launching: Promise<void> | undefined;
  let child: ChildProcess | undefined;
  let current: Ready | undefined;
  const callers = createWaitingCallers<Ready>({ waitMsMax: times.waitMsMax, refusal: unavailable });
  let failedStarts = 0;
  let endsInRow = 0;
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
      if (isStopping) return launch.onEnd?.({});
      try {
        run(launch);
      } catch (error) {
        launch.onEnd?.({});
        throw error;
      }
    } catch (error) {
      if (!isStopping) ended({ error: error instanceof Error ? error.message : String(error) }, undefined, []);
    }
  };

  const run = (launch: Launch<Ready>): void => {
    const startedAt = Date.now();
    const secondsSinceStart = (): number => Math.round((Date.now() - startedAt) / 1000);
    // Standard input is the life line: it closes with us, whatever ends us, and the child ends with it.
    const started = spawn(launch.command, [...launch.args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: launch.isDetached ?? false,
    });
    child = started;
    started.stdin.on('error', () => undefined); // a child that died early
    if (launch.input !== undefined) started.stdin.write(launch.input);
    const said = keepLastLines(started.stderr, launch.hidden);
    const startTimer = setTimeout(() => {
      log.warn('engine process not ready in time', {
        engine: spec.name,
        pid: started.pid,
        seconds: secondsSinceStart(),
      });
      started.kill('SIGKILL');
    }, times.startMsMax);
    const progressTimer = setInterval(() => {
      const facts = { engine: spec.name, pid: started.pid, seconds: secondsSinceStart(), line: said.all().at(-1) };
      log.info('engine process is starting', facts);
    }, times.progressMs);
    const settled = new AbortController();
    let hasShownItself = false;
    let isOver = false;
    let steadyTimer: NodeJS.Timeout | undefined;

    const welcome = (ready: Ready): void => {
      if (isOver) return;
      clearTimeout(startTimer);
      clearInterval(progressTimer);
      current = ready;
      failedStarts = 0;
      steadyTimer = setTimeout(() => (endsInRow = 0), times.steadyMs);
      steadyTimer.unref();
      const facts = { engine: spec.name, pid: started.pid, ms: Date.now() - startedAt, ...spec.factsOf?.(ready) };
      log.info('engine process ready', facts);
      beat(started, ready, 0);
      callers.admit(ready);
    };

    createInterface({ input: started.stdout }).on('line', (line) => {
      // Its last words may arrive after its end.
      if (isOver || hasShownItself) return;
      const ready = launch.handshake(line);
      if (ready === undefined) return;
      hasShownItself = true;
      if (!launch.welcome) return welcome(ready);
      launch.welcome(ready, settled.signal).then(
        () => welcome(ready),
        () => started.kill('SIGKILL'),
      );
    });

    const over = (end: ChildEnd): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(startTimer);
      clearInterval(progressTimer);
      clearTimeout(heartbeatTimer);
      clearTimeout(steadyTimer);
      settled.abort();
      child = undefined;
      const wasReady = current;
      current = undefined;
      if (wasReady !== undefined) spec.onGone?.(wasReady);
      launch.onEnd?.(end);
      if (!isStopping) ended(end, wasReady, said.all());
    };
    started.on('error', (error) => over({ error: error.message }));
    started.on('exit', (code, signal) => over({ code, signal }));
  };

  /** Tells of an end that nobody asked for, and plans the next start. */
  const ended = (end: ChildEnd, wasReady: Ready | undefined, lastLines: readonly string[]): void => {
    failedStarts = wasReady === undefined ? failedStarts + 1 : 0;
    log.warn('engine process ended', {
      engine: spec.name,
      ...end,
      wasReady: wasReady !== undefined,
      stderr: lastLines.join('\n'),
    });
    if (failedStarts >= FAILED_STARTS_MAX) callers.refuse();
    const backoffMs = Math.min(times.backoffMsMax, times.backoffMsMin * 2 ** endsInRow);
    endsInRow++;
    restartTimer = setTimeout(start, backoffMs);
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

  return {
    get state() {
      if (current !== undefined) return 'ready';
      if (failedStarts >= FAILED_STARTS_MAX) return 'failing';
      return child || launching || restartTimer ? 'starting' : 'stopped';
    },
    get pid() {
      return child?.pid;
    },
    async ready(signal) {
      if (current !== undefined) return current;
      if (isStopping || failedStarts >= FAILED_STARTS_MAX) throw unavailable();
      if (!restartTimer) start();
      return await callers.wait(signal);
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
      return current !== ready;
    },
    async stop() {
      isStopping = true;
      clearTimeout(restartTimer);
      restartTimer = undefined;
      clearTimeout(heartbeatTimer);
      callers.refuse();
      await launching;
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

const unavailable = (): ServiceError =>
  new ServiceError('overloaded', 'The engine of this model is not available at present.', { retryAfterSeconds: 5 });
