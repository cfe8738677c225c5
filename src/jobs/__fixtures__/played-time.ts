import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';

export interface PlayedTime {
  readonly clock: Clock;
  readonly every: Every;
  /** Lets so many ms pass: what is due in them runs, each at its time and through to where it waits for more of it. */
  pass(ms: number): Promise<void>;
  /** Lets so many ms be over at once, as where a machine slept: what was due in them is so now, each once. */
  leap(ms: number): void;
}

/** Time that passes when a test says so. All promises that wait for nothing else are settled in between. */
export function playTime(): PlayedTime {
  const startMs = 1_790_000_000_000;
  let nowMs = startMs;
  const timers = new Set<{ readonly ms: number; dueMs: number; readonly run: () => void }>();
  return {
    clock: { now: () => nowMs, monotonic: () => nowMs - startMs },
    every(ms, run) {
      const timer = { ms, dueMs: nowMs + ms, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async pass(ms) {
      const end = nowMs + ms;
      await turn();
      for (;;) {
        const [next] = [...timers].toSorted((one, other) => one.dueMs - other.dueMs);
        if (!next || next.dueMs > end) break;
        nowMs = Math.max(nowMs, next.dueMs);
        next.dueMs = nowMs + next.ms;
        next.run();
        await turn();
      }
      nowMs = end;
      await turn();
    },
    leap(ms) {
      nowMs += ms;
    },
  };
}
