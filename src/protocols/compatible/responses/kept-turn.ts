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

  const take = (
    step: IteratorResult<readonly GenerationEvent[], unknown>,
  ): IteratorResult<readonly ResponseEvent[]> | Promise<IteratorResult<readonly ResponseEvent[]>> => {
    // Who left before the end was read gets no turn.
    if (isGone) return { done: true, value: undefined };
    if (step.done === true) {
      if (!isKept) throw new ServiceError('engine-failed', 'The answer broke off before its end.');
      return { done: true, value: undefined };
    }
    const told: ResponseEvent[] = [];
    let isOver = false;
    for (const event of step.value) {
      fold.push(event);
      if (event.type === 'end') isOver = true;
      else told.push(event);
    }
    if (!isOver) return { done: false, value: told };
    return keep(fold.result()).then((response) => {
      isKept = true;
      told.push({ type: 'response-end', response });
      return { done: false, value: told };
    });
  };
  const fail = async (error: unknown): Promise<never> => {
    await turn.abandon();
    throw error;
  };

  return {
    [Symbol.asyncIterator]: () => ({
      next: () => source.next().then(take).catch(fail),
      async return() {
        isGone = true;
        await source.return?.();
        await turn.abandon();
        return { done: true, value: undefined };
      },
    }),
  };
}
