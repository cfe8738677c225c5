import { ServiceError } from '../core/error.ts';
import { QUEUE_LENGTH_MAX, QUEUE_WAIT_MS_MAX, RETRY_AFTER_SECONDS } from '../core/limits.ts';
import { createFairSemaphore, type RefusalReason } from '../engines/fair-semaphore.ts';
import { toEngineOwner } from '../generation/engine-owner.ts';
import type { AcquireParseSlot } from '../http/run-endpoint.ts';
import type { Clock } from '../lib/clock.ts';

export interface ParseSlotOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Calls a function when the event loop has run everything that is due. Default: `setImmediate`. */
  readonly afterPendingWork?: (callback: () => void) => void;
  /** Default: `setTimeout`. */
  readonly startTimer?: (callback: () => void, ms: number) => void;
}

/**
 * Lets large bodies be parsed and checked one at a time, fairly between workspaces and keys. That work blocks the event
 * loop. After each body, the loop is left to other requests for as long as the body took, so that even many large
 * bodies take half of it at most.
 */
export function createParseSlots({
  clock,
  afterPendingWork = (callback) => void setImmediate(callback),
  startTimer = (callback, ms) => void setTimeout(callback, ms).unref(),
}: ParseSlotOptions): AcquireParseSlot {
  let isPausing = false;
  const semaphore = createFairSemaphore({
    canAcquire: ({ taken }) => taken === 0 && !isPausing,
    queueLengthMax: QUEUE_LENGTH_MAX,
    queueWaitMsMax: QUEUE_WAIT_MS_MAX,
    createRefusal,
  });

  return async (owner, signal) => {
    const release = await semaphore.acquire(1, { owner: toEngineOwner({ owner }), signal });
    const startedAt = clock.monotonic();
    const pause = (): void => {
      isPausing = true;
      release();
      startTimer(() => {
        isPausing = false;
        semaphore.recheck();
      }, clock.monotonic() - startedAt);
    };
    // The endpoint converts the body and renders the prompt before it waits for anything.
    return () => afterPendingWork(pause);
  };
}

const createRefusal = (reason: RefusalReason): ServiceError =>
  new ServiceError(reason === 'key-share' ? 'rate-limited' : 'overloaded', REFUSAL_MESSAGES[reason], {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const REFUSAL_MESSAGES: Readonly<Record<RefusalReason, string>> = {
  full: 'Too many large request bodies are waiting to be parsed. Please try again later.',
  'key-share':
    'Too many large request bodies of this API key are waiting to be parsed. Send fewer of them at the same time.',
  wait: 'The request body waited too long to be parsed. Please try again later.',
};
