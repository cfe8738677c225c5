import type { ServiceError } from '../core/error.ts';
import type { Call } from './call.ts';

/** The requests being answered, so that a shutdown can wait for them and then break them off. */
export interface InFlight {
  add(call: Call): void;
  remove(call: Call): void;
  size(): number;
  abort(reason: ServiceError): void;
  /** Whether the last one ended within `ms`. */
  empty(ms: number): Promise<boolean>;
}

export function createInFlight(): InFlight {
  // Not a Set: what comes and goes all the time has it copied over and over, each old copy leads to the next, and one that
  // has grown old keeps all that follow, with every call in them, until the next full collection.
  const calls: Call[] = [];
  let onEmpty: (() => void) | undefined;
  return {
    add: (call) => void calls.push(call),
    remove(call) {
      const at = calls.indexOf(call);
      if (at < 0) return;
      const last = calls.pop();
      if (last && at < calls.length) calls[at] = last;
      if (calls.length === 0) onEmpty?.();
    },
    size: () => calls.length,
    abort(reason) {
      // A call that ends by it takes itself out.
      for (const call of calls.slice()) call.abort(reason);
    },
    empty(ms) {
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
