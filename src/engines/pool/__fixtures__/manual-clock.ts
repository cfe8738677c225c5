import type { Clock } from '../../../lib/clock.ts';

/** Clock that only moves when a test advances it. */
export interface ManualClock extends Clock {
  advance(ms: number): void;
}

export function createManualClock(): ManualClock {
  let nowMs = 1_000_000;
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}
