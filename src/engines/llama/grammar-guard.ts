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
 * character, and it cannot be interrupted. So a token that takes too long is left to its thread and its request fails;
 * where the thread does not come back, the process has to end.
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
  /** Nobody would miss the process now. */
  readonly isIdle: () => boolean;
  /** Ends the process, whatever its threads do. */
  readonly end: () => void;
}

/** Between two looks at threads that do not come back, in ms. */
const LOOK_EVERY_MS = 1_000;

export function createGrammarGuard({ clock, isIdle, end }: GrammarGuardOptions): GrammarGuard {
  /** When each was given up. */
  const stuck = new Map<Promise<unknown>, number>();
  let timer: NodeJS.Timeout | undefined;

  const look = (): void => {
    const longest = clock.monotonic() - Math.min(...stuck.values());
    const isTooLong = longest > GRAMMAR_STUCK_BUSY_MS_MAX || (longest > GRAMMAR_STUCK_MS_MAX && isIdle());
    if (isTooLong || stuck.size > GRAMMAR_STUCK_MAX) end();
  };

  const giveUp = (sampling: Promise<unknown>): void => {
    stuck.set(sampling, clock.monotonic());
    const back = (): void => {
      stuck.delete(sampling);
      if (stuck.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
    sampling.then(back, back);
    timer ??= setInterval(look, LOOK_EVERY_MS);
    look();
  };

  return {
    async watch(sampling, spent) {
      const startedAt = clock.monotonic();
      const { promise: late, reject } = Promise.withResolvers<never>();
      let isOver = false;
      const alarm = setTimeout(() => {
        // A result that came while this thread was busy is heard first.
        setImmediate(() => {
          if (isOver) return;
          giveUp(sampling);
          reject(new SlowGrammarError());
        });
      }, GRAMMAR_SAMPLE_MS_MAX);
      const token = await Promise.race([sampling, late]).finally(() => {
        isOver = true;
        clearTimeout(alarm);
      });
      spent.slowMs += Math.max(0, clock.monotonic() - startedAt - GRAMMAR_SAMPLE_MS_PLAIN);
      if (spent.slowMs > GRAMMAR_SLOW_MS_MAX) throw new SlowGrammarError();
      return token;
    },
  };
}
