import type { Owner } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import { RETRY_AFTER_SECONDS } from '../core/limits.ts';
import { createTimedAbort } from '../lib/linked-abort.ts';
import { createSharedSemaphore } from '../lib/shared-semaphore.ts';
import type { Call } from './call.ts';
import type { HttpLimits } from './http-limits.ts';
import { BODIES_RESERVE_SHARE } from './limits.ts';

/**
 * The memory that large request bodies and websocket messages may take until they are parsed, of all workspaces and of
 * each. A body gets all of its memory before it is read, so that each body that has started to arrive can be completed. A
 * part of the memory is left to workspaces that have one body at most, so that a few others cannot take all.
 */
export interface BodyBudget {
  open(call: Call): BodyReservation;
  /**
   * Waits for memory of a websocket message.
   * @returns a function that releases it.
   * @throws like `BodyReservation.reserve`.
   */
  acquire(owner: Owner | undefined, bytes: number, signal: AbortSignal): Promise<() => void>;
}

/** The memory for the body of one request. */
export interface BodyReservation {
  /**
   * Waits until the body may take `bytes`, while the client need not send anything. Called once at most.
   * @throws ServiceError `overloaded` if too many bodies wait or the wait is too long, `rate-limited` if too many of the
   *   workspace wait; the reason of the call's abort.
   */
  reserve(bytes: number): Promise<void>;
  /** Returns the memory, also if `reserve` still waits for it. */
  release(): void;
}

export function createBodyBudget(limits: HttpLimits): BodyBudget {
  const permitsPerHolder = limits.workspaceBodiesBytesMax;
  const semaphore = createSharedSemaphore({
    permits: limits.bodiesBytesMax,
    permitsPerHolder,
    reserve: {
      permits: Math.floor(limits.bodiesBytesMax * BODIES_RESERVE_SHARE),
      permitsPerHolder: Math.min(limits.bodyBytesMax, permitsPerHolder),
    },
    queueLengthMax: limits.bodiesWaitingMax,
    createQueueFullError: (isShare) => (isShare ? createShareError() : createBusyError(FULL_MESSAGE)),
  });
  /** A body above the share, which the configuration may allow, takes all of the share. */
  const acquire: BodyBudget['acquire'] = async (owner, bytes, signal) => {
    const wait = createTimedAbort(signal, limits.bodyWaitMs, () => createBusyError(WAIT_MESSAGE));
    const holder = `${owner?.region}/${owner?.workspace}`;
    return semaphore.acquire(holder, wait.signal, Math.min(bytes, permitsPerHolder)).finally(wait.unlink);
  };

  return {
    acquire,
    open(call) {
      let acquired: Promise<() => void> | undefined;
      return {
        async reserve(bytes) {
          acquired = acquire(call.owner, bytes, call.getResponseSignal());
          call.receiveTimeout.pause();
          try {
            await acquired;
          } finally {
            call.receiveTimeout.start(limits.requestReceiveMs);
          }
        },
        release() {
          void acquired?.then(
            (release) => release(),
            () => undefined,
          );
        },
      };
    },
  };
}

const FULL_MESSAGE = 'Too many requests with large bodies are waiting.';
const WAIT_MESSAGE = 'The request waited too long for memory to receive its body.';

const createBusyError = (message: string): ServiceError =>
  new ServiceError('overloaded', `${message} Please try again later.`, { retryAfterSeconds: RETRY_AFTER_SECONDS });

const createShareError = (): ServiceError =>
  new ServiceError(
    'rate-limited',
    'Too many requests of this workspace with large bodies are waiting. Send fewer of them at the same time.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
