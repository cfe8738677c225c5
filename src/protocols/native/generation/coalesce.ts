import type { GenerationEvent } from '../../../core/event.ts';
import { CUMULATIVE_CHARS_PER_SECOND_MAX, CUMULATIVE_EVENT_MS_MIN, LOGPROB_CHARS } from '../../../core/limits.ts';
import type { Clock } from '../../../lib/clock.ts';

export interface CoalesceNeeds {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Runs something after so many ms. @returns what takes it back. */
  readonly after?: (ms: number, run: () => void) => () => void;
}

type Batches = AsyncIterable<readonly GenerationEvent[]>;
type Step = IteratorResult<readonly GenerationEvent[], unknown>;

/**
 * The same events in fewer batches, for a stream that repeats its whole answer in each: what comes within a while of the
 * batch before waits for the end of that while. The first batch goes out at once, and so does the end of the run.
 *
 * The while is CUMULATIVE_EVENT_MS_MIN, and longer as soon as the answer is so long that repeating it as often would be more
 * than CUMULATIVE_CHARS_PER_SECOND_MAX.
 */
export function coalesced(batches: Batches, { clock, after = byTimer }: CoalesceNeeds): Batches {
  const source = batches[Symbol.asyncIterator]();
  let held: GenerationEvent[] = [];
  /** A step of the source that was asked for and has not come. */
  let coming: Promise<Step> | undefined;
  let failure: { readonly error: unknown } | undefined;
  let characters = 0;
  let dueAt = -Infinity;

  const give = (): Step => {
    const value = held;
    held = [];
    for (const event of value) characters += charactersOf(event);
    dueAt =
      clock.monotonic() + Math.max(CUMULATIVE_EVENT_MS_MIN, (characters / CUMULATIVE_CHARS_PER_SECOND_MAX) * 1_000);
    return { done: false, value };
  };

  /** Undefined when what is held is due before the source's next step comes. */
  const stepOrDue = (step: Promise<Step>): Promise<Step | undefined> => {
    if (held.length === 0) return step;
    return new Promise((resolve, reject) => {
      const forget = after(Math.max(0, dueAt - clock.monotonic()), () => resolve(undefined));
      step.finally(forget).then(resolve, reject);
    });
  };

  const next = async (): Promise<Step> => {
    for (;;) {
      if (failure) throw failure.error;
      if (held.length > 0 && (held.at(-1)?.type === 'end' || clock.monotonic() >= dueAt)) return give();
      coming ??= source.next();
      try {
        const step = await stepOrDue(coming);
        if (!step) return give();
        coming = undefined;
        if (step.done !== true) held.push(...step.value);
        else return held.length > 0 ? give() : step;
      } catch (error) {
        // What was said before it broke off is told first.
        failure = { error };
        if (held.length > 0) return give();
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

/** About what an event adds to each that follows. A token with log probabilities is told at a length that no text has. */
function charactersOf(event: GenerationEvent): number {
  if (event.type !== 'block-delta') return 0;
  const probabilities = (event.logprobs ?? []).reduce((sum, { top }) => sum + 1 + top.length, 0);
  return event.text.length + probabilities * LOGPROB_CHARS;
}

function byTimer(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
