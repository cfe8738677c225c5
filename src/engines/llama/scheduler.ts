import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { createFairQueue, type FairQueue } from '../fair-queue.ts';
import type { CompileGrammars } from '../grammar-compiler.ts';
import { YIELD_MS } from '../limits.ts';
import { MOVE_TIME_FACTOR, REEVALUATED_TOKENS_MAX, SAVE_RETRY_MS } from './limits.ts';
import { getWaitMsMax } from '../priority.ts';
import type { SampledToken } from '../choice-output.ts';
import { createAdmissionPolicy, type AdmissionPolicy } from './admission-policy.ts';
import { applyToken, createJobChoice, finishChoice, type ChoiceDeps } from './choice-steps.ts';
import { createDecodeItem, markEvaluated, orderSteps, planTick, type EvaluationStep } from './tick-plan.ts';
import { createExplicitCache, type ExplicitCache } from './explicit-cache.ts';
import { createGrammarGuard, type GrammarGuard } from './grammar-guard.ts';
import {
  createGenerationJob,
  hasSlot,
  canEvaluateAgain,
  isReadingPrompt,
  isRefusal,
  RETRY_AFTER_SECONDS,
  type GenerationListener,
  type JobChoice,
  type PausedChoice,
  type GenerationJob,
  type RunningChoice,
} from './job.ts';
import { countJobTokens, toRefusal } from './job-report.ts';
import { roundDownToSlice, type KvCache } from './kv-cache.ts';
import type { NativeModel } from './native-model.ts';
import type { PausedStates } from './paused-states.ts';
import { createPrefillPace } from './prefill-pace.ts';
import type { PrefixStore } from './prefix-store.ts';
import type { GenerateCall, SchedulerHealth, EngineRefusal, LineLogprob } from './protocol.ts';
import { reportPromptTokens } from './report-prompt-tokens.ts';
import type { LogitsIndex, LogitsIndexes } from './raw-probabilities.ts';
import { sampleToken } from './sampling.ts';
import { createSequenceAssigner } from './sequence-assigner.ts';
import { createSlotPool, type SlotPool } from './slot-pool.ts';
import { createTaskQueue, describeQueueRefusal } from './task-queue.ts';
import { createTokenizeInTurn, type TokenizeInTurn } from './tokenize-in-turn.ts';

export interface RunHandle {
  cancel(): void;
  resume(): void;
}

/**
 * Runs all sequences of one model in lock step.
 *
 * A tick consists of one generation step for every request and one slice of prefill, so that neither a new request nor
 * an abort waits for a long prompt. Seeded requests are evaluated alone, in slices of fixed size: the size of a batch
 * changes the last bits of the results, and thereby the text.
 */
export interface Scheduler {
  submit(call: GenerateCall, caller: GenerationListener): RunHandle;
  /**
   * Runs work on another context of the model between two ticks, on the same processor. It should not exceed a tick.
   */
  runBetweenTicks<T>(work: () => Promise<T>): Promise<T>;
  readonly tokenizeInTurn: TokenizeInTurn;
  health(): SchedulerHealth;
  /** Rejects new requests; resolves when no request runs any more. */
  drain(): Promise<void>;
}

export interface SchedulerOptions {
  readonly clock: Clock;
  /** Returns the processor time of the other threads of this process, in ms. */
  readonly cpuMs: () => number;
  /** Most choices of one request; with fewer sequences, they run one after the other. */
  readonly choicesMax: number;
  readonly queueLengthMax: number;
  readonly queueWaitMsMax: number;
  /** A client that reads nothing for this long, in ms, loses its answer, so that others can use its sequences. */
  readonly readerWaitMsMax: number;
  /** Share of the sequences that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare: number;
  /** The cells of the model's sequences. */
  readonly cells: KvCache;
  /** States of interrupted choices. */
  readonly pausedStates: PausedStates;
  readonly random: () => number;
  /** Most tokens of a tick that are predicted from repetitions; 0: none. */
  readonly draftTokens: number;
  readonly compileGrammars: CompileGrammars;
  /** Ends this process at once, even while a thread is stuck in the native library. */
  readonly killProcess: () => void;
  /** Storage for marked prompt prefixes. Absent: nothing is stored. */
  readonly prefixStore?: PrefixStore;
}

