import { createQueuedSemaphore, type PermitRequest, type PermitWaiter } from './queued-semaphore.ts';
import { createSemaphore, type Semaphore } from './semaphore.ts';

/** A semaphore whose permits and queue are shared by holders, none of which can take all of them. */
export interface SharedSemaphore {
  /**
   * Waits for `count` permits at once, at most `permitsPerHolder`. Default: one. Holders wait for each other's permits only
   * while each of them has at most its share.
   * @returns a function that releases them; only its first call has an effect.
   * @throws the signal's reason; the error of `createQueueFullError` when the queue, or the holder's half of it, is full.
   */
  acquire(holder: string, signal?: AbortSignal, count?: number): Promise<() => void>;
}

export interface SharedSemaphoreOptions {
  readonly permits: number;
  /** Permits that one holder has at most. */
  readonly permitsPerHolder: number;
  /**
   * Keeps `permits` of all for holders that then have at most `permitsPerHolder` of them, so that a few other holders never
   * have all. Such holders are also served first. Default: no reserve.
   */
  readonly reserve?: { readonly permits: number; readonly permitsPerHolder: number } | undefined;
  /** Tasks that wait. Default: unbounded. */
  readonly queueLengthMax?: number;
  /** @param isShare Whether only the holder's half of the queue is full. */
  readonly createQueueFullError?: (isShare: boolean) => Error;
}

/** The permits of one holder, how many it has of the common ones, how many of its tasks have one or wait, and how many wait. */
interface HolderShare {
  readonly semaphore: Semaphore;
  takenCount: number;
  taskCount: number;
  waitingCount: number;
}

interface HolderRequest extends PermitRequest {
  readonly share: HolderShare;
}

/**
 * Each holder has a semaphore of its own in front of the common one. So a holder has tasks for at most `permitsPerHolder`
 * permits in the common queue, and a newcomer waits for as many permits of each other holder.
 */
export function createSharedSemaphore(options: SharedSemaphoreOptions): SharedSemaphore {
  const { permits, permitsPerHolder, reserve, queueLengthMax = Infinity } = options;
  const { createQueueFullError = () => new Error('too many tasks wait for a permit') } = options;
  const waiting = new Set<PermitWaiter<HolderRequest>>();
  const canUseReserve = ({ share, count }: HolderRequest): boolean =>
    reserve === undefined || share.takenCount + count <= reserve.permitsPerHolder;
  const findReserveUser = (): PermitWaiter<HolderRequest> | undefined =>
    [...waiting].find(({ request }) => canUseReserve(request));
  const common = createQueuedSemaphore<HolderRequest>({
    canAcquire: (request, taken) =>
      taken + request.count <= permits - (canUseReserve(request) ? 0 : (reserve?.permits ?? 0)),
    onTakenChange({ share }, change) {
      share.takenCount += change;
    },
    queue: {
      add: (waiter) => void waiting.add(waiter),
      wouldBeFirst: (request) => waiting.size === 0 || (canUseReserve(request) && !findReserveUser()),
      peek: () => findReserveUser() ?? waiting.values().next().value,
      take: (waiter) => void waiting.delete(waiter),
      remove: (waiter) => void waiting.delete(waiter),
    },
  });
  const shares = new Map<string, HolderShare>();
  const waitingPerHolderMax = Math.ceil(queueLengthMax / 2);
  let waitingCount = 0;

  const findShare = (holder: string): HolderShare => {
    const share = shares.get(holder) ?? {
      semaphore: createSemaphore({ permits: permitsPerHolder }),
      takenCount: 0,
      taskCount: 0,
      waitingCount: 0,
    };
    shares.set(holder, share);
    return share;
  };

  /** Returns undefined if the task would have to wait for permits of its holder or of all. */
  const tryAcquire = (share: HolderShare, count: number): (() => void) | undefined => {
    const releaseShare = share.semaphore.tryAcquire(count);
    const releaseCommon = releaseShare && common.tryAcquire({ share, count });
    if (!releaseCommon) {
      releaseShare?.();
      return undefined;
    }
    return () => {
      releaseCommon();
      releaseShare();
    };
  };

  const wait = async (share: HolderShare, count: number, signal?: AbortSignal): Promise<() => void> => {
    if (waitingCount >= queueLengthMax) throw createQueueFullError(false);
    if (share.waitingCount >= waitingPerHolderMax) throw createQueueFullError(true);
    waitingCount += 1;
    share.waitingCount += 1;
    let releaseShare: (() => void) | undefined;
    try {
      releaseShare = await share.semaphore.acquire(signal, count);
      const releaseCommon = await common.acquire({ share, count }, signal);
      const release = releaseShare;
      return () => {
        releaseCommon();
        release();
      };
    } catch (error) {
      releaseShare?.();
      throw error;
    } finally {
      waitingCount -= 1;
      share.waitingCount -= 1;
    }
  };

  return {
    async acquire(holder, signal, count = 1) {
      signal?.throwIfAborted();
      const share = findShare(holder);
      share.taskCount += 1;
      const leave = (): void => {
        share.taskCount -= 1;
        if (share.taskCount === 0) shares.delete(holder);
      };
      try {
        const release = tryAcquire(share, count) ?? (await wait(share, count, signal));
        let isReleased = false;
        return () => {
          if (isReleased) return;
          isReleased = true;
          release();
          leave();
        };
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}
