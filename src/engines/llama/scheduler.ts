import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { getWaitMsMax } from '../priority.ts';
import { createAdmissionPolicy } from './admission-policy.ts';
import { createKvCache, roundDownToSlice } from './kv-cache.ts';
import { createChoiceOutput } from '../choice-output.ts';
import type { ChoiceOutput, ChoiceEnd, PhaseEnd, SampledToken } from '../choice-output.ts';
import { countCacheTokens, createExplicitCache } from './explicit-cache.ts';
import { createFairQueue } from '../fair-queue.ts';
import { findSchemaField } from '../grammar-compiler.ts';
import type { CompileGrammars } from '../grammar-compiler.ts';
import { createGrammarGuard, SlowGrammarError } from './grammar-guard.ts';
import { createGenerationJob, isRefusal, RETRY_AFTER_SECONDS } from './job.ts';
import type { GenerationListener, JobChoice, GenerationJob } from './job.ts';
import type { DecodeItem, NativeModel } from './native-model.ts';
import type { LogitsIndex } from './raw-probabilities.ts';
import { createPrefillPace } from './prefill-pace.ts';
import type { PrefixStore } from './prefix-store.ts';
import type { GenerateCall, SchedulerHealth, EngineRefusal, LineLogprob } from './protocol.ts';
import { createPhaseSampler, sampleToken } from './sampling.ts';
import { planTick } from './tick-plan.ts';
import type { EvaluationStep } from './tick-plan.ts';
import { createSlotPool } from './slot-pool.ts';
import type { Slot } from './slot-pool.ts';
import { createSequenceAssigner } from './sequence-assigner.ts';
import { tokenizeSegments } from './tokenize-input.ts';

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
  health(): SchedulerHealth;
  /** Rejects new requests; resolves when no request runs any more. */
  drain(): Promise<void>;
}

export interface SchedulerOptions {
  readonly clock: Clock;
  /** Returns the processor time of the other threads of this process, in ms. */
  readonly cpuMs: () => number;
  readonly queueLengthMax: number;
  readonly queueWaitMsMax: number;
  /** A client that reads nothing for this long, in ms, loses its answer, so that others can use its sequences. */
  readonly readerWaitMsMax: number;
  /** File through which sequence states are copied. */
  readonly stateFile: string;
  readonly random: () => number;
  readonly compileGrammars: CompileGrammars;
  /** Ends this process at once, even while a thread is stuck in the native library. */
  readonly killProcess: () => void;
  /** Storage for marked prompt prefixes. Absent: nothing is stored. */
  readonly prefixStore?: PrefixStore;
}

