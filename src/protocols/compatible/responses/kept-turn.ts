import { ServiceError } from '../../../core/error.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import type { GenerationResult } from '../../../core/result.ts';
import { createFold } from '../../../generation/collect.ts';
import type { Turn } from '../../../resources/responses/response.ts';
import type { ResponseObject } from './encode.ts';
import type { ResponseEvent } from './response-event.ts';

interface TurnEnd {
  readonly turn: Pick<Turn, 'abandon'>;
  /** Of the whole answer; nobody is told of it before this is fulfilled. */
  keep(result: GenerationResult): Promise<ResponseObject>;
}

type Step = IteratorResult<readonly ResponseEvent[]>;
type Running = Exclude<GenerationEvent, { readonly type: 'end' }>;

/**
 * A generation as a turn: kept before its end is told, and without a trace when it breaks off, fails, or nobody reads on.
 *
 * An iterator by hand, as a run's: `return` has to work at once, and a batch in mid-answer costs one promise more.
 */
export function keptTurn(
  batches: AsyncIterable<readonly GenerationEvent[]>,
  { turn, keep }: TurnEnd,
): AsyncIterable<readonly ResponseEvent[]> {
  const source = batches[Symbol.asyncIterator]();
  const fold = createFold();
  let isKept = false;
  let isGone = false;

  const fail = async (error: unknown): Promise<never> => {
    await turn.abandon();
    throw error;
  };
  const take = (step: IteratorResult<readonly GenerationEvent[], unknown>): Step | Promise<Step> => {
    // Who left before the end was read gets no turn.
    if (isGone) return OVER;
    if (step.done === true) {
      return isKept ? OVER : fail(new ServiceError('engine-failed', 'The answer broke off before its end.'));
    }
    for (const event of step.value) fold.push(event);
    if (isRunning(step.value)) return { done: false, value: step.value };
    return end(step.value.filter(isOfRun)).catch(fail);
  };
  const end = async (told: readonly Running[]): Promise<Step> => {
    const response = await keep(fold.result());
    isKept = true;
    return { done: false, value: [...told, { type: 'response-end', response }] };
  };

  return {
    [Symbol.asyncIterator]: () => ({
      next: () => source.next().then(take, fail),
      async return() {
        isGone = true;
        await source.return?.();
        await turn.abandon();
        return OVER;
      },
    }),
  };
}

const OVER = { done: true, value: undefined } as const;

/** The end comes last, and once. */
const isRunning = (batch: readonly GenerationEvent[]): batch is readonly Running[] => batch.at(-1)?.type !== 'end';

const isOfRun = (event: GenerationEvent): event is Running => event.type !== 'end';
