import { createBoundedWorker, type BoundedWorkerOptions } from '../lib/bounded-worker.ts';
import { raceWithAbort } from '../lib/race-with-abort.ts';
import { getAbortError } from './get-abort-error.ts';
import type { EngineOwner } from './engine.ts';
import { createFairSemaphore, type RefusalReason } from './fair-semaphore.ts';

/**
 * Thrown for a message that was not started: the queue is full, the key has its share of it, or the wait was too long.
 */
export class WorkerBusyError extends Error {
  override readonly name = 'WorkerBusyError';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason) {
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

export function createFairWorker<Message, Result>({
  queueLengthMax,
  queueWaitMsMax,
  ...bounds
}: FairWorkerOptions): FairWorker<Message, Result> {
  const worker = createBoundedWorker<Message, Result>(bounds);
  const semaphore = createFairSemaphore({
    canAcquire: ({ taken }) => taken === 0,
    queueLengthMax,
    queueWaitMsMax,
    createRefusal: (reason) => new WorkerBusyError(reason),
  });
  let isClosed = false;
  return {
    async run(message, { owner, signal = new AbortController().signal }) {
      const release = await semaphore.acquire(1, { owner, signal });
      if (isClosed) {
        release();
        throw new WorkerBusyError('full');
      }
      // After an abort, the thread finishes the message, and its result is discarded.
      return await raceWithAbort(worker.run(message).finally(release), signal, getAbortError);
    },
    async close() {
      isClosed = true;
      await worker.close();
    },
  };
}
