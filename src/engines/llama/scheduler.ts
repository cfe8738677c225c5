import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { waitMsOf } from '../priority.ts';
import { createAdmissionOrder } from './admission-order.ts';
import { createCells, wholeSlices } from './cells.ts';
import { createChoiceOutput } from '../choice-output.ts';
import type { ChoiceOutput, Finished, PhaseEnd, SampledToken } from '../choice-output.ts';
import { cacheCounts, createExplicitCache } from './explicit-cache.ts';
import { createFairQueue } from '../fair-queue.ts';
import { fieldOf } from '../grammar-compiler.ts';
import type { CompileGrammars } from '../grammar-compiler.ts';
import { createGrammarGuard, SlowGrammarError } from './grammar-guard.ts';
import { createJob, isRefusal, RETRY_AFTER_SECONDS } from './job.ts';
import type { Caller, Choice, Job } from './job.ts';
import type { DecodeItem, NativeModel } from './native-model.ts';
import type { LogitPlace } from './raw-probabilities.ts';
import { createPrefillPace } from './prefill-pace.ts';
import type { PrefixStore } from './prefix-store.ts';
import type { GenerateCall, Health, Refusal, WireLogprob } from './protocol.ts';
import { newSampler, sampleToken } from './sampling.ts';
import { planTick } from './tick-plan.ts';
import type { Step } from './tick-plan.ts';
import { createSlots } from './slots.ts';
import type { Slot } from './slots.ts';
import { createTakeSequence } from './take-sequence.ts';
import { tokenizeSegments } from './tokenize-input.ts';

export interface Running {
  cancel(): void;
  resume(): void;
}

/**
 * Drives all sequences of one model in lock step.
 *
 * A tick is one generation step for everybody plus one slice of somebody's prefill, so that neither a newcomer nor an
 * abort waits for a long prompt. Seeded requests are evaluated alone, in fixed slices: a batch's size changes the last
 * bits of the results, and with them the text.
 */
export interface Scheduler {
  submit(call: GenerateCall, caller: Caller): Running;
  /** Work for another context of the model, between two ticks: the processor is the same. It should take no longer than one. */
  between<T>(work: () => Promise<T>): Promise<T>;
  health(): Health;
  /** Refuses newcomers; resolves when nothing runs any more. */
  drain(): Promise<void>;
}

export interface SchedulerOptions {
  readonly clock: Clock;
  /** Processor time that other threads of this process have used, in ms. */
  readonly cpuMs: () => number;
  readonly queuePlacesMax: number;
  readonly queueWaitMsMax: number;
  /** A reader that takes nothing for so long loses its answer: its sequences are others' turn. */
  readonly readerWaitMsMax: number;
  /** Where copied sequence states pass through. */
  readonly stateFile: string;
  readonly random: () => number;
  readonly compile: CompileGrammars;
  /** Ends this process, whatever its threads do: one is stuck in the library. */
  readonly end: () => void;
  /** Where marked beginnings of prompts are kept. Absent: nowhere. */
  readonly prefixes?: PrefixStore;
}