export const createScheduler = (model: NativeModel, options: SchedulerOptions): Scheduler =>
  new TickScheduler(model, options);

/** A choice to sample for, and where the logits of its next token are. */
interface Sampling {
  readonly choice: RunningChoice;
  readonly logitsIndex: LogitsIndex;
  /** Drafted tokens, and for each of them where the logits of the token after it are. */
  readonly draft: readonly number[];
  readonly draftLogits: readonly LogitsIndex[];
}

class TickScheduler implements Scheduler, ChoiceDeps {
  readonly model: NativeModel;
  private readonly options: SchedulerOptions;
  private readonly slots: SlotPool;
  readonly cells: KvCache;
  private readonly explicitCache: ExplicitCache;
  private readonly assignSequence: ReturnType<typeof createSequenceAssigner>;
  private readonly queue: FairQueue<GenerationJob>;
  private readonly prefillPace: ReturnType<typeof createPrefillPace>;
  /** Jobs that have been admitted. */
  private readonly jobs = new Set<GenerationJob>();
  private readonly admissionPolicy: AdmissionPolicy;
  private readonly grammarGuard: GrammarGuard;
  readonly tokenizeInTurn: TokenizeInTurn;
  private readonly sideTasks: (() => Promise<void>)[] = [];
  private isTicking = false;
  private isDraining = false;
  private idleListeners: (() => void)[] = [];
  private recheckTimer: NodeJS.Timeout | undefined;
  private ticks = 0;
  private draftTokens: number;
  private tokensTotal = 0;

  constructor(model: NativeModel, options: SchedulerOptions) {
    const { clock } = options;
    this.model = model;
    this.options = options;
    this.slots = createSlotPool(model.sequences);
    this.cells = options.cells;
    this.draftTokens = options.draftTokens;
    this.explicitCache = createExplicitCache({ model, cells: this.cells, store: options.prefixStore });
    this.assignSequence = createSequenceAssigner({
      slots: this.slots,
      cells: this.cells,
      explicit: this.explicitCache,
    });
    this.queue = createFairQueue<GenerationJob>({ lengthMax: options.queueLengthMax });
    this.prefillPace = createPrefillPace({ batchTokensMax: model.batchTokensMax });
    this.admissionPolicy = createAdmissionPolicy({
      queue: this.queue,
      jobs: this.jobs,
      slots: this.slots,
      clock,
      workspaceShare: options.workspaceShare,
    });
    const { queueLengthMax, queueWaitMsMax } = options;
    this.tokenizeInTurn = createTokenizeInTurn({
      between: this.runBetweenTicks,
      taskQueue: createTaskQueue({ queueLengthMax, queueWaitMsMax }),
    });
    this.grammarGuard = createGrammarGuard({
      clock,
      cpuMs: options.cpuMs,
      killProcess: options.killProcess,
      isIdle: () => this.jobs.size === 0 && this.queue.length === 0,
    });
  }

  health(): SchedulerHealth {
    return {
      busySequences: this.model.sequences - this.slots.freeCount,
      sequences: this.model.sequences,
      queued: this.queue.length,
      ticks: this.ticks,
      tokens: this.tokensTotal,
    };
  }

  drain(): Promise<void> {
    this.isDraining = true;
    return new Promise((resolve) => {
      this.idleListeners.push(resolve);
      this.notifyIfIdle();
    });
  }

