import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { assert } from './assert.ts';
import { getOtherThreadsCpuMs } from './cpu-time.ts';
import { getErrorCode } from './error-code.ts';

/** Messages of the thread: any number of `started`, then `done` or `failed`. */
export type WorkerResponse<Result> =
  | { readonly type: 'started'; readonly part: number }
  | { readonly type: 'done'; readonly result: Result }
  | { readonly type: 'failed'; readonly message: string };

/** A message exceeded the limit of time or memory. `part` is the part of the message that the thread was processing. */
export class WorkerLimitError extends Error {
  override readonly name = 'WorkerLimitError';
  readonly limit: 'time' | 'memory';
  readonly part: number;

  constructor(limit: 'time' | 'memory', part: number) {
    super(`a worker thread exceeded its limit of ${limit}`);
    this.limit = limit;
    this.part = part;
  }
}

export interface BoundedWorker<Message, Result> {
  /** Processes one message; only one may be pending. @throws WorkerLimitError, or Error when the thread failed. */
  run(message: Message): Promise<Result>;
  close(): Promise<void>;
}

export interface BoundedWorkerOptions {
  /** Name of the thread in diagnostic tools. */
  readonly name: string;
  /** File that the thread runs. */
  readonly entryUrl: URL;
  /** Limit in ms, counted from the message `started` with part 0, so that the start of the thread does not count. */
  readonly msMax: number;
  readonly heapMb: number;
  /** Returns the CPU time of the other threads of the process, in ms. Replaced in tests. */
  readonly getCpuMs?: () => number;
}

/** Parley's choice: enough for recursion over values of the maximum JSON depth, with a reserve. */
const STACK_MB = 8;

/** Parley's choice: how often a thread that was suspended or starved gets another `msMax`. Beyond: it fails. */
const EXTENSIONS_MAX = 15;

interface PendingRequest<Result> {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
  /** Part that is being processed. Undefined until the thread reports its start. */
  part: number | undefined;
  cpuStartMs: number;
  extensions: number;
}

/**
 * Runs work in a thread with limits of time and memory. A thread that exceeds a limit is terminated, and the next
 * message starts another one. The first thread starts with the first message: a start takes 0.2 s and 20 to 40 MB,
 * which many processes never need.
 */
export function createBoundedWorker<Message, Result>({
  name,
  entryUrl,
  msMax,
  heapMb,
  getCpuMs = getOtherThreadsCpuMs,
}: BoundedWorkerOptions): BoundedWorker<Message, Result> {
  let worker: Worker | undefined;
  let pending: PendingRequest<Result> | undefined;

  const settlePending = (settle: (one: PendingRequest<Result>) => void): void => {
    const one = pending;
    pending = undefined;
    worker?.unref();
    if (!one) return;
    clearTimeout(one.timer);
    settle(one);
  };

  /** Terminates the thread and rejects the pending request. */
  const discardWorker = (error: unknown): Promise<unknown> => {
    const gone = worker;
    worker = undefined;
    settlePending(({ reject }) => reject(error));
    return Promise.resolve(gone?.terminate());
  };

  const limitError = (limit: 'time' | 'memory'): WorkerLimitError => new WorkerLimitError(limit, pending?.part ?? 0);

  const restartTimer = (one: PendingRequest<Result>): void => {
    one.timer.refresh();
    one.cpuStartMs = getCpuMs();
    one.extensions = 0;
  };

  /**
   * Rejects the request only when the thread used enough CPU time; a thread that was not scheduled gets an extension.
   */
  const onTimeout = (): void => {
    if (!pending) return;
    const hasRun = pending.part !== undefined && getCpuMs() - pending.cpuStartMs > msMax / 2;
    if (hasRun) return void discardWorker(limitError('time'));
    pending.extensions++;
    if (pending.extensions === EXTENSIONS_MAX)
      return void discardWorker(new Error(`the thread ${name} gets no CPU time`));
    pending.timer.refresh();
  };

  const onMessage = (answer: WorkerResponse<Result>): void => {
    switch (answer.type) {
      case 'started':
        if (!pending) return;
        pending.part = answer.part;
        if (answer.part === 0) restartTimer(pending);
        return;
      case 'done':
        return settlePending(({ resolve }) => resolve(answer.result));
      case 'failed':
        return settlePending(({ reject }) => reject(new Error(answer.message)));
    }
  };

  const start = (): Worker => {
    const started = new Worker(fileURLToPath(entryUrl), {
      name,
      resourceLimits: { maxOldGenerationSizeMb: heapMb, stackSizeMb: STACK_MB },
    });
    // An idle thread must not keep the process alive.
    started.unref();
    started.on('message', (answer: WorkerResponse<Result>) => started === worker && onMessage(answer));
    started.on('error', (error) => {
      if (started === worker) void discardWorker(isOutOfMemory(error) ? limitError('memory') : error);
    });
    started.on('exit', () => {
      if (started === worker) void discardWorker(new Error(`the thread ${name} exited`));
    });
    return started;
  };

  return {
    run: (message) =>
      new Promise((resolve, reject) => {
        assert(!pending, 'a bounded worker processes one message at a time');
        pending = {
          resolve,
          reject,
          timer: setTimeout(onTimeout, msMax),
          part: undefined,
          cpuStartMs: getCpuMs(),
          extensions: 0,
        };
        worker ??= start();
        worker.ref();
        worker.postMessage(message);
      }),
    async close() {
      await discardWorker(new Error(`the thread ${name} was closed`));
    },
  };
}

const isOutOfMemory = (error: unknown): boolean => getErrorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY';
