import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineEvent, GenerationEvent, Usage } from '../core/event.ts';
import type { EngineStart } from '../engines/engine.ts';
import { createBlocks } from './stages/blocks.ts';
import type { Stage } from './stages/stage.ts';
import type { Verify } from './stages/verdict.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/** What was said, in tokens. */
export type SpokenEvent = Extract<EngineEvent, { type: 'text' | 'reasoning' }>;

export type Ending = 'finished' | 'cancelled' | 'failed';

/** What happens to the events of one choice before they are bracketed; made anew for each choice. */
export type Stages = readonly Stage<ChoiceEvent, ChoiceEvent>[];

/** Another run that takes the place of one whose answer was no use. */
export interface Replacement {
  readonly started: EngineStart;
  readonly stagesOf: (choice: number, verify: Verify) => Stages;
}

/** @param spent What the run took whose place is taken. */
type StartReplacement = (spent: Usage) => Promise<Replacement>;

export interface RunNeeds {
  readonly choices: number;
  /**
   * @param replace Ends this run and goes on with another one; only for a single choice, and once.
   * @param verify What comes of the batch that is being read is told when this is fulfilled.
   */
  readonly stagesOf: (choice: number, verify: Verify, replace: (start: StartReplacement) => void) => Stages;
  readonly context: RequestContext;
  /** Ends the work in the engine. */
  readonly stop: (reason: ServiceError) => void;
  /** Hears of each event of the engine's that says something, before anything becomes of it. */
  readonly produced?: (event: SpokenEvent) => void;
  /** Called once, however the run ends, with what was really consumed. */
  readonly over: (usage: Usage, how: Ending) => void;
}

/**
 * A run's engine events through the stages of their choice, for one reader.
 *
 * An iterator by hand, not a generator: `return` has to work at once, while a `next` waits and before the first one, and
 * a layer of generators costs several microtasks per batch.
 */
export function runEvents(first: EngineStart, needs: RunNeeds): AsyncIterable<readonly GenerationEvent[]> {
  const { choices, context, stop } = needs;
  let started = first;
  let source = started.batches[Symbol.asyncIterator]();
  let replacement: StartReplacement | undefined;
  const startedAt = performance.now();
  let out: GenerationEvent[] = [
    { type: 'start', inputTokens: started.promptTokens ?? 0, cachedTokens: started.cachedTokens ?? 0 },
  ];
  let spoken = 0;
  let thought = 0;
  /** Of runs that were replaced. */
  let before: Usage | undefined;
  let usage: Usage | undefined;
  let isOver = false;

  /** Choices whose end was told, and those that the engine has ended itself. */
  let toldEnds = 0;
  let engineEnds = 0;
  let isEndedEarly = false;

  const emit = (event: GenerationEvent): void => {
    if (event.type === 'choice-end') toldEnds++;
    out.push(event);
  };

  let unverified: Promise<void>[] = [];
  const verify = (seen: Promise<void>): void => {
    // The batch may break before it is waited for, or its reader be gone.
    seen.catch(() => undefined);
    unverified.push(seen);
  };
  const verified = async (): Promise<void> => {
    const all = unverified;
    unverified = [];
    await Promise.all(all);
  };

  const replace = (start: StartReplacement): void => {
    replacement = start;
  };
  const blocks = Array.from({ length: choices }, (_, choice) => createBlocks(choice));
  const chain = (choice: number, stages: Stages): ((event: ChoiceEvent) => void) =>
    stages.reduceRight<(event: ChoiceEvent) => void>(
      (next, stage) => (event) => stage.push(event, next),
      (event) => blocks[choice]?.push(event, emit),
    );
  let chains = blocks.map((_, choice) => chain(choice, needs.stagesOf(choice, verify, replace)));

  const take = (event: EngineEvent): void => {
    if (usage) throw brokenStream('an event after the end');
    if (event.type === 'end') {
      for (const stage of blocks) stage.end(emit);
      usage = before ? sumOf(before, event.usage) : event.usage;
      emit({ type: 'end', usage });
      return;
    }
    if (event.type === 'text' || event.type === 'reasoning') {
      spoken += event.tokens;
      needs.produced?.(event);
    }
    if (event.type === 'reasoning') thought += event.tokens;
    if (event.type === 'choice-end') engineEnds++;
    const push = chains[event.choice];
    if (!push) throw brokenStream('an event of a choice that nobody asked for');
    push(event);
  };

  /** What is known to have been consumed when nobody gives an account. */
  const spokenUsage = (): Usage => ({
    promptTokens: started.promptTokens ?? 0,
    cachedTokens: started.cachedTokens ?? 0,
    completionTokens: spoken,
    ...(thought > 0 ? { reasoningTokens: thought } : {}),
  });

  /** Where stages ended every choice before the engine did, nobody waits for what it would go on to say. */
  const endEarly = async (): Promise<void> => {
    isEndedEarly = true;
    await source.return?.();
    for (const stage of blocks) stage.end(emit);
    usage = before ? sumOf(before, spokenUsage()) : spokenUsage();
    emit({ type: 'end', usage });
  };

  const goOn = async (start: StartReplacement): Promise<void> => {
    replacement = undefined;
    await source.return?.();
    before = spokenUsage();
    spoken = 0;
    thought = 0;
    engineEnds = 0;
    const next = await start(before);
    started = next.started;
    source = started.batches[Symbol.asyncIterator]();
    chains = blocks.map((_, choice) => chain(choice, next.stagesOf(choice, verify)));
  };

  const finish = (how: Ending): void => {
    if (isOver) return;
    isOver = true;
    context.signal.removeEventListener('abort', onAbort);
    const consumed = usage ?? (before ? sumOf(before, spokenUsage()) : spokenUsage());
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

  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        try {
          while (!isEndedEarly) {
            const step = await source.next();
            if (step.done === true) break;
            for (const event of step.value) {
              take(event);
              if (replacement) break;
            }
            if (unverified.length > 0) await verified();
            if (replacement) await goOn(replacement);
            if (!usage && toldEnds === choices && engineEnds < choices) await endEarly();
            if (out.length === 0) continue;
            const value = out;
            out = [];
            return { done: false, value };
          }
          if (!usage) throw brokenStream('a stream without end');
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

const sumOf = (one: Usage, other: Usage): Usage => ({
  ...other,
  promptTokens: one.promptTokens + other.promptTokens,
  cachedTokens: one.cachedTokens + other.cachedTokens,
  completionTokens: one.completionTokens + other.completionTokens,
  ...(one.reasoningTokens === undefined && other.reasoningTokens === undefined
    ? {}
    : { reasoningTokens: (one.reasoningTokens ?? 0) + (other.reasoningTokens ?? 0) }),
});

const GONE = new ServiceError('cancelled', 'The request was cancelled.');

const brokenStream = (what: string): ServiceError =>
  new ServiceError('engine-failed', 'The engine failed on this request.', {
    cause: new Error(`broken stream: ${what}`),
  });
