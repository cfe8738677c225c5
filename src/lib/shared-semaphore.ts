import { createSemaphore, type Semaphore } from './semaphore.ts';

/** A semaphore whose permits and queue are shared by holders, none of which can take all of them. */
export interface SharedSemaphore {
  /**
   * Waits for a permit. Holders wait for each other's permits only while each of them has at most its share.
   * @returns a function that releases the permit; only its first call has an effect.
   * @throws the signal's reason; the error of `createQueueFullError` when the queue, or the holder's half of it, is full.
   */
  acquire(holder: string, signal?: AbortSignal): Promise<() => void>;
}

export interface SharedSemaphoreOptions {
  readonly permits: number;
  /** Permits that one holder has at most. */
  readonly permitsPerHolder: number;
  /** Default: unbounded. */
  readonly queueLengthMax?: number;
  readonly createQueueFullError?: () => Error;
}

/** The permits of one holder, and how many of its tasks have one or wait. */
interface HolderShare {
  readonly semaphore: Semaphore;
  taskCount: number;
}

/**
 * Each holder has a semaphore of its own in front of the common one. So a holder has at most `permitsPerHolder` tasks in
 * the common queue, and a newcomer waits for as many tasks of each other holder.
 */
export function createSharedSemaphore(options: SharedSemaphoreOptions): SharedSemaphore {
  const { permits, permitsPerHolder, queueLengthMax = Infinity } = options;
  const { createQueueFullError = () => new Error('too many tasks wait for a permit') } = options;
  const common = createSemaphore({ permits });
  const shares = new Map<string, HolderShare>();
  const holderTasksMax = permitsPerHolder + Math.ceil(queueLengthMax / 2);
  let taskCount = 0;

  const findShare = (holder: string): HolderShare => {
    const share = shares.get(holder) ?? { semaphore: createSemaphore({ permits: permitsPerHolder }), taskCount: 0 };
    shares.set(holder, share);
    return share;
  };

  return {
    async acquire(holder, signal) {
      signal?.throwIfAborted();
      if (taskCount >= permits + queueLengthMax) throw createQueueFullError();
      const share = findShare(holder);
      if (share.taskCount >= holderTasksMax) throw createQueueFullError();
      taskCount += 1;
      share.taskCount += 1;
      const leave = (): void => {
        taskCount -= 1;
        share.taskCount -= 1;
        if (share.taskCount === 0) shares.delete(holder);
      };
      let releaseShare: (() => void) | undefined;
      try {
        releaseShare = await share.semaphore.acquire(signal);
        const releaseCommon = await common.acquire(signal);
        const release = releaseShare;
        let isReleased = false;
        return () => {
          if (isReleased) return;
          isReleased = true;
          releaseCommon();
          release();
          leave();
        };
      } catch (error) {
        releaseShare?.();
        leave();
        throw error;
      }
    },
  };
}
