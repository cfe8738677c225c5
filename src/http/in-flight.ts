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
  const calls = new Set<Call>();
  let onEmpty: (() => void) | undefined;
  return {
    add: (call) => void calls.add(call),
    remove(call) {
      calls.delete(call);
      if (calls.size === 0) onEmpty?.();
    },
    size: () => calls.size,
    abort(reason) {
      for (const call of calls) call.abort(reason);
    },
    empty(ms) {
      if (calls.size === 0) return Promise.resolve(true);
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
