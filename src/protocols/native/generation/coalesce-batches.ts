import type { GenerationEvent } from '../../../core/event.ts';
import { CUMULATIVE_CHARS_PER_SECOND_MAX, CUMULATIVE_EVENT_MS_MIN, LOGPROB_CHARS } from '../limits.ts';
import type { Clock } from '../../../lib/clock.ts';

export interface CoalesceDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Runs a function after a delay in ms. @returns A function that cancels the timer. */
  readonly startTimer?: (ms: number, run: () => void) => () => void;
}

type Batches = AsyncIterable<readonly GenerationEvent[]>;
type Step = IteratorResult<readonly GenerationEvent[], unknown>;

/**
 * Merges batches of a cumulative stream, in which each event repeats the whole answer: batches that arrive within an
 * interval after the last one wait for the end of the interval. The first batch and the end of the run are not delayed.
 *
 * The interval is CUMULATIVE_EVENT_MS_MIN, or longer if the answer is so long that repeating it that often would exceed
 * CUMULATIVE_CHARS_PER_SECOND_MAX.
 */
export function coalesceBatches(batches: Batches, { clock, startTimer = startTimeout }: CoalesceDeps): Batches {
  const source = batches[Symbol.asyncIterator]();
  let waiting: GenerationEvent[] = [];
  /** A read of the source that has not settled yet. */
  let pendingRead: Promise<Step> | undefined;
  let failure: { readonly error: unknown } | undefined;
  let characters = 0;
  let dueAt = -Infinity;

  const flush = (): Step => {
    const value = waiting;
    waiting = [];
    for (const event of value) characters += estimateCharacters(event);
    dueAt =
      clock.monotonic() + Math.max(CUMULATIVE_EVENT_MS_MIN, (characters / CUMULATIVE_CHARS_PER_SECOND_MAX) * 1_000);
    return { done: false, value };
  };

  /** Resolves with undefined if the waiting events are due before the source's next step arrives. */
  const waitForStepOrDue = (step: Promise<Step>): Promise<Step | undefined> => {
    if (waiting.length === 0) return step;
    return new Promise((resolve, reject) => {
      const cancelTimer = startTimer(Math.max(0, dueAt - clock.monotonic()), () => resolve(undefined));
      step.finally(cancelTimer).then(resolve, reject);
    });
  };

  const next = async (): Promise<Step> => {
    for (;;) {
      if (failure) throw failure.error;
      if (waiting.length > 0 && (waiting.at(-1)?.type === 'end' || clock.monotonic() >= dueAt)) return flush();
      pendingRead ??= source.next();
      try {
        const step = await waitForStepOrDue(pendingRead);
        if (!step) return flush();
        pendingRead = undefined;
        if (step.done !== true) waiting.push(...step.value);
        else return waiting.length > 0 ? flush() : step;
      } catch (error) {
        // Events that arrived before the failure are emitted first.
        failure = { error };
        if (waiting.length > 0) return flush();
      }
    }
  };

  return {
    [Symbol.asyncIterator]: () => ({
      next,
      async return() {
        await source.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}

/**
 * Estimates the characters that an event adds to each later event. Log probabilities are far longer than their text.
 */
function estimateCharacters(event: GenerationEvent): number {
  if (event.type !== 'block-delta') return 0;
  const probabilities = (event.logprobs ?? []).reduce((sum, { top }) => sum + 1 + top.length, 0);
  return event.text.length + probabilities * LOGPROB_CHARS;
}

function startTimeout(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
