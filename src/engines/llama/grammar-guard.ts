import type { Clock } from '../../lib/clock.ts';
import {
  GRAMMAR_SAMPLE_MS_MAX,
  GRAMMAR_SAMPLE_MS_PLAIN,
  GRAMMAR_SLOW_MS_MAX,
  GRAMMAR_SLOW_SHARE,
  GRAMMAR_STUCK_BUSY_MS_MAX,
  GRAMMAR_STUCK_MAX,
  GRAMMAR_STUCK_MS_MAX,
} from './limits.ts';

/** Thrown for a grammar with so many open alternatives that choosing a token takes too long. */
export class SlowGrammarError extends Error {
  override readonly name = 'SlowGrammarError';

  constructor() {
    super('The schema is too ambiguous: too many of its alternatives start in the same way.');
  }
}

/**
 * Prevents a slow grammar of one request from delaying the other requests.
 *
 * The library's time per token grows with the square of the number of open alternatives, which a schema can double with
 * each character, and sampling cannot be interrupted. So a sampling that takes too long is abandoned to its thread, and
 * its request fails. If the thread never returns, the process must end.
 *
 * All answers of a workspace share the time that it may take above the usual: the other requests wait for each of them.
 *
 * The measure is processor time, not wall-clock time: a suspended process or a busy machine says nothing about a
 * grammar. Processor time is known only for the whole process, so concurrent samplings share it equally.
 */
export interface GrammarGuard {
  /**
   * Waits for a sampling under a grammar.
   * @param workspace The tenant whose answer is sampled.
   * @throws SlowGrammarError. The sampling may continue then, so it may still read logits after the next decode.
   */
  watch<T>(sampling: Promise<T>, workspace: string): Promise<T>;
}

export interface GrammarGuardOptions {
  readonly clock: Clock;
  /** Returns the processor time of the sampling threads, in ms; may include other threads. */
  readonly cpuMs: () => number;
  /** Whether no request would be lost if the process ended now. */
  readonly isIdle: () => boolean;
  /** Ends the process at once, even while a thread is stuck. */
  readonly killProcess: () => void;
}

/** Interval, in ms, for checking running and abandoned samplings. */
const CHECK_INTERVAL_MS = 250;

interface SlowTime {
  /** Processor time above the usual at `updatedAt`, in ms, less what was forgotten. */
  readonly ms: number;
  readonly updatedAt: number;
}

interface RunningSampling {
  /** Share of the processor time so far, in ms. */
  cpuMs: number;
  readonly abandon: () => void;
}

export function createGrammarGuard({ clock, cpuMs, isIdle, killProcess }: GrammarGuardOptions): GrammarGuard {
  const running = new Set<RunningSampling>();
  /** Time at which each sampling was abandoned, in ms of the monotonic clock. */
  const abandonedAt = new Map<Promise<unknown>, number>();
  let timer: NodeJS.Timeout | undefined;
  let countedCpuMs = 0;

  const slowTimes = new Map<string, SlowTime>();

  const getSlowMs = ({ ms, updatedAt }: SlowTime, now: number): number =>
    Math.max(0, ms - (now - updatedAt) * GRAMMAR_SLOW_SHARE);

  /** Adds to the slow time of a workspace, and returns the sum. Forgets workspaces without any. */
  const addSlowTime = (workspace: string, ms: number): number => {
    const now = clock.monotonic();
    for (const [other, time] of slowTimes) if (getSlowMs(time, now) === 0) slowTimes.delete(other);
    const earlier = slowTimes.get(workspace);
    const sum = ms + (earlier ? getSlowMs(earlier, now) : 0);
    slowTimes.set(workspace, { ms: sum, updatedAt: now });
    return sum;
  };

  /** Divides the processor time since the last call among all samplings. */
  const shareCpuTime = (): void => {
    const now = cpuMs();
    const share = (now - countedCpuMs) / (running.size + abandonedAt.size);
    countedCpuMs = now;
    for (const sampling of running) sampling.cpuMs += share;
  };

  const check = (): void => {
    if (running.size > 0) shareCpuTime();
    for (const sampling of running) if (sampling.cpuMs > GRAMMAR_SAMPLE_MS_MAX) sampling.abandon();
    checkAbandoned();
    stopTimerIfIdle();
  };

  const checkAbandoned = (): void => {
    if (abandonedAt.size === 0) return;
    const longest = clock.monotonic() - Math.min(...abandonedAt.values());
    const isTooLong = longest > GRAMMAR_STUCK_BUSY_MS_MAX || (longest > GRAMMAR_STUCK_MS_MAX && isIdle());
    if (isTooLong || abandonedAt.size > GRAMMAR_STUCK_MAX) killProcess();
  };

  /**
   * Stops the timer when nothing is left to check. It runs one interval longer, because a timer per token costs more.
   */
  const stopTimerIfIdle = (): void => {
    if (running.size + abandonedAt.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const markAbandoned = (sampling: Promise<unknown>): void => {
    abandonedAt.set(sampling, clock.monotonic());
    const remove = (): void => void abandonedAt.delete(sampling);
    sampling.then(remove, remove);
    checkAbandoned();
  };

  return {
    async watch(sampling, workspace) {
      const { promise: abandoned, reject } = Promise.withResolvers<never>();
      shareCpuTime();
      const entry: RunningSampling = {
        cpuMs: 0,
        abandon() {
          // Lets a result win that arrived while the event loop was blocked.
          setImmediate(() => {
            if (!running.delete(entry)) return;
            addSlowTime(workspace, entry.cpuMs);
            markAbandoned(sampling);
            reject(new SlowGrammarError());
          });
        },
      };
      running.add(entry);
      let isTooSlow = false;
      // The timer alone must not keep the process alive.
      timer ??= setInterval(check, CHECK_INTERVAL_MS).unref();
      const token = await Promise.race([sampling, abandoned]).finally(() => {
        if (!running.has(entry)) return;
        shareCpuTime();
        running.delete(entry);
        const slowMs = entry.cpuMs - GRAMMAR_SAMPLE_MS_PLAIN;
        isTooSlow = slowMs > 0 && addSlowTime(workspace, slowMs) > GRAMMAR_SLOW_MS_MAX;
      });
      if (isTooSlow) throw new SlowGrammarError();
      return token;
    },
  };
}
