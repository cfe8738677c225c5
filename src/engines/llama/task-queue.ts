import { assert } from '../../lib/assert.ts';
import { getAbortError } from '../get-abort-error.ts';
import { getWaitMsMax } from '../priority.ts';
import type { EngineOwner } from '../engine.ts';
import { createFairQueue } from '../fair-queue.ts';
import type { EngineRefusal } from './protocol.ts';
import { RefusalError } from './refusal-error.ts';

/** A part of a request's work. It may end early if `isCanceled` returns true; its result is then discarded. */
export type QueuedTask<T> = (isCanceled: () => boolean) => Promise<T>;

/** Runs short tasks one at a time, and alternates between the requests that they belong to. */
export interface TaskQueue {
  /**
   * Runs all tasks of a request and returns their results. Tasks of other requests may run between two of them.
   * @throws RefusalError if the queue is full or the first task waits too long; the signal's reason; any error of a
   *   task.
   */
  run<T>(owner: EngineOwner, tasks: readonly QueuedTask<T>[], signal: AbortSignal): Promise<readonly T[]>;
}

export interface TaskQueueOptions {
  readonly queueLengthMax: number;
  /** Longest wait of a live request from arrival to its first task, in ms. */
  readonly queueWaitMsMax: number;
}

/** Delay that clients are told to wait after a refusal for lack of capacity. Chosen by Parley. */
const RETRY_AFTER_SECONDS = 5;

/** Returns the failure and the message for a request that the full queue does not take. */
export const describeQueueRefusal = (
  verdict: 'full' | 'key-share',
  queueLengthMax: number,
): [EngineRefusal['kind'], string] =>
  verdict === 'full'
    ? ['queue-full', `the queue of the model is full (${queueLengthMax} requests)`]
    : ['key-share', 'this API key already has half of the queue'];

/** A request in the queue, with its remaining tasks. */
interface QueuedRequest {
  readonly owner: EngineOwner;
  /** Runs the next task. */
  runNextTask(): Promise<void>;
  /** Whether tasks remain after the next one. */
  hasMore(): boolean;
  fail(error: unknown): void;
}

/** Creates a queue that is fair between workspaces and keys; background requests run when no other request waits. */
export function createTaskQueue({ queueLengthMax, queueWaitMsMax }: TaskQueueOptions): TaskQueue {
  const queue = createFairQueue<QueuedRequest>({ lengthMax: queueLengthMax });
  let isRunning = false;

  const runQueue = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    for (let queued = queue.peek(); queued; queued = queue.peek()) {
      queue.take(queued);
      // The remaining tasks queue again at the end; the entry just taken has freed its own space.
      if (queued.hasMore()) queue.add(queued.owner, queued);
      try {
        await queued.runNextTask();
      } catch (error) {
        queue.remove(queued);
        queued.fail(error);
      }
    }
    isRunning = false;
  };

  return {
    run: <T>(owner: EngineOwner, tasks: readonly QueuedTask<T>[], signal: AbortSignal) =>
      new Promise<readonly T[]>((resolve, reject) => {
        const results: T[] = [];
        let isFinished = false;
        const finish = (settle: () => void): void => {
          isFinished = true;
          clearTimeout(waitTimer);
          signal.removeEventListener('abort', onAbort);
          settle();
        };
        const queued: QueuedRequest = {
          owner,
          hasMore: () => results.length + 1 < tasks.length,
          async runNextTask() {
            clearTimeout(waitTimer);
            const task = tasks[results.length];
            assert(task, 'a queued request has a task left');
            const result = await task(() => isFinished);
            if (isFinished) return;
            results.push(result);
            if (results.length === tasks.length) finish(() => resolve(results));
          },
          fail: (error) => finish(() => reject(error)),
        };
        const leave = (error: unknown): void => {
          queue.remove(queued);
          queued.fail(error);
        };
        const refuse = (kind: EngineRefusal['kind'], message: string): void =>
          leave(new RefusalError({ kind, message, retryAfterSeconds: RETRY_AFTER_SECONDS }));
        const onAbort = (): void => leave(getAbortError(signal));
        const waitMs = getWaitMsMax(owner, queueWaitMsMax);
        const waitTimer = setTimeout(
          () => refuse('queue-wait', `the request did not start within ${waitMs} ms`),
          waitMs,
        );
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) return onAbort();
        const result = queue.add(owner, queued);
        if (result !== 'added') return refuse(...describeQueueRefusal(result, queueLengthMax));
        void runQueue();
      }),
  };
}
