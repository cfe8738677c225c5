import type { Clock } from '../../lib/clock.ts';
import {
  GRAMMAR_SAMPLE_MS_MAX,
  GRAMMAR_SAMPLE_MS_PLAIN,
  GRAMMAR_SLOW_MS_MAX,
  GRAMMAR_STUCK_BUSY_MS_MAX,
  GRAMMAR_STUCK_MAX,
  GRAMMAR_STUCK_MS_MAX,
} from '../../core/limits.ts';

/** A grammar under which so many readings are open at once that a token takes too long to choose. */
export class SlowGrammarError extends Error {
  override readonly name = 'SlowGrammarError';

  constructor() {
    super('The schema is too ambiguous: too many of its alternatives begin alike.');
  }
}

/**
 * Keeps one request's grammar from holding up the others.
 *
 * The library's cost of a token grows with the square of the readings that are open, which a schema can double with each
 * character, and it cannot be interrupted. So a token that takes too much is left to its thread and its request fails;
 * where the thread does not come back, the process has to end.
 *
 * What counts is processor time, not the time on the wall: where this process was stopped, or the machine is busy with
 * others, no grammar is to blame. It is known for the process only, so those that run at a time share it.
 */
export interface GrammarGuard {
  /**
   * @param spent Of one answer; `slowMs` is counted up.
   * @throws SlowGrammarError; the sampling may still go on then, so the logits may be read after the next decode.
   */
  watch<T>(sampling: Promise<T>, spent: { slowMs: number }): Promise<T>;
}

export interface GrammarGuardOptions {
  readonly clock: Clock;
  /** Processor time that the threads which sample have used, in ms; may be that of others too. */
  readonly cpuMs: () => number;
  /** Nobody would miss the process now. */
  readonly isIdle: () => boolean;
  /** Ends the process, whatever its threads do. */
  readonly end: () => void;
}

/** Between two looks at samplings that run, and at threads that do not come back, in ms. */
const LOOK_EVERY_MS = 250;

interface Running {
  /** Its share of the processor time so far. */
  ms: number;
  readonly giveUp: () => void;
}

export function createGrammarGuard({ clock, cpuMs, isIdle, end }: GrammarGuardOptions): GrammarGuard {
  const running = new Set<Running>();
  /** When each was given up. */
  const stuck = new Map<Promise<unknown>, number>();
  let timer: NodeJS.Timeout | undefined;
  let countedMs = 0;

  /** Shares out what was used since it was last counted, and begins anew. */
  const count = (): void => {
    const now = cpuMs();
    const share = (now - countedMs) / (running.size + stuck.size);
    countedMs = now;
    for (const one of running) one.ms += share;
  };

  const look = (): void => {
    if (running.size > 0) count();
    for (const one of running) if (one.ms > GRAMMAR_SAMPLE_MS_MAX) one.giveUp();
    lookAtStuck();
    rest();
  };

  const lookAtStuck = (): void => {
    if (stuck.size === 0) return;
    const longest = clock.monotonic() - Math.min(...stuck.values());
    const isTooLong = longest > GRAMMAR_STUCK_BUSY_MS_MAX || (longest > GRAMMAR_STUCK_MS_MAX && isIdle());
    if (isTooLong || stuck.size > GRAMMAR_STUCK_MAX) end();
  };

  /** The timer goes on for one look longer than there is anything to look at: one for each token would be more work. */
  const rest = (): void => {
    if (running.size + stuck.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const leave = (sampling: Promise<unknown>): void => {
    stuck.set(sampling, clock.monotonic());
    const back = (): void => void stuck.delete(sampling);
    sampling.then(back, back);
    lookAtStuck();
  };

  return {
    async watch(sampling, spent) {
      const { promise: late, reject } = Promise.withResolvers<never>();
      count();
      const own: Running = {
        ms: 0,
        giveUp() {
          // A result that came while this thread was busy is heard first.
          setImmediate(() => {
            if (!running.delete(own)) return;
            leave(sampling);
            reject(new SlowGrammarError());
          });
        },
      };
      running.add(own);
      // A look alone is no reason for a process to stay.
      timer ??= setInterval(look, LOOK_EVERY_MS).unref();
      const token = await Promise.race([sampling, late]).finally(() => {
        if (!running.has(own)) return;
        count();
        running.delete(own);
      });
      spent.slowMs += Math.max(0, own.ms - GRAMMAR_SAMPLE_MS_PLAIN);
      if (spent.slowMs > GRAMMAR_SLOW_MS_MAX) throw new SlowGrammarError();
      return token;
    },
  };
}
