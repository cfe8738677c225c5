import type { RequestContext } from '../core/context.ts';
import type { ServiceError } from '../core/error.ts';
import type { ChoiceEvent, EngineEvent, GenerationEvent, Usage } from '../core/event.ts';
import { createCancelledError, createEngineFailedError } from '../core/generation-errors.ts';
import type { EngineRun } from '../engines/engine.ts';
import { createBlockStage } from './stages/block-stage.ts';
import type { Stage } from './stages/stage.ts';
import type { HoldBatch } from './stages/check-result.ts';
import { createUsageCount, type UsageCount } from './usage-count.ts';

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

/** Tokens of a run that reached the caller; those of a dropped call did not. */
export interface EmittedTokens {
  readonly answer: number;
  readonly thought: number;
}

/** @param emitted Tokens that the replaced run has emitted. */
type StartReplacement = (emitted: EmittedTokens) => Promise<ReplacementRun>;

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

/** State of a run, which the steps below read and change. */
interface RunState {
  readonly options: EventRunOptions;
  readonly usageCount: UsageCount;
  readonly startedAt: number;
  readonly blocks: readonly Stage<ChoiceEvent, GenerationEvent>[];
  readonly emit: (event: GenerationEvent) => void;
  /** Called when the caller disconnects. */
  readonly onAbort: () => void;
  source: AsyncIterator<readonly EngineEvent[]>;
  pushByChoice: readonly ((event: ChoiceEvent) => void)[];
  /** Set when a stage has asked for a replacement that is not started yet. */
  replacement: StartReplacement | undefined;
  emittedTokens: { answer: number; thought: number };
  /** Type of the block that is open. Read only where a run has a single choice. */
  openBlock: 'answer' | 'thought';
  /** Events of the next batch. */
  out: GenerationEvent[];
  /** Checks that the current batch waits for. */
  pendingChecks: Promise<void>[];
  /** Usage of the answer; known from its end event on. */
  usage: Usage | undefined;
  /** Choice ends that were emitted, and those that came from the engine. */
  emittedChoiceEnds: number;
  engineChoiceEnds: number;
  isEndedEarly: boolean;
  isFinished: boolean;
}

/**
 * Sends a run's engine events through the stages of their choice.
 *
 * The iterator is hand-written: `return` must work at once, also during a `next` and before the first one, and a layer
 * of generators costs several microtasks per batch.
 */
export function runEvents(first: EngineRun, options: EventRunOptions): AsyncIterable<readonly GenerationEvent[]> {
  const run = createRunState(first, options);
  const { signal } = options.context;
  // A run releases its resources as soon as its caller disconnects, also when nobody reads the events.
  signal.addEventListener('abort', run.onAbort, { once: true });
  if (signal.aborted) run.onAbort();
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        try {
          const value = await readBatch(run);
          if (value) return { done: false, value };
          if (!run.usage) throw createBrokenStreamError('the stream has no end event');
          finishRun(run, 'finished');
          return { done: true, value: undefined };
        } catch (error) {
          finishRun(run, signal.aborted ? 'cancelled' : 'failed');
          options.stopEngine(CANCELLED);
          throw error;
        }
      },
      async return() {
        finishRun(run, run.usage ? 'finished' : 'cancelled');
        options.stopEngine(CANCELLED);
        await run.source.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}

function createRunState(first: EngineRun, options: EventRunOptions): RunState {
  const run: RunState = {
    options,
    usageCount: createUsageCount(first),
    startedAt: performance.now(),
    blocks: Array.from({ length: options.choices }, (_, choice) => createBlockStage(choice)),
    emit(event) {
      if (event.type === 'choice-end') run.emittedChoiceEnds++;
      if (event.type === 'choice-end' && event.hasUnparsedCall) options.context.log.add({ hasUnparsedCall: true });
      if (event.type === 'block-start') run.openBlock = event.block.type === 'reasoning' ? 'thought' : 'answer';
      // A delta without text only counts the tokens of markup.
      if (event.type === 'block-delta' && event.text !== '') run.emittedTokens[run.openBlock] += event.tokens ?? 0;
      run.out.push(event);
    },
    onAbort: () => finishRun(run, run.usage ? 'finished' : 'cancelled'),
    source: first.batches[Symbol.asyncIterator](),
    pushByChoice: [],
    replacement: undefined,
    emittedTokens: { answer: 0, thought: 0 },
    openBlock: 'answer',
    out: [{ type: 'start', inputTokens: first.promptTokens ?? 0, cachedTokens: first.cachedTokens ?? 0 }],
    pendingChecks: [],
    usage: undefined,
    emittedChoiceEnds: 0,
    engineChoiceEnds: 0,
    isEndedEarly: false,
    isFinished: false,
  };
  const replace = (start: StartReplacement): void => {
    run.replacement = start;
  };
  connectChoices(run, (choice, holdBatch) => options.createStages(choice, holdBatch, replace));
  return run;
}

