import type { ServiceError } from '../core/error.ts';
import type { Call } from './call.ts';

/** The calls in progress. A shutdown waits for them and then aborts them. */
export interface InFlightCalls {
  add(call: Call): void;
  remove(call: Call): void;
  count(): number;
  abort(reason: ServiceError): void;
  /** Waits until no call is left. @returns false if one is left after `ms`. */
  waitUntilEmpty(ms: number): Promise<boolean>;
}

export function createInFlightCalls(): InFlightCalls {
  // Not a Set: with constant insertion and removal V8 copies its table again and again. Each old table references the
  // next
  // one, and an old table that was promoted retains all later ones, with every call in them, until the next full
  // collection.
  const calls: Call[] = [];
  let onEmpty: (() => void) | undefined;
  return {
    add: (call) => void calls.push(call),
    remove(call) {
      const index = calls.indexOf(call);
      if (index < 0) return;
      const last = calls.pop();
      if (last && index < calls.length) calls[index] = last;
      if (calls.length === 0) onEmpty?.();
    },
    count: () => calls.length,
    abort(reason) {
      // An aborted call removes itself from the list.
      for (const call of calls.slice()) call.abort(reason);
    },
    waitUntilEmpty(ms) {
      if (calls.length === 0) return Promise.resolve(true);
      return new Promise((resolve) => {
        const timer = setTimeout(() => resolve(false), ms);
        onEmpty = () => {
          clearTimeout(timer);
          resolve(true);
        };
      });
    },
  };
}
