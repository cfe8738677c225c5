import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { errorCodec } from '../../core/error-codec.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { createRpcPeer, type RpcHandlers, type RpcPeer } from '../../lib/rpc-peer.ts';
import { createSilenceTimer } from '../../lib/silence-timer.ts';
import type { MeterSnapshot } from '../../telemetry/meter.ts';
import type { ListenAddress } from '../service.ts';
import type { PrimaryFunctions, WorkerFunctions, StartWorkerCommand } from './protocol.ts';

/** State that the primary keeps for one worker until the worker exits. */
interface WorkerConnection {
  readonly handlers: RpcHandlers<PrimaryFunctions>;
  /** Stores the latest metrics of the worker. */
  readonly recordReading: (reading: MeterSnapshot) => void;
  close(): void;
}

interface WorkerPoolDeps {
  readonly size: number;
  readonly connect: () => WorkerConnection;
  /** Time limit for a worker to drain, in ms. */
  readonly drainMsMax: number;
  /** Time without a message after which a worker counts as hanging and is replaced, in ms. Workers report every second. */
  readonly silenceMsMax: number;
  readonly log: Log;
  readonly writeLogLines: (lines: string) => void;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** A running worker. */
export interface WorkerHandle extends Pick<WorkerConnection, 'recordReading'> {
  readonly calls: RpcPeer<WorkerFunctions>;
}

/** Worker processes that are restarted when they exit unexpectedly. */
export interface WorkerPool {
  /**
   * Starts all workers and resolves when all listen.
   * @param createCommand Creates the start command of the worker with this number; called again for each restart.
   * @throws ServiceError of the first worker that fails to start.
   */
  start(createCommand: (worker: number) => StartWorkerCommand): Promise<readonly ListenAddress[]>;
  /** Lists the workers that can take calls now. */
  listWorkers(): readonly WorkerHandle[];
  /** Drains all workers and kills those that exceed the time limit. */
  stop(): Promise<void>;
}

/** Delay before a worker that exited early is restarted, in ms. It doubles with each further one of that number. */
const BACKOFF_MS_MIN = 250;
const BACKOFF_MS_MAX = 30_000;

/** A worker that exits sooner than this has exited early, in ms. */
const STABLE_LIFETIME_MS = 10_000;

/** Time limit for a worker to start, in ms. It takes less than a second on an idle machine. */
const START_TIMEOUT_MS = 60_000;

interface LaunchOptions {
  readonly createCommand: (worker: number) => StartWorkerCommand;
  /** Number of early exits in a row of workers with this number. */
  readonly quickExits: number;
}

/**
 * Creates the pool of processes that answer requests. Workers listen on their own sockets where the system supports that. The
 * pool uses `node:cluster`, which also hands connections to workers where they must share one socket.
 */
export function createWorkerPool(deps: WorkerPoolDeps): WorkerPool {
  const { size, connect, drainMsMax, silenceMsMax, log, writeLogLines, clock } = deps;
  const running = new Map<Worker, WorkerHandle>();
  const restarts = new Set<NodeJS.Timeout>();
  let isStopping = false;

  const setUpCluster = (): void =>
    cluster.setupPrimary({
      exec: fileURLToPath(new URL(`../../worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)),
      args: [],
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // The primary relays log lines, so that lines of several processes are not mixed on one stream.
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });

  const launch = async (
    number: number,
    { createCommand, quickExits }: LaunchOptions,
  ): Promise<readonly ListenAddress[]> => {
    const startedAt = clock.monotonic();
    const worker = cluster.fork();
    const connection = connect();
    const calls = createRpcPeer<WorkerFunctions, PrimaryFunctions>({
      // A failed send needs no handling: the exit of the worker closes all calls.
      send: (message) => void worker.process.send?.(message, () => undefined),
      handlers: connection.handlers,
      errors: errorCodec,
    });
    running.set(worker, { recordReading: connection.recordReading, calls });
    const silenceTimer = createSilenceTimer(silenceMsMax, () => {
      log.warn('worker not responding; killing it', { worker: number, pid: worker.process.pid });
      worker.process.kill('SIGKILL');
    });
    worker.on('message', (message) => {
      silenceTimer.reset();
      calls.receive(message);
    });
    worker.on('error', () => undefined); // `exit` follows
    if (worker.process.stderr) relayLines(worker.process.stderr, writeLogLines);
    worker.process.once('exit', (code, signal) => {
      running.delete(worker);
      silenceTimer.stop();
      connection.close();
      calls.close(new ServiceError('internal', `Worker ${number} has exited.`));
      if (isStopping) return;
      const lifeMs = clock.monotonic() - startedAt;
      const nextQuickExits = lifeMs < STABLE_LIFETIME_MS ? quickExits + 1 : 0;
      log.warn('worker exited', { worker: number, pid: worker.process.pid, code, signal, lifeMs: Math.round(lifeMs) });
      const timer = setTimeout(
        () => {
          restarts.delete(timer);
          void relaunch(number, { createCommand, quickExits: nextQuickExits });
        },
        // A worker that ran is replaced at once.
        nextQuickExits === 0 ? 0 : Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (nextQuickExits - 1)),
      );
      restarts.add(timer);
    });
    const addresses = await calls
      .call('start', createCommand(number), AbortSignal.timeout(START_TIMEOUT_MS))
      .catch((error: unknown) => {
        // The exit handler schedules the next attempt.
        worker.process.kill('SIGKILL');
        throw error;
      });
    const ms = Math.round(clock.monotonic() - startedAt);
    log.info('worker ready', { worker: number, pid: worker.process.pid, ms });
    silenceTimer.start();
    return addresses;
  };

  const relaunch = async (number: number, options: LaunchOptions): Promise<void> => {
    try {
      await launch(number, options);
    } catch (error) {
      if (!isStopping) log.error('worker failed to start', { worker: number, error });
    }
  };

  const drainWorker = async (worker: Worker, { calls }: WorkerHandle): Promise<void> => {
    // `close` and not `exit`: the last log lines arrive before it.
    const closed = once(worker.process, 'close');
    const timer = setTimeout(() => worker.process.kill('SIGKILL'), drainMsMax);
    await calls.call('drain', null).catch(() => undefined); // the worker has exited meanwhile
    await closed;
    clearTimeout(timer);
  };

  return {
    async start(createCommand) {
      setUpCluster();
      const numbers = Array.from({ length: size }, (_, index) => index + 1);
      const [addresses = []] = await Promise.all(
        numbers.map((number) => launch(number, { createCommand, quickExits: 0 })),
      );
      return addresses;
    },
    listWorkers: () => [...running.values()],
    async stop() {
      isStopping = true;
      for (const timer of restarts) clearTimeout(timer);
      await Promise.all([...running].map(([worker, handle]) => drainWorker(worker, handle)));
    },
  };
}

/** Relays complete lines, as many at once as have arrived: single writes would cost the primary too much per request. */
function relayLines(stream: Readable, write: (lines: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const text = rest + chunk;
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    if (end > 0) write(text.slice(0, end));
  });
  stream.on('end', () => rest !== '' && write(`${rest}\n`));
}
