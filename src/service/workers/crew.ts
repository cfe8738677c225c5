import cluster from 'node:cluster';
import type { Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { errorCodec } from '../../core/error-codec.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { createMessageCalls } from '../../lib/message-calls.ts';
import type { Answers, MessageCalls } from '../../lib/message-calls.ts';
import type { MeterReading } from '../../telemetry/meter.ts';
import type { ListenAddress } from '../service.ts';
import type { PrimaryFunctions, WorkerFunctions, WorkerOrder } from './protocol.ts';

/** What the primary answers one worker, until that is gone. */
interface Attendance {
  readonly answers: Answers<PrimaryFunctions>;
  /** Hears what the worker has counted so far. */
  readonly take: (reading: MeterReading) => void;
  end(): void;
}

interface CrewNeeds {
  readonly size: number;
  readonly attend: () => Attendance;
  /** How long a worker that was told to drain may take, in ms. */
  readonly drainMsMax: number;
  /** How long a worker may say nothing, in ms; they report every second. Beyond: it hangs, and another one is started. */
  readonly silenceMsMax: number;
  readonly log: Log;
  readonly writeLogLines: (lines: string) => void;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** A worker that works. */
export interface Member extends Pick<Attendance, 'take'> {
  readonly calls: MessageCalls<WorkerFunctions>;
}

/** Workers that are started, and started again when they end by themselves. */
export interface Crew {
  /**
   * Resolves when all listen.
   * @param orderOf What a worker of this number is to do, also where it is started in the place of another.
   * @throws ServiceError of the first that cannot.
   */
  start(orderOf: (worker: number) => WorkerOrder): Promise<readonly ListenAddress[]>;
  /** Those that can be asked now. */
  members(): readonly Member[];
  /** Lets all drain; whoever takes too long is ended. */
  stop(): Promise<void>;
}

/** Ours, in ms: between the end of a worker and the start of the next in its place, doubled with each that ends soon. */
const BACKOFF_MS_MIN = 250;
const BACKOFF_MS_MAX = 30_000;

/** Ours, in ms: a worker that lived less has ended soon. */
const LIFE_MS_MIN = 10_000;

/** Ours: of so many looks in a row each must find it silent. One alone could come when this process itself had stopped. */
const SILENT_LOOKS = 6;

/** Ours, in ms: a worker starts in under a second where the processor is free. */
const BEGIN_MS_MAX = 60_000;

interface Launch {
  readonly orderOf: (worker: number) => WorkerOrder;
  /** How many in a row have ended soon in this one's place. */
  readonly endedSoon: number;
}

/**
 * Processes that answer requests. With a socket each they need nobody to accept for them; the runtime's cluster is their
 * parent because it also knows what to do where they must share one.
 */
export function createCrew(needs: CrewNeeds): Crew {
  const { size, attend, drainMsMax, silenceMsMax, log, writeLogLines, clock } = needs;
  const running = new Map<Worker, Member>();
  const restarts = new Set<NodeJS.Timeout>();
  let isStopping = false;

  const setUp = (): void =>
    cluster.setupPrimary({
      exec: fileURLToPath(new URL(`./worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)),
      args: [],
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Log lines pass here, so that lines of several processes stay whole on one stream.
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });

  const launch = async (number: number, { orderOf, endedSoon }: Launch): Promise<readonly ListenAddress[]> => {
    const startedAt = clock.monotonic();
    const worker = cluster.fork();
    const attendance = attend();
    const calls = createMessageCalls<WorkerFunctions, PrimaryFunctions>({
      // What cannot be sent any more is told by the worker's end.
      send: (message) => void worker.process.send?.(message, () => undefined),
      answers: attendance.answers,
      errors: errorCodec,
    });
    running.set(worker, { take: attendance.take, calls });
    const silence = createSilenceWatch(silenceMsMax, () => {
      log.warn('worker does not answer', { worker: number, pid: worker.process.pid });
      worker.process.kill('SIGKILL');
    });
    worker.on('message', (message) => {
      silence.heard();
      calls.receive(message);
    });
    worker.on('error', () => undefined); // `exit` follows
    if (worker.process.stderr) relayLines(worker.process.stderr, writeLogLines);
    worker.process.once('exit', (code, signal) => {
      running.delete(worker);
      silence.end();
      attendance.end();
      calls.end(new ServiceError('internal', `Worker ${number} has ended.`));
      if (isStopping) return;
      const lifeMs = clock.monotonic() - startedAt;
      const soon = lifeMs < LIFE_MS_MIN ? endedSoon + 1 : 1;
      log.warn('worker ended', { worker: number, pid: worker.process.pid, code, signal, lifeMs: Math.round(lifeMs) });
      const timer = setTimeout(
        () => {
          restarts.delete(timer);
          void relaunch(number, { orderOf, endedSoon: soon });
        },
        Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (soon - 1)),
      );
      restarts.add(timer);
    });
    const addresses = await calls
      .ask('begin', orderOf(number), AbortSignal.timeout(BEGIN_MS_MAX))
      .catch((error: unknown) => {
        // Its end is followed by the next try.
        worker.process.kill('SIGKILL');
        throw error;
      });
    const ms = Math.round(clock.monotonic() - startedAt);
    log.info('worker ready', { worker: number, pid: worker.process.pid, ms });
    silence.begin();
    return addresses;
  };

  const relaunch = async (number: number, order: Launch): Promise<void> => {
    try {
      await launch(number, order);
    } catch (error) {
      if (!isStopping) log.error('worker does not start', { worker: number, error });
    }
  };

  const end = async (worker: Worker, { calls }: Member): Promise<void> => {
    // Not its exit: its last lines come before this.
    const ended = once(worker.process, 'close');
    const timer = setTimeout(() => worker.process.kill('SIGKILL'), drainMsMax);
    await calls.ask('drain', null).catch(() => undefined); // it has ended while it was asked
    await ended;
    clearTimeout(timer);
  };

  return {
    async start(orderOf) {
      setUp();
      const numbers = Array.from({ length: size }, (_, at) => at + 1);
      const [addresses = []] = await Promise.all(numbers.map((number) => launch(number, { orderOf, endedSoon: 0 })));
      return addresses;
    },
    members: () => [...running.values()],
    async stop() {
      isStopping = true;
      for (const timer of restarts) clearTimeout(timer);
      await Promise.all([...running].map(([worker, member]) => end(worker, member)));
    },
  };
}

interface SilenceWatch {
  begin(): void;
  heard(): void;
  end(): void;
}

function createSilenceWatch(msMax: number, onSilent: () => void): SilenceWatch {
  let looks: NodeJS.Timeout | undefined;
  let silentLooks = 0;
  return {
    begin() {
      looks = setInterval(() => {
        if (++silentLooks >= SILENT_LOOKS) onSilent();
      }, msMax / SILENT_LOOKS);
    },
    heard: () => void (silentLooks = 0),
    end: () => clearInterval(looks),
  };
}

/** Whole lines, as many at a time as came: one by one each would cost more than its request's share of this process. */
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