export function createScheduler(model: NativeModel, options: SchedulerOptions): Scheduler {
  const { clock } = options;
  const { contextTokens } = model.loaded;
  const slots = createSlots(model.sequences);
  const cells = createCells(model, options.stateFile);
  const explicit = createExplicitCache({ model, cells, store: options.prefixes });
  const takeSequence = createTakeSequence({ slots, cells, explicit });
  const queue = createFairQueue<Job>({ placesMax: options.queuePlacesMax });
  const pace = createPrefillPace({ batchTokensMax: model.batchTokensMax });
  const jobs = new Set<Job>();
  const order = createAdmissionOrder({ queue, jobs, slots, clock });
  const guard = createGrammarGuard({
    clock,
    cpuMs: options.cpuMs,
    end: options.end,
    isIdle: () => jobs.size === 0 && queue.length === 0,
  });
  const asides: (() => Promise<void>)[] = [];
  let isTicking = false;
  let isDraining = false;
  let onIdle: (() => void)[] = [];
  let ticks = 0;
  let tokensTotal = 0;

  // ---- taking requests in -------------------------------------------------------------------------------------------

  const submit = (call: GenerateCall, caller: Caller): Running => {
    let job: Job | undefined;
    const gone = new AbortController();
    const { signal } = gone;
    void createJob(model, call, { caller, now: clock.monotonic(), compile: options.compile, signal })
      .then((made) => {
        if (signal.aborted) return;
        if (isRefusal(made)) return caller.refuse(made);
        job = made;
        enqueue(job);
      })
      // One call's fault is never the end of the process, and with it of everybody's.
      .catch((error: unknown) => {
        if (!signal.aborted) caller.refuse({ kind: 'internal', message: String(error) });
      });
    return {
      cancel() {
        gone.abort();
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

  const enqueue = (job: Job): void => {
    const refuse = (kind: Refusal['kind'], message: string): void =>
      job.caller.refuse({ kind, message, retryAfterSeconds: RETRY_AFTER_SECONDS });
    if (isDraining) return refuse('draining', 'the engine is shutting down');
    const verdict = queue.add(job.call.owner, job);
    if (verdict === 'full') return refuse('queue-full', `all ${options.queuePlacesMax} places of the queue are taken`);
    if (verdict === 'key-share') return refuse('key-share', 'this key already holds its share of the queue');
    const waitMs = waitMsOf(job.call.owner, options.queueWaitMsMax);
    job.waitTimer = setTimeout(() => {
      if (queue.remove(job)) refuse('queue-wait', `no sequence became free within ${waitMs} ms`);
    }, waitMs);
    wake();
  };

  const cancel = (job: Job): void => {
    job.isCancelled = true;
    if (queue.remove(job)) clearTimeout(job.waitTimer);
    else wake();
    settleIdle();
  };

  /** Gives waiting requests their sequences, all of one request at once. */
  const admit = async (): Promise<void> => {
    for (let admission = order.next(); admission; admission = order.next()) {
      const { job } = admission;
      for (const other of admission.setAside) setAside(other);
      if (jobs.has(job)) {
        await attempt(job, () => goOn(job));
        continue;
      }
      queue.take();
      clearTimeout(job.waitTimer);
      jobs.add(job);
      await attempt(job, () => placeJob(job));
    }
  };

  /** Its sequence is somebody else's turn; whatever its cells held will be evaluated again. */
  const setAside = (job: Job): void => {
    job.isSetAside = true;
    for (const choice of job.choices) choice.pending = [...choice.slot.tokens, ...choice.pending];
    for (const slot of job.slots.splice(0)) slots.release(slot);
  };

  const goOn = async (job: Job): Promise<void> => {
    job.isSetAside = false;
    for (const choice of job.choices) {
      choice.slot = await takeSequence(job, choice.pending);
      choice.pending = choice.pending.slice(choice.slot.tokens.length);
    }
  };

  const placeJob = async (job: Job): Promise<void> => {
    const { call, prompt } = job;
    const { workspace } = call.owner;
    const slot = await takeSequence(job);
    const first = createChoice(job, slot, 0);
    job.choices = [first];
    const reused = slot.tokens.length;
    await explicit.keep(job, slot);
    while (job.choices.length < call.choices) {
      const next = slots.take();
      assert(next, 'a sequence was free');
      slots.hold(next, workspace);
      job.slots.push(next);
      cells.clear(next);
      job.choices.push(createChoice(job, next, job.choices.length));
    }
    job.admittedAt = clock.monotonic();
    job.cachedTokens = reused;
    first.pending = prompt.slice(reused);
    const room = contextTokens - prompt.length;
    job.lines.push({
      type: 'started',
      promptTokens: prompt.length,
      cachedTokens: reused,
      maxTokens: Math.min(call.maxTokens ?? room, room),
    });
    deliver(job);
  };

  const createChoice = (job: Job, slot: Slot, index: number): Choice => {
    const seed = ((job.call.sampling.seed ?? options.random()) + index) >>> 0;
    return {
      job,
      index,
      slot,
      seed,
      output: createChoiceOutput<WireLogprob>(job.call, {
        triggers: job.triggers,
        say: (said) => job.lines.push({ type: 'token', choice: index, ...said }),
      }),
      sampler: newSampler(model, job, { seed, phase: 0, history: [] }),
      pending: [],
      history: [],
      phaseStart: job.prompt.length,
      phaseTokens: [],
      isFinished: false,
      slowMs: 0,
    };
  };

  // ---- the tick -----------------------------------------------------------------------------------------------------

  const wake = (): void => {
    if (isTicking) return;
    isTicking = true;
    void run();
  };

  const run = async (): Promise<void> => {
    for (;;) {
      reap();
      await admit();
      const isWorking = await tick();
      await asides.shift()?.();
      // Sockets are served between ticks.
      await new Promise((resolve) => setImmediate(resolve));
      if (!isWorking && !hasWork()) break;
    }
    isTicking = false;
    settleIdle();
  };

  const isReady = (choice: Choice): boolean => !choice.isFinished && !isIdle(choice.job) && choice.pending.length > 0;

  const isIdle = ({ isPaused, isCancelled, isSetAside }: Job): boolean => isPaused || isCancelled || isSetAside;

  const hasWork = (): boolean => {
    if (asides.length > 0) return true;
    if ([...jobs].some((job) => job.isCancelled || job.isStalled || job.choices.some(isReady))) return true;
    return order.next() !== undefined;
  };

  /** @returns whether anything was evaluated. */
  const tick = async (): Promise<boolean> => {
    const ready = [...jobs].flatMap((job) => job.choices.filter(isReady));
    if (ready.length === 0) return false;
    ticks++;
    const { shared, alone } = planTick(ready, {
      turn: ticks,
      sliceTokens: (generating) => pace.sliceTokens(generating),
    });

    if (shared.length > 0) await evaluate(shared);
    for (const step of alone) await evaluate([step]);
    for (const job of jobs) finishIfDone(job);
    for (const job of jobs) deliver(job);
    reap();
    return true;
  };

  /** Evaluates one batch and samples where a choice's pending tokens are used up. */
  const evaluate = async (wanted: readonly Step[]): Promise<void> => {
    // The library puts neighbouring sequences, in rising order, into one pass over the weights; any other order takes more.
    const steps = wanted
      .filter(({ choice }) => !choice.isFinished)
      .toSorted((a, b) => a.choice.slot.sequence - b.choice.slot.sequence);
    if (steps.length === 0) return;
    const items: DecodeItem[] = steps.map(({ choice, tokens }) => ({
      sequence: choice.slot.sequence,
      at: choice.slot.tokens.length,
      tokens: choice.pending.slice(0, tokens),
      wantsLogits: tokens === choice.pending.length,
    }));
    const startedAt = clock.monotonic();
    let places: readonly (LogitPlace | undefined)[];
    try {
      places = await model.decode(items);
    } catch (error) {
      for (const { choice } of steps) fail(choice.job, error);
      return;
    }
    pace.observe({
      tokens: items.reduce((sum, item) => sum + item.tokens.length, 0),
      items: items.length,
      ms: clock.monotonic() - startedAt,
    });

    const samplings: { choice: Choice; place: LogitPlace }[] = [];
    for (const [at, { choice, tokens }] of steps.entries()) {
      for (const token of choice.pending.splice(0, tokens)) choice.slot.tokens.push(token);
      if (choice.job.cacheWish && !choice.job.isCancelled) await explicit.keep(choice.job, choice.slot);
      const place = places[at];
      if (place === undefined || choice.job.isCancelled) continue;
      const isFirst = !choice.job.isPromptDone;
      if (isFirst && !(await attempt(choice.job, () => promptDone(choice)))) continue;
      for (const sampled of isFirst ? choice.job.choices : [choice]) samplings.push({ choice: sampled, place });
    }
    // The first look at the logits may reorder them inside the library; the others then only read.
    const [head, ...rest] = samplings;
    if (!head) return;
    const faults: { choice: Choice; error: unknown }[] = [];
    const sampleOne = ({ choice, place }: { choice: Choice; place: LogitPlace }) =>
      sample(choice, place).catch((error: unknown) => void faults.push({ choice, error }));
    await sampleOne(head);
    await Promise.all(rest.map(sampleOne));
    // Only now: failing a request frees its samplers, and one of its other choices may have been sampling.
    for (const { choice, error } of faults) fail(choice.job, error, choice);
  };

  /** A fault in the work for one request ends that request only. */
  const attempt = async (job: Job, work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      fail(job, error);
      return false;
    }
  };

  /** The prompt is in the cells of the first choice: the others get a copy, and all sample from the same logits. */
  const promptDone = async ({ slot, job }: Choice): Promise<void> => {
    job.isPromptDone = true;
    if (job.isSeeded) slot.seededTokens = wholeSlices(slot.tokens.length);
    job.firstTokenAt = clock.monotonic();
    for (const other of job.choices) if (other.slot !== slot) await cells.copy(slot, other.slot);
  };

  const sample = async (choice: Choice, place: LogitPlace): Promise<void> => {
    const token = await sampleToken(model, guard, { choice, place });
    if (!token.isEnd) {
      tokensTotal++;
      choice.history.push(token.id);
      choice.phaseTokens.push(token.id);
    }
    settle(choice, token);
  };

  /** What a sampled token means for its choice. */
  const settle = (choice: Choice, token: SampledToken<WireLogprob>): void => {
    const verdict = choice.output.push(token);
    switch (verdict.type) {
      case 'more':
        // Prompt and answer together are what the context holds, the last token included.
        if (choice.slot.tokens.length + 1 < contextTokens) choice.pending = [token.id];
        else finishChoice(choice, choice.output.cut());
        return;
      case 'finished':
        finishChoice(choice, verdict);
        return;
      case 'phase-end':
        nextPhase(choice, verdict);
    }
  };

  const nextPhase = (choice: Choice, { keepTokens, keepText, append }: PhaseEnd): void => {
    const { slot, job, output } = choice;
    const keepLength = choice.phaseStart + keepTokens;
    const context = [
      ...slot.tokens.slice(0, choice.phaseStart),
      ...choice.phaseTokens.slice(0, keepTokens),
      ...tokenizeSegments(model, [{ text: keepText, special: false }, ...append]),
    ];
    // At least one token is evaluated: its logits choose the first token of the phase.
    const kept = Math.min(slot.tokens.length, keepLength, context.length - 1);
    if (kept < slot.tokens.length) cells.truncate(slot, kept);
    choice.pending = context.slice(slot.tokens.length);
    choice.phaseStart = context.length;
    choice.phaseTokens = [];
    const sampler = newSampler(model, job, { seed: choice.seed, phase: output.phase, history: choice.history });
    choice.sampler.dispose();
    choice.sampler = sampler;
    if (context.length >= contextTokens) finishChoice(choice, { reason: 'length' });
  };

  // ---- ends ---------------------------------------------------------------------------------------------------------

  const finishChoice = (choice: Choice, { reason, stop }: Omit<Finished, 'type'>): void => {
    choice.isFinished = true;
    choice.pending = [];
    choice.job.lines.push({
      type: 'choice-finished',
      choice: choice.index,
      reason,
      ...(stop === undefined ? {} : { stop }),
    });
  };

  const finishIfDone = (job: Job): void => {
    if (!job.choices.every((choice) => choice.isFinished)) return;
    const now = clock.monotonic();
    const sum = (of: (output: ChoiceOutput<WireLogprob>) => number): number =>
      job.choices.reduce((all, { output }) => all + of(output), 0);
    job.lines.push({
      type: 'finished',
      counts: {
        promptTokens: job.prompt.length,
        cachedTokens: job.cachedTokens,
        completionTokens: sum((output) => output.tokens),
        ...cacheCounts(job),
        thoughtTokens: sum((output) => output.thoughtTokens),
      },
      timings: {
        queueMs: Math.round(job.admittedAt - job.queuedAt),
        prefillMs: Math.round(job.firstTokenAt - job.admittedAt),
        decodeMs: Math.round(now - job.firstTokenAt),
      },
    });
    deliver(job);
    leave(job);
    job.caller.end();
  };

  const fail = (job: Job, error: unknown, choice?: Choice): void => {
    if (!jobs.has(job)) return;
    // What the cells hold after a failed evaluation is not known.
    for (const slot of job.slots) cells.clear(slot);
    leave(job);
    const failure = failureOf(error, choice);
    if (!job.hasSpoken) return job.caller.refuse(failure);
    job.caller.send([{ type: 'failed', ...failure }]);
    job.caller.end();
  };

  /** A grammar that takes too long is its caller's affair; everything else is ours. */
  const failureOf = (error: unknown, choice: Choice | undefined): Refusal => {
    if (!(error instanceof SlowGrammarError)) return { kind: 'internal', message: String(error) };
    const field = fieldOf(choice?.job.call.phases[choice.output.phase]?.grammar);
    return { kind: 'invalid', message: error.message, ...(field === undefined ? {} : { param: field }) };
  };

  /** Between two evaluations only: a sequence may not be touched while the library works on it. */
  const reap = (): void => {
    for (const job of jobs) {
      if (job.isStalled && !job.isCancelled) {
        job.caller.send([{ type: 'failed', kind: 'slow-reader', message: 'The answer was not read in time.' }]);
        job.caller.end();
      }
      if (job.isStalled || job.isCancelled) leave(job);
    }
  };

  const leave = (job: Job): void => {
    jobs.delete(job);
    clearTimeout(job.pauseTimer);
    for (const choice of job.choices) {
      choice.isFinished = true;
      choice.pending = [];
      choice.sampler.dispose();
    }
    for (const slot of job.slots) slots.release(slot);
  };

  const deliver = (job: Job): void => {
    if (job.lines.length === 0) return;
    const lines = job.lines;
    job.lines = [];
    job.hasSpoken = true;
    if (job.caller.send(lines)) return;
    job.isPaused = true;
    clearTimeout(job.pauseTimer);
    job.pauseTimer = setTimeout(() => {
      job.isStalled = true;
      wake();
    }, options.readerWaitMsMax);
  };

  const settleIdle = (): void => {
    if (jobs.size > 0 || queue.length > 0) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  };

  return {
    submit,
    between: (work) =>
      new Promise((resolve, reject) => {
        asides.push(() => work().then(resolve, reject));
        wake();
      }),
    health: () => ({
      busySequences: model.sequences - slots.free,
      sequences: model.sequences,
      queued: queue.length,
      ticks,
      tokens: tokensTotal,
    }),
    drain() {
      isDraining = true;
      return new Promise((resolve) => {
        onIdle.push(resolve);
        settleIdle();
      });
    },
  };
}
