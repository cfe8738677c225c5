import type { RequestContext } from '../core/context.ts';
import type { ServiceError } from '../core/error.ts';
import type { EngineEvent, GenerationEvent, Usage } from '../core/event.ts';
import type { EngineRun } from '../engines/engine.ts';
import { createBlockStage } from './stages/block-stage.ts';
import type { Stage } from './stages/stage.ts';
import type { HoldBatch } from './stages/check-result.ts';
import { createCancelledError, createEngineFailedError } from '../core/generation-errors.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/** An engine event that contains generated tokens. */
export type OutputEvent = Extract<EngineEvent, { type: 'text' | 'reasoning' }>;

export type RunOutcome = 'finished' | 'cancelled' | 'failed';

/** The stages that process the events of one choice before they become blocks; created anew for each choice. */
export type Stages = readonly Stage<ChoiceEvent, ChoiceEvent>[];

/** A run that continues the answer of another one. */
export interface ReplacementRun {
  readonly started: EngineRun;
  readonly createStages: (choice: number, holdBatch: HoldBatch) => Stages;
}

/** @param replacedUsage Usage of the run that is replaced. */
type StartReplacement = (replacedUsage: Usage) => Promise<ReplacementRun>;

export interface EventRunOptions {
  readonly choices: number;
  /**
   * @param holdBatch Holds the current batch until the promise resolves.
   * @param replace Ends this run and continues with another one; only for a single choice, and once.
   */
  readonly createStages: (choice: number, holdBatch: HoldBatch, replace: (start: StartReplacement) => void) => Stages;
  readonly context: RequestContext;
  /** Cancels the work in the engine. */
  readonly stopEngine: (reason: ServiceError) => void;
  /** Called for each output event before any stage runs. */
  readonly onOutput?: (event: OutputEvent) => void;
  /** Called once, whatever ends the run, with the tokens that were really consumed. */
  readonly onFinish: (usage: Usage, outcome: RunOutcome) => void;
}

/**
 * Sends a run's engine events through the stages of their choice.
 *
 * The iterator is hand-written: `return` must work at once, also during a `next` and before the first one, and a layer
 * of generators costs several microtasks per batch.
 */
