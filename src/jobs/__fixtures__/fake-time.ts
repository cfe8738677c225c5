import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import type { StartInterval } from '../../lib/start-interval.ts';

/** Clock and timers that a test controls. */
export interface FakeTime {
  readonly clock: Clock;
  readonly startInterval: StartInterval;
  /** Advances time by `ms`: due timers run in order, each at its own time, including the promises they resolve. */
  advance(ms: number): Promise<void>;
  /** Advances time by `ms` at once, as when the machine slept: each overdue timer runs once at the next `advance`. */
  jump(ms: number): void;
}

/** Creates a clock that moves only on request. Pending promises settle between timers. */
export function createFakeTime(): FakeTime {
  const startMs = 1_790_000_000_000;
  let nowMs = startMs;
  const timers = new Set<{ readonly ms: number; dueMs: number; readonly run: () => void }>();
  return {
    clock: { now: () => nowMs, monotonic: () => nowMs - startMs },
    startInterval(ms, run) {
      const timer = { ms, dueMs: nowMs + ms, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const end = nowMs + ms;
      await yieldToEventLoop();
      for (;;) {
        const [next] = [...timers].toSorted((one, other) => one.dueMs - other.dueMs);
        if (!next || next.dueMs > end) break;
        nowMs = Math.max(nowMs, next.dueMs);
        next.dueMs = nowMs + next.ms;
        next.run();
        await yieldToEventLoop();
      }
      nowMs = end;
      await yieldToEventLoop();
    },
    jump(ms) {
      nowMs += ms;
    },
  };
}