  /** A field, because callers pass it on as a function. */
  readonly runBetweenTicks = <T>(work: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      this.sideTasks.push(() => work().then(resolve, reject));
      this.wake();
    });

  // ---- admission ----------------------------------------------------------------------------------------------------

  submit(request: GenerateCall, listener: GenerationListener): RunHandle {
    let job: GenerationJob | undefined;
    const canceled = new AbortController();
    const { signal } = canceled;
    void createGenerationJob(this.model, request, {
      caller: listener,
      compile: this.options.compileGrammars,
      tokenize: this.tokenizeInTurn,
      choicesMax: this.options.choicesMax,
      signal,
    })
      .then((result) => {
        if (signal.aborted) return;
        if (isRefusal(result)) return listener.refuse(result);
        job = result;
        this.enqueue(job);
      })
      // A fault in one request must not end the process, which serves other requests too.
      .catch((error: unknown) => {
        if (!signal.aborted) listener.refuse({ kind: 'internal', message: String(error) });
      });
    return {
      cancel: () => {
        canceled.abort();
        if (job) this.cancel(job);
      },
      resume: () => {
        if (!job) return;
        job.isPaused = false;
        clearTimeout(job.pauseTimer);
        this.wake();
      },
    };
  }

  private enqueue(job: GenerationJob): void {
    const refuse = (kind: EngineRefusal['kind'], message: string): void =>
      job.listener.refuse({ kind, message, retryAfterSeconds: RETRY_AFTER_SECONDS });
    if (this.isDraining) return refuse('draining', 'the engine is shutting down');
    const verdict = this.queue.add(job.call.owner, job);
    if (verdict !== 'added') return refuse(...describeQueueRefusal(verdict, this.options.queueLengthMax));
    const waitMs = getWaitMsMax(job.call.owner, this.options.queueWaitMsMax);
    job.waitTimer = setTimeout(() => {
      if (this.queue.remove(job)) refuse('queue-wait', `no sequence became free within ${waitMs} ms`);
    }, waitMs);
    this.wake();
  }

  private cancel(job: GenerationJob): void {
    job.isCancelled = true;
    if (this.queue.remove(job)) clearTimeout(job.waitTimer);
    else this.wake();
    this.notifyIfIdle();
  }

  /** Gives sequences to choices and jobs that wait, one by one. */
  private async admit(): Promise<void> {
    for (let admission = this.admissionPolicy.next(); admission; admission = this.admissionPolicy.next()) {
      const { next, interrupted, isOutranked = false } = admission;
      if (interrupted && !(await this.interrupt(interrupted, isOutranked))) continue;
      if ('job' in next) {
        await this.runOrFail(next.job, () => this.giveSequence(next));
        continue;
      }
      // While the state of the other was saved, the request may have been refused or cancelled.
      if (!this.queue.take(next)) continue;
      clearTimeout(next.waitTimer);
      this.jobs.add(next);
      await this.runOrFail(next, () => this.startJob(next));
    }
  }

  /**
   * Takes the sequence of a choice away, and saves its state, so that the choice continues later exactly where it stopped.
   * @returns false if it keeps the sequence for now: its state cannot be saved, and evaluating its tokens again would change
   *   its text, report its prompt again or take long.
   */
  private async interrupt(choice: RunningChoice, isOutranked: boolean): Promise<boolean> {
    const { slot, job } = choice;
    const tokens = [...slot.tokens];
    this.slots.release(slot);
    const startedAt = this.options.clock.monotonic();
    const state = tokens.length > 0 ? await this.options.pausedStates.save(slot) : undefined;
    const now = this.options.clock.monotonic();
    // A long evaluation could take all of the time for which it gets a sequence again.
    const mustKeep = !canEvaluateAgain(job) || (tokens.length > REEVALUATED_TOKENS_MAX && !isOutranked);
    if (!state && tokens.length > 0 && mustKeep) {
      this.slots.acquire(slot, job.call.owner.workspace);
      choice.keepsSlotUntil = now + SAVE_RETRY_MS;
      return false;
    }
    choice.paused = { tokens, state, saveMs: now - startedAt };
    (choice as JobChoice).slot = undefined;
    choice.slotChangedAt = now;
    return true;
  }

  /** Gives a choice of an admitted job a sequence: its first one, or one to continue with. */
  private async giveSequence(choice: JobChoice): Promise<void> {
    const { job, paused } = choice;
    const { workspace } = job.call.owner;
    const startedAt = this.options.clock.monotonic();
    choice.paused = undefined;
    await this.assignSlot(choice, paused, workspace);
    choice.slotChangedAt = this.options.clock.monotonic();
    const moveMs = paused?.state ? paused.saveMs + choice.slotChangedAt - startedAt : 0;
    choice.keepsSlotUntil = choice.slotChangedAt + moveMs * MOVE_TIME_FACTOR;
  }

  private async assignSlot(choice: JobChoice, paused: PausedChoice | undefined, workspace: string): Promise<void> {
    const { job } = choice;
    if (!job.isPromptEvaluated && choice.index > 0) {
      // It gets a copy of the prompt as soon as the first choice has evaluated it.
      const slot = this.slots.findFree();
      assert(slot, 'a sequence was free');
      this.slots.acquire(slot, workspace);
      this.cells.clear(slot);
      choice.slot = slot;
      return;
    }
    if (paused?.state) {
      const { state } = paused;
      const isUntouched = !state.slot.isBusy && state.slot.usedAt === state.slotUsedAt;
      const slot = isUntouched ? state.slot : this.slots.findFree();
      assert(slot, 'a sequence was free');
      this.slots.acquire(slot, workspace);
      const isLoaded = isUntouched || (await this.options.pausedStates.load(state, slot));
      this.options.pausedStates.drop(state);
      if (isLoaded) {
        choice.slot = slot;
        return;
      }
      this.slots.release(slot);
    }
    const isStart = !paused && choice.index === 0;
    const done = [...(paused?.tokens ?? []), ...choice.pending];
    // A choice without any tokens has missed the copy of the prompt.
    const context = done.length > 0 ? done : job.prompt;
    choice.slot = await this.assignSequence(job, isStart ? undefined : context);
    choice.pending = context.slice(choice.slot.tokens.length);
  }

  private async startJob(job: GenerationJob): Promise<void> {
    const { call, prompt } = job;
    const seed = call.sampling.seed ?? this.options.random();
    job.choices = Array.from({ length: call.choices }, (_, index) =>
      createJobChoice(this.model, job, { index, baseSeed: seed }),
    );
    const now = this.options.clock.monotonic();
    for (const choice of job.choices) choice.slotChangedAt = now;
    const [first] = job.choices;
    assert(first, 'a job has a choice');
    first.pending = [...prompt];
    await this.giveSequence(first);
    assert(hasSlot(first), 'it got a sequence');
    job.cachedTokens = first.slot.tokens.length;
    await this.explicitCache.saveReachedMarks(job, first.slot);
    const tokensLeft = this.model.loaded.contextTokens - prompt.length;
    job.lines.push({
      type: 'started',
      promptTokens: prompt.length,
      cachedTokens: job.cachedTokens,
      maxTokens: Math.min(call.maxTokens ?? tokensLeft, tokensLeft),
      ...(job.grammars.isWide ? { hasWideGrammar: true } : {}),
    });
    this.flushLines(job);
  }

  // ---- ticks --------------------------------------------------------------------------------------------------------

  private wake(): void {
    if (this.isTicking) return;
    this.isTicking = true;
    void this.runTicks();
  }

  private async runTicks(): Promise<void> {
    for (;;) {
      this.removeStoppedJobs();
      await this.admit();
      const isWorking = await this.tick();
      await this.sideTasks.shift()?.();
      // Lets Node serve sockets between ticks.
      await new Promise((resolve) => setImmediate(resolve));
      if (!isWorking && !this.hasWork()) break;
    }
    this.isTicking = false;
    clearTimeout(this.recheckTimer);
    // A waiting choice may get the sequence of a run whose reader is slow, after a while.
    if (this.admissionPolicy.isAnyWaiting()) this.recheckTimer = setTimeout(() => this.wake(), YIELD_MS).unref();
    this.notifyIfIdle();
  }

  private hasWork(): boolean {
    if (this.sideTasks.length > 0) return true;
    if ([...this.jobs].some((job) => job.isCancelled || job.isStalled || job.choices.some(isReady))) return true;
    return this.admissionPolicy.next() !== undefined;
  }

  /** @returns whether anything was evaluated. */
  private async tick(): Promise<boolean> {
    const ready = [...this.jobs].flatMap((job) => job.choices.filter(isReady));
    if (ready.length === 0) return false;
    this.ticks++;
    const { batched, separate } = planTick(ready, {
      tick: this.ticks,
      sliceTokens: (generating) => this.prefillPace.sliceTokens(generating),
      draftTokens: this.draftTokens,
      contextTokens: this.model.loaded.contextTokens,
    });

    if (batched.length > 0) await this.evaluate(batched);
    for (const step of separate) await this.evaluate([step]);
    for (const job of this.jobs) this.finishIfComplete(job);
    for (const job of this.jobs) this.releaseFinishedChoices(job);
    for (const job of this.jobs) this.flushLines(job);
    this.removeStoppedJobs();
    return true;
  }

  /** Evaluates one batch, and samples for each choice that has no pending tokens left. */
  private async evaluate(plannedSteps: readonly EvaluationStep[]): Promise<void> {
    const steps = orderSteps(plannedSteps);
    if (steps.length === 0) return;
    const items = steps.map(createDecodeItem);
    const startedAt = this.options.clock.monotonic();
    let logitsIndexes: readonly LogitsIndexes[];
    try {
      logitsIndexes = await this.model.decode(items);
    } catch (error) {
      for (const { choice } of steps) this.fail(choice.job, error);
      return;
    }
    const hasDrafts = steps.some(({ draft }) => draft !== undefined);
    // Drafts need logits for each token, so they do not show the speed of prefill.
    if (!hasDrafts)
      this.prefillPace.observe({
        tokens: items.reduce((sum, item) => sum + item.tokens.length, 0),
        items: items.length,
        ms: this.options.clock.monotonic() - startedAt,
      });

    // Everything below is in this function, because each further asynchronous one would cost a promise per token.
    const samplings: Sampling[] = [];
    for (const [at, { choice, tokens, draft = [] }] of steps.entries()) {
      // Its job has failed in this loop.
      if (!hasSlot(choice)) continue;
      const position = choice.slot.tokens.length;
      markEvaluated(choice, tokens);
      const stepLogits = logitsIndexes[at] ?? [];
      if (isReadingPrompt(choice.job)) {
        const report = { position, logitsIndexes: stepLogits };
        if (!(await this.runOrFail(choice.job, () => reportPromptTokens(this.model, choice.job, report)))) continue;
      }
      if (choice.job.cacheRequest && !choice.job.isCancelled)
        await this.explicitCache.saveReachedMarks(choice.job, choice.slot);
      const draftLogits = Array.from(stepLogits).slice(stepLogits.length - draft.length);
      const logitsIndex = stepLogits[stepLogits.length - 1 - draft.length];
      if (logitsIndex === undefined || choice.pending.length > 0 || choice.job.isCancelled) continue;
      const isFirst = !choice.job.isPromptEvaluated;
      if (isFirst && !(await this.runOrFail(choice.job, () => this.finishPrompt(choice)))) continue;
      if (choice.job.call.maxTokens === 0) {
        for (const each of choice.job.choices) finishChoice(each, { reason: 'length' });
        continue;
      }
      for (const sampledChoice of isFirst ? choice.job.choices.filter(hasSlot) : [choice])
        samplings.push({ choice: sampledChoice, logitsIndex, draft, draftLogits });
    }
    await this.sampleAll(samplings);
    if (!hasDrafts) return;
    for (const [at, { choice }] of steps.entries())
      if (hasSlot(choice)) this.removeRejected(choice, (items[at]?.position ?? 0) + (items[at]?.tokens.length ?? 0));
  }

  private async sampleAll(samplings: readonly Sampling[]): Promise<void> {
    // The first sampler may reorder the logits inside the library; the samplers after it only read them.
    const [head, ...rest] = samplings;
    if (!head) return;
    const failures: { choice: JobChoice; error: unknown }[] = [];
    const sampleOne = (sampling: Sampling) =>
      this.sample(sampling).catch((error: unknown) => void failures.push({ choice: sampling.choice, error }));
    await sampleOne(head);
    await Promise.all(rest.map(sampleOne));
    // Only after all samplings: failing a job disposes its samplers, and another choice of it may still be sampling.
    for (const { choice, error } of failures) this.fail(choice.job, error, choice);
  }

  /** Runs work for one job; an error fails only that job. */
  private async runOrFail(job: GenerationJob, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.fail(job, error);
      return false;
    }
  }

  /**
   * Copies the evaluated prompt to the other choices of the job that have a sequence; all of them then sample from the same
   * logits. The others evaluate what they cannot copy when they get one.
   */
  private async finishPrompt({ slot, job }: RunningChoice): Promise<void> {
    job.isPromptEvaluated = true;
    if (job.isSeeded) slot.seededTokens = roundDownToSlice(slot.tokens.length);
    for (const other of job.choices) if (hasSlot(other) && other.slot !== slot) await this.cells.copy(slot, other.slot);
  }

  /**
   * Samples the next token of a choice, and as long as the sampled token is the drafted one, the token after it. Each token is
   * sampled from the logits that it has without a draft.
   */
  private async sample({ choice, logitsIndex, draft, draftLogits }: Sampling): Promise<void> {
    let at: LogitsIndex | undefined = logitsIndex;
    let accepted = 0;
    while (at !== undefined) {
      const token: SampledToken<LineLogprob> = await sampleToken(this.model, this.grammarGuard, {
        choice,
        logitsIndex: at,
      });
      if (!token.isEndToken) this.tokensTotal++;
      if (!applyToken(this, choice, token) || token.id !== draft[accepted]) break;
      markEvaluated(choice, 1);
      at = draftLogits[accepted];
      accepted++;
    }
    if (draft.length > 0) choice.drafter.observe(draft.length, accepted);
  }

  /** Removes the cells of drafted tokens that were not sampled. @param cells Number of cells that the sequence has. */
  private removeRejected(choice: RunningChoice, cells: number): void {
    const { slot } = choice;
    if (slot.tokens.length >= cells) return;
    const context = [...slot.tokens, ...choice.pending];
    this.cells.truncate(slot, slot.tokens.length);
    if (slot.tokens.length > 0) return;
    // The model can only forget a whole sequence, so drafts would cost more than they save.
    this.draftTokens = 0;
    if (!choice.isFinished) choice.pending = context;
  }

  // ---- completion ---------------------------------------------------------------------------------------------------

  private finishIfComplete(job: GenerationJob): void {
    if (!job.choices.every((choice) => choice.isFinished)) return;
    job.lines.push({ type: 'finished', counts: countJobTokens(job) });
    this.flushLines(job);
    this.releaseJob(job);
    job.listener.end();
  }

  private fail(job: GenerationJob, error: unknown, choice?: JobChoice): void {
    if (!this.jobs.has(job)) return;
    // The content of the cells after a failed evaluation is unknown.
    for (const { slot } of job.choices) if (slot) this.cells.clear(slot);
    this.releaseJob(job);
    const failure = toRefusal(error, choice);
    if (!job.hasSentLines) return job.listener.refuse(failure);
    job.listener.send([{ type: 'failed', ...failure }]);
    job.listener.end();
  }

  /** Called only between two evaluations: a sequence must not change while the library works on it. */
  private removeStoppedJobs(): void {
    for (const job of this.jobs) {
      if (job.isStalled && !job.isCancelled) {
        job.listener.send([
          { type: 'failed', kind: 'slow-reader', message: 'The client did not read the response in time.' },
        ]);
        job.listener.end();
      }
      if (job.isStalled || job.isCancelled) this.releaseJob(job);
    }
  }

  private releaseJob(job: GenerationJob): void {
    this.jobs.delete(job);
    clearTimeout(job.pauseTimer);
    for (const choice of job.choices) {
      choice.isFinished = true;
      choice.pending = [];
      choice.sampler.dispose();
      if (choice.paused?.state) this.options.pausedStates.drop(choice.paused.state);
    }
    this.releaseFinishedChoices(job);
  }

  /** Releases the sequences of choices that are finished, while others of their job may still run. */
  private releaseFinishedChoices(job: GenerationJob): void {
    for (const choice of job.choices) {
      if (!choice.isFinished || !choice.slot) continue;
      this.slots.release(choice.slot);
      choice.slot = undefined;
    }
  }

  private flushLines(job: GenerationJob): void {
    if (job.lines.length === 0) return;
    const lines = job.lines;
    job.lines = [];
    job.hasSentLines = true;
    if (job.listener.send(lines)) return;
    job.isPaused = true;
    clearTimeout(job.pauseTimer);
    job.pauseTimer = setTimeout(() => {
      job.isStalled = true;
      this.wake();
    }, this.options.readerWaitMsMax);
  }

  private notifyIfIdle(): void {
    if (this.jobs.size > 0 || this.queue.length > 0) return;
    for (const resolve of this.idleListeners) resolve();
    this.idleListeners = [];
  }
}

const isReady = (choice: JobChoice): choice is RunningChoice =>
  hasSlot(choice) && !choice.isFinished && !choice.job.isPaused && !choice.job.isCancelled && choice.pending.length > 0;
