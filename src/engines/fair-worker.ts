import { createBoundedWorker } from '../lib/bounded-worker.ts';
import type { BoundedWorkerOptions } from '../lib/bounded-worker.ts';
import { abortReason } from './abort-reason.ts';
import { waitMsOf } from './priority.ts';
import type { EngineOwner } from './engine.ts';
import { createFairQueue } from './fair-queue.ts';

/** A message was not begun: no place, no place for this key, or not in time. */
export class WorkerBusyError extends Error {
  override readonly name = 'WorkerBusyError';
  readonly reason: 'full' | 'key-share' | 'wait';

  constructor(reason: 'full' | 'key-share' | 'wait') {
    super(`a thread is busy: ${reason}`);
    this.reason = reason;
  }
}

export interface FairWorkerOptions extends BoundedWorkerOptions {
  /** Live messages that may wait; a key has half of these places. */
  readonly placesMax: number;
  /** Of a live message. */
  readonly waitMsMax: number;
}

export interface Asker {
  readonly owner: EngineOwner;
  /** Its abort gives the place up. */
  readonly signal?: AbortSignal | undefined;
}

/** One thread with limits, and those who wait for it, served by turns of their owners. */
export interface FairWorker<Message, Result> {
  /** @throws WorkerBusyError, WorkerLimitError; the signal's reason; Error where the thread failed. */
  ask(message: Message, asker: Asker): Promise<Result>;
  close(): Promise<void>;
}

interface Waiting<Message, Result> {
  readonly message: Message;
  readonly begin: () => void;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export function createFairWorker<Message, Result>({
  placesMax,
  waitMsMax,
  ...bounds
}: FairWorkerOptions): FairWorker<Message, Result> {
  const worker = createBoundedWorker<Message, Result>(bounds);
  const queue = createFairQueue<Waiting<Message, Result>>({ placesMax });
  let isBusy = false;
  let isClosed = false;

  const next = (): void => {
    const first = isBusy ? undefined : queue.peek();
    if (!first) return;
    queue.take();
    isBusy = true;
    first.begin();
    void worker
      .ask(first.message)
      .then(first.resolve, first.reject)
      .finally(() => {
        isBusy = false;
        next();
      });
  };

  return {
    ask: (message, { owner, signal }) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(abortReason(signal));
        const onAbort = (): void => signal && waiting.reject(abortReason(signal));
        const timer = setTimeout(() => waiting.reject(new WorkerBusyError('wait')), waitMsOf(owner, waitMsMax));
        const over = (): void => {
          queue.remove(waiting);
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
        };
        const waiting: Waiting<Message, Result> = {
          message,
          begin: () => clearTimeout(timer),
          resolve(result) {
            over();
            resolve(result);
          },
          // Also where it is being worked on: the work goes on to its end, for nobody.
          reject(error) {
            over();
            reject(error);
          },
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        const verdict = isClosed ? 'full' : queue.add(owner, waiting);
        if (verdict === 'added') next();
        else waiting.reject(new WorkerBusyError(verdict));
      }),
    async close() {
      isClosed = true;
      for (let one = queue.peek(); one; one = queue.peek()) one.reject(new WorkerBusyError('full'));
      await worker.close();
    },
  };
}