export function runEvents(first: EngineRun, options: EventRunOptions): AsyncIterable<readonly GenerationEvent[]> {
  const { choices, context, stopEngine } = options;
  let started = first;
  let source = started.batches[Symbol.asyncIterator]();
  let replacement: StartReplacement | undefined;
  const startedAt = performance.now();
  let out: GenerationEvent[] = [
    { type: 'start', inputTokens: started.promptTokens ?? 0, cachedTokens: started.cachedTokens ?? 0 },
  ];
  let outputTokens = 0;
  let reasoningTokens = 0;
  /** Usage of replaced runs. */
  let replacedUsage: Usage | undefined;
  let usage: Usage | undefined;
  let isFinished = false;

  /** Choice ends that were emitted, and those that came from the engine. */
  let emittedChoiceEnds = 0;
  let engineChoiceEnds = 0;
  let isEndedEarly = false;

  const emit = (event: GenerationEvent): void => {
    if (event.type === 'choice-end') emittedChoiceEnds++;
    out.push(event);
  };

  let pendingChecks: Promise<void>[] = [];
  const holdBatch = (check: Promise<void>): void => {
    // Another error may end the batch first, or its reader may have left; then nobody awaits the promise.
    check.catch(() => undefined);
    pendingChecks.push(check);
  };
  const waitForChecks = async (): Promise<void> => {
    const all = pendingChecks;
    pendingChecks = [];
    await Promise.all(all);
  };

  const replace = (start: StartReplacement): void => {
    replacement = start;
  };
  const blocks = Array.from({ length: choices }, (_, choice) => createBlockStage(choice));
  const connectStages = (choice: number, stages: Stages): ((event: ChoiceEvent) => void) =>
    stages.reduceRight<(event: ChoiceEvent) => void>(
      (next, stage) => (event) => stage.push(event, next),
      (event) => blocks[choice]?.push(event, emit),
    );
  let pushByChoice = blocks.map((_, choice) => connectStages(choice, options.createStages(choice, holdBatch, replace)));

  const handleEvent = (event: EngineEvent): void => {
    if (usage) throw createBrokenStreamError('an event follows the end event');
    if (event.type === 'end') {
      for (const stage of blocks) stage.end(emit);
      usage = replacedUsage ? addUsage(replacedUsage, event.usage) : event.usage;
      emit({ type: 'end', usage });
      return;
    }
    if (event.type === 'text' || event.type === 'reasoning') {
      outputTokens += event.tokens;
      options.onOutput?.(event);
    }
    if (event.type === 'reasoning') reasoningTokens += event.tokens;
    if (event.type === 'choice-end') engineChoiceEnds++;
    const push = pushByChoice[event.choice];
    if (!push) throw createBrokenStreamError('an event belongs to a choice that was not requested');
    push(event);
  };

  /** Returns the usage known from the events, for a run that ended without reporting it. */
  const getMeasuredUsage = (): Usage => ({
    promptTokens: started.promptTokens ?? 0,
    cachedTokens: started.cachedTokens ?? 0,
    completionTokens: outputTokens,
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  });

  /** Ends the run when stages have ended every choice before the engine did: no further output is needed. */
  const endEarly = async (): Promise<void> => {
    isEndedEarly = true;
    await source.return?.();
    for (const stage of blocks) stage.end(emit);
    usage = replacedUsage ? addUsage(replacedUsage, getMeasuredUsage()) : getMeasuredUsage();
    emit({ type: 'end', usage });
  };

  const switchToReplacement = async (start: StartReplacement): Promise<void> => {
    replacement = undefined;
    await source.return?.();
    replacedUsage = getMeasuredUsage();
    outputTokens = 0;
    reasoningTokens = 0;
    engineChoiceEnds = 0;
    const next = await start(replacedUsage);
    started = next.started;
    source = started.batches[Symbol.asyncIterator]();
    pushByChoice = blocks.map((_, choice) => connectStages(choice, next.createStages(choice, holdBatch)));
  };

  const finish = (outcome: RunOutcome): void => {
    if (isFinished) return;
    isFinished = true;
    context.signal.removeEventListener('abort', onAbort);
    const consumed = usage ?? (replacedUsage ? addUsage(replacedUsage, getMeasuredUsage()) : getMeasuredUsage());
    context.log.add({
      promptTokens: consumed.promptTokens,
      cachedTokens: consumed.cachedTokens,
      completionTokens: consumed.completionTokens,
      generateMs: Math.round(performance.now() - startedAt),
      ended: outcome,
    });
    options.onFinish(consumed, outcome);
  };

  // A run releases its resources as soon as its caller disconnects, also when nobody reads the events.
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
              handleEvent(event);
              if (replacement) break;
            }
            if (pendingChecks.length > 0) await waitForChecks();
            if (replacement) await switchToReplacement(replacement);
            if (!usage && emittedChoiceEnds === choices && engineChoiceEnds < choices) await endEarly();
            if (out.length === 0) continue;
            const value = out;
            out = [];
            return { done: false, value };
          }
          if (!usage) throw createBrokenStreamError('the stream has no end event');
          finish('finished');
          return { done: true, value: undefined };
        } catch (error) {
          finish(context.signal.aborted ? 'cancelled' : 'failed');
          stopEngine(CANCELLED);
          throw error;
        }
      },
      async return() {
        finish(usage ? 'finished' : 'cancelled');
        stopEngine(CANCELLED);
        await source.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}

const addUsage = (first: Usage, second: Usage): Usage => ({
  ...second,
  promptTokens: first.promptTokens + second.promptTokens,
  cachedTokens: first.cachedTokens + second.cachedTokens,
  completionTokens: first.completionTokens + second.completionTokens,
  ...(first.reasoningTokens === undefined && second.reasoningTokens === undefined
    ? {}
    : { reasoningTokens: (first.reasoningTokens ?? 0) + (second.reasoningTokens ?? 0) }),
});

const CANCELLED = createCancelledError();

const createBrokenStreamError = (problem: string): ServiceError =>
  createEngineFailedError(new Error(`broken stream: ${problem}`));
