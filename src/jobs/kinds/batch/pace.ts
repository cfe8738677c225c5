import { setTimeout as sleep } from 'node:timers/promises';
import { BATCH_REST_MS_MAX, BATCH_REST_MS_MIN } from '../../../core/limits.ts';
import type { Clock } from '../../../lib/clock.ts';

export interface PaceNeeds {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly restMsMin?: number;
  readonly restMsMax?: number;
}

/** When the lines of a batch may be run: one that is refused for want of room lets all of them rest. */
export interface Pace {
  /** Resolves when no rest is left. @throws the signal's reason. */
  ready(signal: AbortSignal): Promise<void>;
  /** @param afterSeconds What the refusal asks for. */
  refused(afterSeconds: number | undefined): void;
  /** Something was answered. */
  answered(): void;
}

export function createPace({ clock, restMsMin = BATCH_REST_MS_MIN, restMsMax = BATCH_REST_MS_MAX }: PaceNeeds): Pace {
  let restMs = 0;
  let until = 0;
  return {
    async ready(signal) {
      for (let left = until - clock.monotonic(); left > 0; left = until - clock.monotonic()) {
        await sleep(left, undefined, { signal }).catch((error: unknown) => {
          signal.throwIfAborted();
          throw error;
        });
      }
      signal.throwIfAborted();
    },
    refused(afterSeconds = 0) {
      const now = clock.monotonic();
      // Lines that ran side by side are refused side by side: they are one refusal.
      if (now < until) return;
      restMs = Math.min(restMsMax, Math.max(restMsMin, restMs * 2));
      // Half of it by chance, so that several batches do not come back at the same moment.
      const chosen = restMs / 2 + (Math.random() * restMs) / 2;
      until = now + Math.min(restMsMax, Math.max(chosen, afterSeconds * 1000));
    },
    answered() {
      restMs = 0;
    },
  };
}