export function createScheduler(model: NativeModel, options: SchedulerOptions): Scheduler {
  const { clock } = options;
  const { contextTokens } = model.loaded;
  const slots = createSlotPool(model.sequences);
  const cells = createKvCache(model, options.stateFile);
  const explicitCache = createExplicitCache({ model, cells, store: options.prefixStore });
  const assignSequence = createSequenceAssigner({ slots, cells, explicit: explicitCache });
  const queue = createFairQueue<GenerationJob>({ lengthMax: options.queueLengthMax });
  const prefillPace = createPrefillPace({ batchTokensMax: model.batchTokensMax });
  const jobs = new Set<GenerationJob>();
  const admissionPolicy = createAdmissionPolicy({ queue, jobs, slots, clock });
  const grammarGuard = createGrammarGuard({
    clock,
    cpuMs: options.cpuMs,
    killProcess: options.killProcess,
    isIdle: () => jobs.size === 0 && queue.length === 0,
  });
  const sideTasks: (() => Promise<void>)[] = [];
  let isTicking = false;
  let isDraining = false;
  let idleListeners: (() => void)[] = [];
  let ticks = 0;
  let tokensTotal = 0;

  // ---- admission ----------------------------------------------------------------------------------------------------

  const submit = (request: GenerateCall, listener: GenerationListener): RunHandle => {
    let job: GenerationJob | undefined;
    const canceled = new AbortController();
    const { signal } = canceled;
    void createGenerationJob(model, request, {
      caller: listener,
      compile: options.compileGrammars,
      signal,
    })
      .then((result) => {
        if (signal.aborted) return;
        if (isRefusal(result)) return listener.refuse(result);
        job = result;
        enqueue(job);
      })
      // A fault in one request must not end the process, which serves other requests too.
      .catch((error: unknown) => {
        if (!signal.aborted) listener.refuse({ kind: 'internal', message: String(error) });
      });
    return {
      cancel() {
        canceled.abort();
        if (job) cancel(job);
      },
      resume() {
        if (!job) return;
        job.isPaused = false;
        clearTimeout(job.pauseTimer);
        wake();
      },
    };
  };

  const enqueue = (job: GenerationJob): void => {
    const refuse = (kind: EngineRefusal['kind'], message: string): void =>
      job.listener.refuse({ kind, message, retryAfterSeconds: RETRY_AFTER_SECONDS });
    if (isDraining) return refuse('draining', 'the engine is shutting down');
    const verdict = queue.add(job.call.owner, job);
    if (verdict === 'full')
      return refuse('queue-full', `the queue of the model is full (${options.queueLengthMax} requests)`);
    if (verdict === 'key-share') return refuse('key-share', 'this API key already has half of the queue');
    const waitMs = getWaitMsMax(job.call.owner, options.queueWaitMsMax);
    job.waitTimer = setTimeout(() => {
      if (queue.remove(job)) refuse('queue-wait', `no sequence became free within ${waitMs} ms`);
    }, waitMs);
    wake();
  };

  const cancel = (job: GenerationJob): void => {
    job.isCancelled = true;
    if (queue.remove(job)) clearTimeout(job.waitTimer);
    else wake();
    notifyIfIdle();
  };

  /** Gives waiting jobs their sequences; a job gets all of its sequences at once. */
  const admit = async (): Promise<void> => {
    for (let admission = admissionPolicy.next(); admission; admission = admissionPolicy.next()) {
      const { job } = admission;
      for (const victim of admission.preempted) preempt(victim);
      if (jobs.has(job)) {
        await runOrFail(job, () => resumeJob(job));
        continue;
      }
      queue.take();
      clearTimeout(job.waitTimer);
      jobs.add(job);
      await runOrFail(job, () => startJob(job));
    }
  };

  /** Releases the sequences of a job for another one. Its tokens become pending and are evaluated again later. */
  const preempt = (job: GenerationJob): void => {
    job.isPreempted = true;
    for (const choice of job.choices) choice.pending = [...choice.slot.tokens, ...choice.pending];
    for (const slot of job.slots.splice(0)) slots.release(slot);
  };

  const resumeJob = async (job: GenerationJob): Promise<void> => {
    job.isPreempted = false;
    for (const choice of job.choices) {
      choice.slot = await assignSequence(job, choice.pending);
      choice.pending = choice.pending.slice(choice.slot.tokens.length);
    }
  };

  const startJob = async (job: GenerationJob): Promise<void> => {
    const { call, prompt } = job;
    const { workspace } = call.owner;
    const slot = await assignSequence(job);
    const first = createChoice(job, slot, 0);
    job.choices = [first];
    const reusedTokens = slot.tokens.length;
    await explicitCache.saveReachedMarks(job, slot);
    while (job.choices.length < call.choices) {
      const next = slots.findFree();
      assert(next, 'a sequence was free');
      slots.acquire(next, workspace);
      job.slots.push(next);
      cells.clear(next);
      job.choices.push(createChoice(job, next, job.choices.length));
    }
    job.cachedTokens = reusedTokens;
    first.pending = prompt.slice(reusedTokens);
    const tokensLeft = contextTokens - prompt.length;
    job.lines.push({
      type: 'started',
      promptTokens: prompt.length,
      cachedTokens: reusedTokens,
      maxTokens: Math.min(call.maxTokens ?? tokensLeft, tokensLeft),
    });
    flushLines(job);
  };

  const createChoice = (job: GenerationJob, slot: Slot, index: number): JobChoice => {
    const seed = ((job.call.sampling.seed ?? options.random()) + index) >>> 0;
    return {
      job,
      index,
      slot,
      seed,
      output: createChoiceOutput<LineLogprob>(job.call, {
        triggers: job.triggers,
        onDelta: (delta) => job.lines.push({ type: 'token', choice: index, ...delta }),
      }),
      sampler: createPhaseSampler(model, job, { seed, phase: 0, history: [] }),
      pending: [],
      sampledTokens: [],
      phaseStart: job.prompt.length,
      phaseTokens: [],
      isFinished: false,
      slowMs: 0,
    };
  };

  // ---- ticks --------------------------------------------------------------------------------------------------------

  const wake = (): void => {
    if (isTicking) return;
    isTicking = true;
    void runTicks();
  };

  const runTicks = async (): Promise<void> => {
    for (;;) {
      removeStoppedJobs();
      await admit();
      const isWorking = await tick();
      await sideTasks.shift()?.();
      // Lets Node serve sockets between ticks.
      await new Promise((resolve) => setImmediate(resolve));
      if (!isWorking && !hasWork()) break;
    }
    isTicking = false;
    notifyIfIdle();
  };

  const isReady = (choice: JobChoice): boolean =>
    !choice.isFinished && !isBlocked(choice.job) && choice.pending.length > 0;

  const isBlocked = ({ isPaused, isCancelled, isPreempted }: GenerationJob): boolean =>
    isPaused || isCancelled || isPreempted;

  const hasWork = (): boolean => {
    if (sideTasks.length > 0) return true;
    if ([...jobs].some((job) => job.isCancelled || job.isStalled || job.choices.some(isReady))) return true;
    return admissionPolicy.next() !== undefined;
  };

  /** @returns whether anything was evaluated. */
  const tick = async (): Promise<boolean> => {
    const ready = [...jobs].flatMap((job) => job.choices.filter(isReady));
    if (ready.length === 0) return false;
    ticks++;
    const { batched, separate } = planTick(ready, {
      tick: ticks,
      sliceTokens: (generating) => prefillPace.sliceTokens(generating),
    });

    if (batched.length > 0) await evaluate(batched);
    for (const step of separate) await evaluate([step]);
    for (const job of jobs) finishIfComplete(job);
    for (const job of jobs) flushLines(job);
    removeStoppedJobs();
    return true;
  };

  /** Evaluates one batch, and samples for each choice that has no pending tokens left. */
  const evaluate = async (plannedSteps: readonly EvaluationStep[]): Promise<void> => {
    // The library evaluates adjacent sequences in ascending order in one pass over the weights; other orders take more.
    const steps = plannedSteps
      .filter(({ choice }) => !choice.isFinished)
      .toSorted((a, b) => a.choice.slot.sequence - b.choice.slot.sequence);
    if (steps.length === 0) return;
    const items: DecodeItem[] = steps.map(({ choice, tokens }) => ({
      sequence: choice.slot.sequence,
      position: choice.slot.tokens.length,
      tokens: choice.pending.slice(0, tokens),
      wantsLogits: tokens === choice.pending.length,
    }));
    const startedAt = clock.monotonic();
    let logitsIndexes: readonly (LogitsIndex | undefined)[];
    try {
      logitsIndexes = await model.decode(items);
    } catch (error) {
      for (const { choice } of steps) fail(choice.job, error);
      return;
    }
    prefillPace.observe({
      tokens: items.reduce((sum, item) => sum + item.tokens.length, 0),
      items: items.length,
      ms: clock.monotonic() - startedAt,
    });

    const samplings: { choice: JobChoice; logitsIndex: LogitsIndex }[] = [];
    for (const [at, { choice, tokens }] of steps.entries()) {
      for (const token of choice.pending.splice(0, tokens)) choice.slot.tokens.push(token);
      if (choice.job.cacheRequest && !choice.job.isCancelled)
        await explicitCache.saveReachedMarks(choice.job, choice.slot);
      const logitsIndex = logitsIndexes[at];
      if (logitsIndex === undefined || choice.job.isCancelled) continue;
      const isFirst = !choice.job.isPromptEvaluated;
      if (isFirst && !(await runOrFail(choice.job, () => finishPrompt(choice)))) continue;
      for (const sampledChoice of isFirst ? choice.job.choices : [choice])
        samplings.push({ choice: sampledChoice, logitsIndex: logitsIndex });
    }
    // The first sampler may reorder the logits inside the library; the samplers after it only read them.
    const [head, ...rest] = samplings;
    if (!head) return;
    const failures: { choice: JobChoice; error: unknown }[] = [];
    const sampleOne = ({ choice, logitsIndex }: { choice: JobChoice; logitsIndex: LogitsIndex }) =>
      sample(choice, logitsIndex).catch((error: unknown) => void failures.push({ choice, error }));
    await sampleOne(head);
    await Promise.all(rest.map(sampleOne));
    // Only after all samplings: failing a job disposes its samplers, and another choice of it may still be sampling.
    for (const { choice, error } of failures) fail(choice.job, error, choice);
  };

  /** Runs work for one job; an error fails only that job. */
  const runOrFail = async (job: GenerationJob, work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      fail(job, error);
      return false;
    }
  };

  /** Copies the evaluated prompt to the other choices of the job; all choices then sample from the same logits. */
  const finishPrompt = async ({ slot, job }: JobChoice): Promise<void> => {
    job.isPromptEvaluated = true;
    if (job.isSeeded) slot.seededTokens = roundDownToSlice(slot.tokens.length);
    for (const other of job.choices) if (other.slot !== slot) await cells.copy(slot, other.slot);
  };

  const sample = async (choice: JobChoice, logitsIndex: LogitsIndex): Promise<void> => {
    const token = await sampleToken(model, grammarGuard, { choice, logitsIndex: logitsIndex });
    if (!token.isEndToken) {
      tokensTotal++;
      choice.sampledTokens.push(token.id);
      choice.phaseTokens.push(token.id);
    }
    handleToken(choice, token);
  };

  /** Applies a sampled token to its choice. */
  const handleToken = (choice: JobChoice, token: SampledToken<LineLogprob>): void => {
    const result = choice.output.push(token);
    switch (result.type) {
      case 'more':
        // The context limits prompt and answer together, including the last token.
        if (choice.slot.tokens.length + 1 < contextTokens) choice.pending = [token.id];
        else finishChoice(choice, choice.output.finishAtContextLimit());
        return;
      case 'finished':
        finishChoice(choice, result);
        return;
      case 'phase-end':
        startNextPhase(choice, result);
    }
  };

  const startNextPhase = (choice: JobChoice, { keepTokens, keepText, append }: PhaseEnd): void => {
    const { slot, job, output } = choice;
    const keepLength = choice.phaseStart + keepTokens;
    const context = [
      ...slot.tokens.slice(0, choice.phaseStart),
      ...choice.phaseTokens.slice(0, keepTokens),
      ...tokenizeSegments(model, [{ text: keepText, special: false }, ...append]),
    ];
    // At least one token must be evaluated: its logits determine the first token of the phase.
    const keptTokens = Math.min(slot.tokens.length, keepLength, context.length - 1);
    if (keptTokens < slot.tokens.length) cells.truncate(slot, keptTokens);
    choice.pending = context.slice(slot.tokens.length);
    choice.phaseStart = context.length;
    choice.phaseTokens = [];
    const sampler = createPhaseSampler(model, job, {
      seed: choice.seed,
      phase: output.phase,
      history: choice.sampledTokens,
    });
    choice.sampler.dispose();
    choice.sampler = sampler;
    if (context.length >= contextTokens) finishChoice(choice, { reason: 'length' });
  };

  // ---- completion ---------------------------------------------------------------------------------------------------

  const finishChoice = (choice: JobChoice, { reason, stop }: Omit<ChoiceEnd, 'type'>): void => {
    choice.isFinished = true;
    choice.pending = [];
    choice.job.lines.push({
      type: 'choice-finished',
      choice: choice.index,
      reason,
      ...(stop === undefined ? {} : { stop }),
    });
  };

  const finishIfComplete = (job: GenerationJob): void => {
    if (!job.choices.every((choice) => choice.isFinished)) return;
    const sum = (count: (output: ChoiceOutput<LineLogprob>) => number): number =>
      job.choices.reduce((total, { output }) => total + count(output), 0);
    job.lines.push({
      type: 'finished',
      counts: {
        promptTokens: job.prompt.length,
        cachedTokens: job.cachedTokens,
        completionTokens: sum((output) => output.totalTokens),
        ...countCacheTokens(job),
        thoughtTokens: sum((output) => output.thoughtTokens),
      },
    });
    flushLines(job);
    releaseJob(job);
    job.listener.end();
  };

  const fail = (job: GenerationJob, error: unknown, choice?: JobChoice): void => {
    if (!jobs.has(job)) return;
    // The content of the cells after a failed evaluation is unknown.
    for (const slot of job.slots) cells.clear(slot);
    releaseJob(job);
    const failure = toRefusal(error, choice);
    if (!job.hasSentLines) return job.listener.refuse(failure);
    job.listener.send([{ type: 'failed', ...failure }]);
    job.listener.end();
  };

  /** Reports a slow grammar as an invalid request; every other error is internal. */
  const toRefusal = (error: unknown, choice: JobChoice | undefined): EngineRefusal => {
    if (!(error instanceof SlowGrammarError)) return { kind: 'internal', message: String(error) };
    const field = findSchemaField(choice?.job.call.phases[choice.output.phase]?.grammar);
    return { kind: 'invalid', message: error.message, ...(field === undefined ? {} : { param: field }) };
  };

  /** Called only between two evaluations: a sequence must not change while the library works on it. */
  const removeStoppedJobs = (): void => {
    for (const job of jobs) {
      if (job.isStalled && !job.isCancelled) {
        job.listener.send([
          { type: 'failed', kind: 'slow-reader', message: 'The client did not read the response in time.' },
        ]);
        job.listener.end();
      }
      if (job.isStalled || job.isCancelled) releaseJob(job);
    }
  };

  const releaseJob = (job: GenerationJob): void => {
    jobs.delete(job);
    clearTimeout(job.pauseTimer);
    for (const choice of job.choices) {
      choice.isFinished = true;
      choice.pending = [];
      choice.sampler.dispose();
    }
    for (const slot of job.slots) slots.release(slot);
  };

  const flushLines = (job: GenerationJob): void => {
    if (job.lines.length === 0) return;
    const lines = job.lines;
    job.lines = [];
    job.hasSentLines = true;
    if (job.listener.send(lines)) return;
    job.isPaused = true;
    clearTimeout(job.pauseTimer);
    job.pauseTimer = setTimeout(() => {
      job.isStalled = true;
      wake();
    }, options.readerWaitMsMax);
  };

  const notifyIfIdle = (): void => {
    if (jobs.size > 0 || queue.length > 0) return;
    for (const resolve of idleListeners) resolve();
    idleListeners = [];
  };

  return {
    submit,
    runBetweenTicks: (work) =>
      new Promise((resolve, reject) => {
        sideTasks.push(() => work().then(resolve, reject));
        wake();
      }),
    health: () => ({
      busySequences: model.sequences - slots.freeCount,
      sequences: model.sequences,
      queued: queue.length,
      ticks,
      tokens: tokensTotal,
    }),
    drain() {
      isDraining = true;
      return new Promise((resolve) => {
        idleListeners.push(resolve);
        notifyIfIdle();
      });
    },
  };
}
