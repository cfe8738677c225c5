import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineEvent, GenerationEvent, Usage } from '../core/event.ts';
import type { EngineStart } from '../engines/engine.ts';
import { createBlocks } from './stages/blocks.ts';
import { createThought } from './stages/thought.ts';

export type Ending = 'finished' | 'cancelled' | 'failed';

export interface RunNeeds {
  readonly choices: number;
  /** Phases of the run; text of all but the last is thought. */
  readonly phases: number;
  readonly context: RequestContext;
  /** Ends the work in the engine. */
  readonly stop: (reason: ServiceError) => void;
  /** Called once, however the run ends, with what was really consumed. */
  readonly over: (usage: Usage, how: Ending) => void;
}

/**
 * A run's engine events through the stages of their choice, for one reader.
 *
 * An iterator by hand, not a generator: `return` has to work at once, while a `next` waits and before the first one, and
 * a layer of generators costs several microtasks per batch.
 */
export function runEvents(started: EngineStart, needs: RunNeeds): AsyncIterable<readonly GenerationEvent[]> {
  const { choices, phases, context, stop } = needs;
  const source = started.batches[Symbol.asyncIterator]();
  const stages = Array.from({ length: choices }, (_, choice) => createBlocks(choice));
  const thoughts = phases > 1 ? stages.map(() => createThought(phases)) : [];
  const startedAt = performance.now();
  let out: GenerationEvent[] = [
    { type: 'start', inputTokens: started.promptTokens ?? 0, cachedTokens: started.cachedTokens ?? 0 },
  ];
  let spoken = 0;
  let usage: Usage | undefined;
  let isOver = false;

  const emit = (event: GenerationEvent): void => void out.push(event);

  const take = (event: EngineEvent): void => {
    if (usage) throw brokenStream('an event after the end');
    if (event.type === 'end') {
      for (const stage of stages) stage.end(emit);
      usage = event.usage;
      emit({ type: 'end', usage: event.usage });
      return;
    }
    if (event.type === 'text' || event.type === 'reasoning') spoken += event.tokens;
    const stage = stages[event.choice];
    if (!stage) throw brokenStream('an event of a choice that nobody asked for');
    const thought = thoughts[event.choice];
    if (thought) thought.push(event, (passed) => stage.push(passed, emit));
    else stage.push(event, emit);
  };

  const finish = (how: Ending): void => {
    if (isOver) return;
    isOver = true;
    context.signal.removeEventListener('abort', onAbort);
    // A run that was broken off has no count of its own: what was said is what is known.
    const consumed = usage ?? {
      promptTokens: started.promptTokens ?? 0,
      cachedTokens: started.cachedTokens ?? 0,
      completionTokens: spoken,
    };
    context.log.add({
      promptTokens: consumed.promptTokens,
      cachedTokens: consumed.cachedTokens,
      completionTokens: consumed.completionTokens,
      generateMs: Math.round(performance.now() - startedAt),
      ended: how,
    });
    needs.over(consumed, how);
  };

  // Also where nobody reads: what the run holds is given back when its caller is gone.
  const onAbort = (): void => finish(usage ? 'finished' : 'cancelled');
  context.signal.addEventListener('abort', onAbort, { once: true });
  if (context.signal.aborted) onAbort();

  const read = async (): Promise<readonly GenerationEvent[] | undefined> => {
    for (;;) {
      const step = await source.next();
      if (step.done === true) {
        if (!usage) throw brokenStream('a stream without end');
        return undefined;
      }
      for (const event of step.value) take(event);
      if (out.length === 0) continue;
      const ready = out;
      out = [];
      return ready;
    }
  };

  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        try {
          const value = await read();
          if (value) return { done: false, value };
          finish('finished');
          return { done: true, value: undefined };
        } catch (error) {
          finish(context.signal.aborted ? 'cancelled' : 'failed');
          stop(GONE);
          throw error;
        }
      },
      async return() {
        finish(usage ? 'finished' : 'cancelled');
        stop(GONE);
        await source.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}

const GONE = new ServiceError('cancelled', 'The request was cancelled.');

const brokenStream = (what: string): ServiceError =>
  new ServiceError('engine-failed', 'The engine failed on this request.', {
    cause: new Error(`broken stream: ${what}`),
  });
