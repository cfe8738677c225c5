import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { assert } from './assert.ts';
import { otherThreadsCpuMs } from './cpu-time.ts';

/** What the thread answers to a message: how far it is, as often as it likes, then one of the others. */
export type WorkerAnswer<Result> =
  | { readonly type: 'begun'; readonly part: number }
  | { readonly type: 'done'; readonly result: Result }
  | { readonly type: 'fault'; readonly message: string };

/** A message that took too much time or memory; `part` is what the thread was at. */
export class WorkerLimitError extends Error {
  override readonly name = 'WorkerLimitError';
  readonly limit: 'time' | 'memory';
  readonly part: number;

  constructor(limit: 'time' | 'memory', part: number) {
    super(`a thread took too much ${limit}`);
    this.limit = limit;
    this.part = part;
  }
}

export interface BoundedWorker<Message, Result> {
  /** One message at a time. @throws WorkerLimitError, or Error where the thread failed. */
  ask(message: Message): Promise<Result>;
  close(): Promise<void>;
}

export interface BoundedWorkerOptions {
  /** For people who look at threads. */
  readonly name: string;
  /** The thread's main file. */
  readonly main: URL;
  /** From `begun` of part 0: the thread's own start is nobody's fault. */
  readonly msMax: number;
  readonly heapMb: number;
  /** Processor time of the process's other threads; a test may have another. */
  readonly cpuMs?: () => number;
}

/** Ours: of values as deep as JSON may be, with room. */
const STACK_MB = 8;

/** Ours: a thread that was stopped, or starved by others, gets its time so many times over. */
const ROUNDS_MAX = 15;

interface Asked<Result> {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
  /** Undefined until the thread has begun. */
  part: number | undefined;
  cpuFrom: number;
  rounds: number;
}

/**
 * Work in a thread, within limits of time and memory: beyond them the thread is ended, and the next message gets another.
 * It starts with the first message: 0.2 s and 20 to 40 MB, which many processes never need.
 */
export function createBoundedWorker<Message, Result>({
  name,
  main,
  msMax,
  heapMb,
  cpuMs = otherThreadsCpuMs,
}: BoundedWorkerOptions): BoundedWorker<Message, Result> {
  let worker: Worker | undefined;
  let asked: Asked<Result> | undefined;

  const over = (settle: (one: Asked<Result>) => void): void => {
    const one = asked;
    asked = undefined;
    worker?.unref();
    if (!one) return;
    clearTimeout(one.timer);
    settle(one);
  };

  /** The thread is of no use any more. */
  const giveUp = (error: unknown): Promise<unknown> => {
    const gone = worker;
    worker = undefined;
    over(({ reject }) => reject(error));
    return Promise.resolve(gone?.terminate());
  };

  const limitError = (limit: 'time' | 'memory'): WorkerLimitError => new WorkerLimitError(limit, asked?.part ?? 0);

  const beginTime = (one: Asked<Result>): void => {
    one.timer.refresh();
    one.cpuFrom = cpuMs();
    one.rounds = 0;
  };

  /** The time is over; what did not run in it is not to blame. */
  const onTime = (): void => {
    if (!asked) return;
    const hasRun = asked.part !== undefined && cpuMs() - asked.cpuFrom > msMax / 2;
    if (hasRun) return void giveUp(limitError('time'));
    asked.rounds++;
    if (asked.rounds === ROUNDS_MAX) return void giveUp(new Error(`the thread ${name} does not come to its work`));
    asked.timer.refresh();
  };

  const hear = (answer: WorkerAnswer<Result>): void => {
    switch (answer.type) {
      case 'begun':
        if (!asked) return;
        asked.part = answer.part;
        if (answer.part === 0) beginTime(asked);
        return;
      case 'done':
        return over(({ resolve }) => resolve(answer.result));
      case 'fault':
        return over(({ reject }) => reject(new Error(answer.message)));
    }
  };

  const start = (): Worker => {
    const started = new Worker(fileURLToPath(main), {
      name,
      resourceLimits: { maxOldGenerationSizeMb: heapMb, stackSizeMb: STACK_MB },
    });
    // A thread that nobody waits for keeps no process alive.
    started.unref();
    started.on('message', (answer: WorkerAnswer<Result>) => started === worker && hear(answer));
    started.on('error', (error) => {
      if (started === worker) void giveUp(isOutOfMemory(error) ? limitError('memory') : error);
    });
    started.on('exit', () => {
      if (started === worker) void giveUp(new Error(`the thread ${name} has ended`));
    });
    return started;
  };

  return {
    ask: (message) =>
      new Promise((resolve, reject) => {
        assert(!asked, 'a thread is asked one thing at a time');
        asked = { resolve, reject, timer: setTimeout(onTime, msMax), part: undefined, cpuFrom: cpuMs(), rounds: 0 };
        worker ??= start();
        worker.ref();
        worker.postMessage(message);
      }),
    async close() {
      await giveUp(new Error(`the thread ${name} was closed`));
    },
  };
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