/** Connects the stages of each choice with its block stage. */
function connectChoices(run: RunState, createStages: ReplacementRun['createStages']): void {
  const holdBatch: HoldBatch = (check) => {
    // Another error may end the batch first, or its reader may have left; then nobody awaits the promise.
    check.catch(() => undefined);
    run.pendingChecks.push(check);
  };
  run.pushByChoice = run.blocks.map((block, choice) =>
    createStages(choice, holdBatch).reduceRight<(event: ChoiceEvent) => void>(
      (next, stage) => (event) => stage.push(event, next),
      (event) => block.push(event, run.emit),
    ),
  );
}

/** Reads engine events until some events can be emitted. @returns undefined at the end. */
async function readBatch(run: RunState): Promise<readonly GenerationEvent[] | undefined> {
  const { choices } = run.options;
  while (!run.isEndedEarly) {
    const step = await run.source.next();
    if (step.done === true) return undefined;
    for (const event of step.value) {
      handleEvent(run, event);
      if (run.replacement) break;
    }
    if (run.pendingChecks.length > 0) await waitForChecks(run);
    if (run.replacement) await switchToReplacement(run, run.replacement);
    if (!run.usage && run.emittedChoiceEnds === choices && run.engineChoiceEnds < choices) await endEarly(run);
    if (run.out.length === 0) continue;
    const value = run.out;
    run.out = [];
    return value;
  }
  return undefined;
}

function handleEvent(run: RunState, event: EngineEvent): void {
  if (run.usage) throw createBrokenStreamError('an event follows the end event');
  if (event.type === 'end') return endAnswer(run, event.usage);
  if (event.type === 'prompt') return run.emit(event);
  if (event.type === 'text' || event.type === 'reasoning') {
    run.usageCount.addOutput(event.type, event.tokens);
    run.options.onOutput?.(event);
  }
  if (event.type === 'choice-end') run.engineChoiceEnds++;
  const push = run.pushByChoice[event.choice];
  if (!push) throw createBrokenStreamError('an event belongs to a choice that was not requested');
  push(event);
}

/** Emits the end. @param reported Usage of the current run; default: what the events show. */
function endAnswer(run: RunState, reported?: Usage): void {
  for (const stage of run.blocks) stage.end(run.emit);
  run.usage = run.usageCount.sumRuns(reported);
  run.emit({ type: 'end', usage: run.usage });
}

async function waitForChecks(run: RunState): Promise<void> {
  const checks = run.pendingChecks;
  run.pendingChecks = [];
  await Promise.all(checks);
}

/** Ends the run when stages have ended every choice before the engine did: no further output is needed. */
async function endEarly(run: RunState): Promise<void> {
  run.isEndedEarly = true;
  await run.source.return?.();
  endAnswer(run);
}

async function switchToReplacement(run: RunState, start: StartReplacement): Promise<void> {
  run.replacement = undefined;
  await run.source.return?.();
  run.engineChoiceEnds = 0;
  run.usageCount.endRun();
  const { started, createStages } = await start(run.emittedTokens);
  run.usageCount.startRun(started);
  run.source = started.batches[Symbol.asyncIterator]();
  connectChoices(run, createStages);
}

function finishRun(run: RunState, outcome: RunOutcome): void {
  if (run.isFinished) return;
  run.isFinished = true;
  const { context, onFinish } = run.options;
  context.signal.removeEventListener('abort', run.onAbort);
  const consumed = run.usage ?? run.usageCount.sumRuns();
  context.log.add({
    promptTokens: consumed.promptTokens,
    cachedTokens: consumed.cachedTokens,
    completionTokens: consumed.completionTokens,
    generateMs: Math.round(performance.now() - run.startedAt),
    ended: outcome,
  });
  onFinish(consumed, outcome);
}

const CANCELLED = createCancelledError();

const createBrokenStreamError = (problem: string): ServiceError =>
  createEngineFailedError(new Error(`broken stream: ${problem}`));
