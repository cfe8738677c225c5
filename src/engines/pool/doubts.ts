import { POOL_DOUBT_MS, POOL_DOUBTERS_KEPT_MAX, POOL_DOUBTS_MAX } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { createLru } from '../../lib/lru.ts';

/** What single callers hold against an address: it keeps their own requests away, and nobody else's. */
export interface Doubts {
  failed(caller: string): void;
  succeeded(caller: string): void;
  hasFrom(caller: string): boolean;
}

interface Doubt {
  readonly failures: number;
  /** Ms of the monotonic clock. */
  readonly until: number;
}

export function createDoubts({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }): Doubts {
  const kept = createLru<Doubt>({ entriesMax: POOL_DOUBTERS_KEPT_MAX, weightMax: POOL_DOUBTERS_KEPT_MAX });
  return {
    failed(caller) {
      const failures = (kept.get(caller)?.failures ?? 0) + 1;
      kept.set(caller, { failures, until: clock.monotonic() + POOL_DOUBT_MS }, 1);
    },
    succeeded(caller) {
      if (kept.get(caller)) kept.set(caller, NONE, 1);
    },
    hasFrom(caller) {
      const { failures, until } = kept.get(caller) ?? NONE;
      return failures >= POOL_DOUBTS_MAX && until > clock.monotonic();
    },
  };
}

const NONE: Doubt = { failures: 0, until: 0 };
