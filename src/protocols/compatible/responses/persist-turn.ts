import type { GenerationEvent } from '../../../core/event.ts';
import type { GenerationResult } from '../../../core/result.ts';
import { createResultBuilder } from '../../../generation/collect-result.ts';
import type { Turn } from '../../../resources/responses/response.ts';
import type { ResponseObject } from './encode.ts';
import type { ResponseEvent } from './response-event.ts';
import { createIncompleteAnswerError } from '../../../core/generation-errors.ts';

interface TurnPersistence {
  readonly turn: Pick<Turn, 'abandon'>;
  /** Stores the whole answer. The last events are delivered only after the promise resolves. */
  storeTurn(result: GenerationResult): Promise<ResponseObject>;
}

type Step = IteratorResult<readonly ResponseEvent[]>;
type NonFinalEvent = Exclude<GenerationEvent, { readonly type: 'end' }>;

/**
 * Delivers the events of a generation and stores the turn before its last events. If the generation fails, or its
 * reader leaves, the turn is abandoned and nothing is stored.
 *
 * Written as an iterator object instead of a generator: `return` must take effect while `next` is pending, and a batch
 * in the middle of an answer costs only one more promise.
 */
export function persistTurn(
  batches: AsyncIterable<readonly GenerationEvent[]>,
  { turn, storeTurn }: TurnPersistence,
): AsyncIterable<readonly ResponseEvent[]> {
  const source = batches[Symbol.asyncIterator]();
  const resultBuilder = createResultBuilder();
  let isPersisted = false;
  let isCanceled = false;

  const fail = async (error: unknown): Promise<never> => {
    await turn.abandon();
    throw error;
  };
  const handleStep = (step: IteratorResult<readonly GenerationEvent[], unknown>): Step | Promise<Step> => {
    // A reader that left before the end gets no turn.
    if (isCanceled) return DONE;
    if (step.done === true) {
      return isPersisted ? DONE : fail(createIncompleteAnswerError());
    }
    for (const event of step.value) resultBuilder.push(event);
    if (hasNoEnd(step.value)) return { done: false, value: step.value };
    return finish(step.value.filter(isNotEnd)).catch(fail);
  };
  const finish = async (events: readonly NonFinalEvent[]): Promise<Step> => {
    const response = await storeTurn(resultBuilder.result());
    isPersisted = true;
    return { done: false, value: [...events, { type: 'response-end', response }] };
  };

  return {
    [Symbol.asyncIterator]: () => ({
      next: () => source.next().then(handleStep, fail),
      async return() {
        isCanceled = true;
        await source.return?.();
        await turn.abandon();
        return DONE;
      },
    }),
  };
}

const DONE = { done: true, value: undefined } as const;

/** The end event comes last and exactly once. */
const hasNoEnd = (batch: readonly GenerationEvent[]): batch is readonly NonFinalEvent[] => batch.at(-1)?.type !== 'end';

const isNotEnd = (event: GenerationEvent): event is NonFinalEvent => event.type !== 'end';
