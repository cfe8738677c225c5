import { createBoundedWorker, type BoundedWorkerOptions } from '../lib/bounded-worker.ts';
import { getAbortError } from './get-abort-error.ts';
import { getWaitMsMax } from './priority.ts';
import type { EngineOwner } from './engine.ts';
import { createFairQueue } from './fair-queue.ts';

/**
 * Thrown for a message that was not started: the queue is full, the key has its share of it, or the wait was too long.
 */
export class WorkerBusyError extends Error {
  override readonly name = 'WorkerBusyError';
  readonly reason: 'full' | 'key-share' | 'wait';

  constructor(reason: 'full' | 'key-share' | 'wait') {
    super(`the worker thread is busy: ${reason}`);
    this.reason = reason;
  }
}

export interface FairWorkerOptions extends BoundedWorkerOptions {
  /** Number of live messages that may wait; one key may hold half of them. */
  readonly queueLengthMax: number;
  /** Longest wait of a live message, in ms. */
  readonly queueWaitMsMax: number;
}

/** The client behind a message: its tenant, and its abort signal. */
export interface Caller {
  readonly owner: EngineOwner;
  /** An abort removes the message from the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** A worker thread with time and memory limits, and a fair queue of messages in front of it. */
export interface FairWorker<Message, Result> {
  /** @throws WorkerBusyError; WorkerLimitError; the signal's reason; Error if the thread failed. */
  run(message: Message, caller: Caller): Promise<Result>;
  close(): Promise<void>;
}

interface QueuedMessage<Message, Result> {
  readonly message: Message;
  readonly onStart: () => void;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export function createFairWorker<Message, Result>({
  queueLengthMax,
  queueWaitMsMax,
  ...bounds
}: FairWorkerOptions): FairWorker<Message, Result> {
  const worker = createBoundedWorker<Message, Result>(bounds);
  const queue = createFairQueue<QueuedMessage<Message, Result>>({ lengthMax: queueLengthMax });
  let isBusy = false;
  let isClosed = false;

  const startNext = (): void => {
    const first = isBusy ? undefined : queue.peek();
    if (!first) return;
    queue.take();
    isBusy = true;
    first.onStart();
    void worker
      .run(first.message)
      .then(first.resolve, first.reject)
      .finally(() => {
        isBusy = false;
        startNext();
      });
  };

  return {
    run: (message, { owner, signal }) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(getAbortError(signal));
        const onAbort = (): void => signal && queued.reject(getAbortError(signal));
        const timer = setTimeout(() => queued.reject(new WorkerBusyError('wait')), getWaitMsMax(owner, queueWaitMsMax));
        const cleanUp = (): void => {
          queue.remove(queued);
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
        };
        const queued: QueuedMessage<Message, Result> = {
          message,
          onStart: () => clearTimeout(timer),
          resolve(result) {
            cleanUp();
            resolve(result);
          },
          // Also called while the thread works on the message: the work continues, and its result is discarded.
          reject(error) {
            cleanUp();
            reject(error);
          },
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        const result = isClosed ? 'full' : queue.add(owner, queued);
        if (result === 'added') startNext();
        else queued.reject(new WorkerBusyError(result));
      }),
    async close() {
      isClosed = true;
      for (let queued = queue.peek(); queued; queued = queue.peek()) queued.reject(new WorkerBusyError('full'));
      await worker.close();
    },
  };
}
