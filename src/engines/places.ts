import { ServiceError } from '../core/error.ts';
import { RETRY_AFTER_SECONDS } from '../core/limits.ts';
import { abortReason } from './abort-reason.ts';
import { waitMsOf } from './priority.ts';
import type { EngineOwner } from './engine.ts';
import { createFairQueue } from './fair-queue.ts';

/**
 * What a server can work on at a time, given out in turn by workspace, then by key, then by arrival, to background requests
 * when no live one waits.
 */
export interface Places {
  /**
   * So many places, all at once. @returns what gives them back, of which the first call counts.
   * @throws ServiceError `overloaded` when too many wait, or for too long; `rate-limited` for a key's own share; the
   * signal's reason.
   */
  take(count: number, asker: { readonly owner: EngineOwner; readonly signal: AbortSignal }): Promise<() => void>;
  /** What `fits` goes by has changed otherwise than by places that came back. */
  look(): void;
}

export interface PlacesOptions {
  /** Whether this one, whose turn it is, gets its places now. @param taken Places of others. */
  readonly fits: (wanted: { readonly count: number; readonly owner: EngineOwner; readonly taken: number }) => boolean;
  readonly queuePlacesMax: number;
  /** Of a live request. */
  readonly queueWaitMsMax: number;
}

interface Waiting {
  readonly count: number;
  readonly owner: EngineOwner;
  readonly begin: () => void;
}

export function createPlaces({ fits, queuePlacesMax, queueWaitMsMax }: PlacesOptions): Places {
  const queue = createFairQueue<Waiting>({ placesMax: queuePlacesMax });
  let taken = 0;

  const admit = (): void => {
    // Strictly in turn: who wants several places would else wait for ever.
    for (let first = queue.peek(); first && fits({ ...first, taken }); first = queue.peek()) {
      queue.take();
      taken += first.count;
      first.begin();
    }
  };

  const freeing = (count: number): (() => void) => {
    let isFree = false;
    return () => {
      if (isFree) return;
      isFree = true;
      taken -= count;
      admit();
    };
  };

  return {
    take: (count, { owner, signal }) =>
      new Promise((resolve, reject) => {
        const settle = (how: () => void): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          how();
        };
        const waiting: Waiting = { count, owner, begin: () => settle(() => resolve(freeing(count))) };
        const leave = (error: ServiceError): void => {
          queue.remove(waiting);
          settle(() => reject(error));
          // Behind it there may be somebody who wants less.
          admit();
        };
        const busy = (message: string, kind: 'overloaded' | 'rate-limited' = 'overloaded'): void =>
          leave(new ServiceError(kind, message, { retryAfterSeconds: RETRY_AFTER_SECONDS }));
        const onAbort = (): void => leave(abortReason(signal));
        const timer = setTimeout(
          () => busy('The model had no place in time, please try again later.'),
          waitMsOf(owner, queueWaitMsMax),
        );
        if (signal.aborted) return onAbort();
        signal.addEventListener('abort', onAbort, { once: true });
        const verdict = queue.add(owner, waiting);
        if (verdict === 'full') busy('Too many requests wait for the model, please try again later.');
        else if (verdict === 'key-share')
          busy('Too many requests of this key wait for the model, please try again later.', 'rate-limited');
        else admit();
      }),
    look: admit,
  };
}
