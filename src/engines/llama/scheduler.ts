import type { Clock } from '../../lib/clock.ts';
import { assert } from '../../lib/assert.ts';
import { createChoiceOutput } from './choice-output.ts';
import type { ChoiceOutput, Finished, SampledToken } from './choice-output.ts';
import { createFairQueue } from './fair-queue.ts';
import type { DecodeItem, LogitPlace, NativeGrammar, NativeModel, NativeSampler } from './native-model.ts';
import { createPrefillPace } from './prefill-pace.ts';
import type { GenerateCall, Health, Line, Refusal } from './protocol.ts';
import { SEEDED_SLICE_TOKENS, createSlots } from './slots.ts';
import type { Slot } from './slots.ts';
import { tokenizeInput, tokenizeSegments } from './tokenize-input.ts';

/** What the scheduler says to the caller of one request. */
export interface Caller {
  /** The lines of one tick. False: the reader is behind, pause until `resume`. */
  send(lines: readonly Line[]): boolean;
  /** Instead of any line. */
  refuse(refusal: Refusal): void;
  /** After the last line. */
  end(): void;
}

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
  health(): Health;
  /** Refuses newcomers; resolves when nothing runs any more. */
  drain(): Promise<void>;
}

export interface SchedulerOptions {
  readonly clock: Clock;
  readonly queuePlacesMax: number;
  readonly queueWaitMsMax: number;
  /** Where copied sequence states pass through. */
  readonly stateFile: string;
  readonly random: () => number;
}

/** Ours: after a refusal for want of room, a new try makes sense after this long. */
const RETRY_AFTER_SECONDS = 5;

interface Job {
  readonly call: GenerateCall;
  readonly caller: Caller;
  readonly prompt: readonly number[];
  readonly grammars: readonly (NativeGrammar | undefined)[];
  /** Special tokens that end this answer besides the model's own. */
  readonly endTokens: ReadonlySet<number>;
  readonly isSeeded: boolean;
  readonly queuedAt: number;
  admittedAt: number;
  firstTokenAt: number;
  cachedTokens: number;
  /** The sequences it holds; none while queued. */
  readonly slots: Slot[];
  /** All choices; empty while queued. */
  choices: Choice[];
  /** The prompt is evaluated, and every choice has its first token. */
  isPromptDone: boolean;
  lines: Line[];
  /** The caller has had a line: what fails now can no longer be refused. */
  hasSpoken: boolean;
  isCancelled: boolean;
  isPaused: boolean;
  waitTimer: NodeJS.Timeout | undefined;
}

interface Choice {
  readonly job: Job;
  readonly index: number;
  readonly slot: Slot;
  readonly output: ChoiceOutput;
  sampler: NativeSampler;
  /** Tokens to be evaluated next: one while generating, more during prefill, none while waiting for a copy. */
  pending: number[];
  /** All sampled tokens, for penalties across phases. */
  history: number[];
  /** Length of the context when the phase began. */
  phaseStart: number;
  /** Tokens sampled in this phase. */
  phaseTokens: number[];
  isFinished: boolean;
}

export function createScheduler(model: NativeModel, options: SchedulerOptions): Scheduler {
  const { clock } = options;
  const { contextTokens } = model.loaded;
  const slots = createSlots(model.sequences);
  const queue = createFairQueue<Job>({ placesMax: options.queuePlacesMax });
  const pace = createPrefillPace({ batchTokensMax: model.batchTokensMax });
  const jobs = new Set<Job>();
  let isTicking = false;
  let isDraining = false;
  let onIdle: (() => void)[] = [];
  let ticks = 0;
  let tokensTotal = 0;

  // ---- taking requests in -------------------------------------------------------------------------------------------

  const submit = (call: GenerateCall, caller: Caller): Running => {
    let job: Job | undefined;
    let isCancelled = false;
    void prepare(call, caller).then(
      (prepared) => {
        if (prepared === undefined || isCancelled) return;
        job = prepared;
        enqueue(job);
      },
      (error: unknown) => caller.refuse({ kind: 'internal', message: String(error) }),
    );
    return {
      cancel() {
        isCancelled = true;
        if (job) cancel(job);
      },
      resume() {
        if (!job) return;
        job.isPaused = false;
        wake();
      },
    };
  };

  /** Everything that can be refused before a place is taken. */
  const prepare = async (call: GenerateCall, caller: Caller): Promise<Job | undefined> => {
    const refuse = (kind: Refusal['kind'], message: string): undefined => {
      caller.refuse({ kind, message });
    };
    if (call.choices > model.sequences)
      return refuse('invalid', `n must be at most ${model.sequences} here, got ${call.choices}`);
    const badBias = call.sampling.logitBias?.find(([token]) => token >= model.loaded.vocabularySize);
    if (badBias)
      return refuse(
        'invalid',
        `logit_bias names token ${badBias[0]}, the vocabulary has ${model.loaded.vocabularySize}`,
      );
    let prompt: number[];
    try {
      prompt = tokenizeInput(model, call.input);
    } catch (error) {
      return refuse('invalid', error instanceof RangeError ? error.message : 'the prompt cannot be tokenized');
    }
    if (prompt.length === 0) return refuse('invalid', 'the prompt is empty');
    if (prompt.length >= contextTokens) return refuse('too-long', tooLong(prompt.length, contextTokens));
    const grammars: (NativeGrammar | undefined)[] = [];
    for (const { grammar } of call.phases) {
      try {
        grammars.push(grammar === undefined ? undefined : await model.createGrammar(grammar));
      } catch {
        return refuse('invalid', 'the grammar cannot be parsed');
      }
    }
    return {
      call,
      caller,
      prompt,
      grammars,
      endTokens: new Set((call.stop.special ?? []).flatMap((text) => singleToken(model, text))),
      isSeeded: call.sampling.seed !== undefined,
      queuedAt: clock.monotonic(),
      admittedAt: 0,
      firstTokenAt: 0,
      cachedTokens: 0,
      slots: [],
      choices: [],
      isPromptDone: false,
      lines: [],
      hasSpoken: false,
      isCancelled: false,
      isPaused: false,
      waitTimer: undefined,
    };
  };

  const enqueue = (job: Job): void => {
    const refuse = (kind: Refusal['kind'], message: string): void =>
      job.caller.refuse({ kind, message, retryAfterSeconds: RETRY_AFTER_SECONDS });
    if (isDraining) return refuse('draining', 'the engine is shutting down');
    const verdict = queue.add(job.call.owner, job);
    if (verdict === 'full') return refuse('queue-full', `all ${options.queuePlacesMax} places of the queue are taken`);
    if (verdict === 'key-share') return refuse('key-share', 'this key already holds its share of the queue');
    job.waitTimer = setTimeout(() => {
      if (queue.remove(job)) refuse('queue-wait', `no sequence became free within ${options.queueWaitMsMax} ms`);
    }, options.queueWaitMsMax);
    wake();
  };

  const cancel = (job: Job): void => {
    job.isCancelled = true;
    if (queue.remove(job)) clearTimeout(job.waitTimer);
    else wake();
    settleIdle();
  };

  /** Gives waiting requests their sequences, all of one request at once, strictly in turn. */
  const admit = async (): Promise<void> => {
    for (let job = queue.peek(); job; job = queue.peek()) {
      if (slots.free < job.call.choices) return;
      queue.take();
      clearTimeout(job.waitTimer);
      const placed = job;
      jobs.add(placed);
      await attempt(placed, () => placeJob(placed));
    }
  };

  const placeJob = async (job: Job): Promise<void> => {
    const { call, prompt, isSeeded } = job;
    const { workspace } = call.owner;
    const plan = slots.plan(prompt, { workspace, isSeeded });
    assert(plan, 'a sequence was free');
    const { slot } = plan;
    slots.hold(slot, workspace);
    job.slots.push(slot);
    const first = createChoice(job, slot, 0);
    job.choices = [first];
    let reused = plan.reused;
    if (plan.copyFrom) await copyState(plan.copyFrom, slot);
    if (reused === 0) clear(slot);
    else if (model.truncate(slot.sequence, reused)) slot.tokens.length = reused;
    else {
      clear(slot);
      reused = 0;
    }
    slot.seededTokens = Math.min(slot.seededTokens, reused);
    while (job.choices.length < call.choices) {
      const next = slots.take();
      assert(next, 'a sequence was free');
      slots.hold(next, workspace);
      job.slots.push(next);
      clear(next);
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

  const createChoice = (job: Job, slot: Slot, index: number): Choice => ({
    job,
    index,
    slot,
    output: createChoiceOutput(job.call, index, (line) => job.lines.push(line)),
    sampler: newSampler(job, index, 0, []),
    pending: [],
    history: [],
    phaseStart: job.prompt.length,
    phaseTokens: [],
    isFinished: false,
  });

  const newSampler = (job: Job, choice: number, phase: number, history: readonly number[]): NativeSampler => {
    const { sampling } = job.call;
    const grammar = job.grammars[phase];
    return model.createSampler({
      temperature: sampling.temperature ?? 1,
      topP: sampling.topP ?? 1,
      topK: sampling.topK ?? 0,
      minP: sampling.minP ?? 0,
      repetitionPenalty: sampling.repetitionPenalty ?? 1,
      presencePenalty: sampling.presencePenalty ?? 0,
      frequencyPenalty: sampling.frequencyPenalty ?? 0,
      logitBias: sampling.logitBias ?? [],
      seed: ((sampling.seed ?? options.random()) + choice) >>> 0,
      history,
      ...(grammar ? { grammar } : {}),
    });
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
      // Sockets are served between ticks.
      await new Promise((resolve) => setImmediate(resolve));
      if (!isWorking && !hasWork()) break;
    }
    isTicking = false;
    settleIdle();
  };

  const isReady = (choice: Choice): boolean =>
    !choice.isFinished && !choice.job.isPaused && !choice.job.isCancelled && choice.pending.length > 0;

  const hasWork = (): boolean => {
    if ([...jobs].some((job) => job.isCancelled || job.choices.some(isReady))) return true;
    const next = queue.peek();
    return next !== undefined && slots.free >= next.call.choices;
  };

  /** @returns whether anything was evaluated. */
  const tick = async (): Promise<boolean> => {
    const ready = [...jobs].flatMap((job) => job.choices.filter(isReady));
    if (ready.length === 0) return false;
    ticks++;
    const generating = ready.filter((choice) => choice.pending.length === 1);
    const prefilling = ready.filter((choice) => choice.pending.length > 1);
    const shared = generating.filter((choice) => !choice.job.isSeeded).map((choice) => ({ choice, tokens: 1 }));
    const alone = generating.filter((choice) => choice.job.isSeeded).map((choice) => ({ choice, tokens: 1 }));

    // Whoever waited longest since its last slice has the turn.
    const turn = prefilling[ticks % Math.max(1, prefilling.length)];
    if (turn?.job.isSeeded) {
      alone.push({ choice: turn, tokens: Math.min(SEEDED_SLICE_TOKENS, turn.pending.length) });
    } else if (turn) {
      let left = pace.sliceTokens(shared.length);
      const order = [turn, ...prefilling.filter((choice) => choice !== turn && !choice.job.isSeeded)];
      for (const choice of order) {
        const tokens = Math.min(left, choice.pending.length);
        if (tokens > 0) shared.push({ choice, tokens });
        left -= tokens;
      }
    }

    if (shared.length > 0) await evaluate(shared);
    for (const step of alone) await evaluate([step]);
    for (const job of jobs) finishIfDone(job);
    for (const job of jobs) deliver(job);
    reap();
    return true;
  };

  interface Step {
    readonly choice: Choice;
    readonly tokens: number;
  }

  /** Evaluates one batch and samples where a choice's pending tokens are used up. */
  const evaluate = async (wanted: readonly Step[]): Promise<void> => {
    const steps = wanted.filter(({ choice }) => !choice.isFinished);
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
      const place = places[at];
      if (place === undefined || choice.job.isCancelled) continue;
      const isFirst = !choice.job.isPromptDone;
      if (isFirst && !(await attempt(choice.job, () => promptDone(choice)))) continue;
      for (const sampled of isFirst ? choice.job.choices : [choice]) samplings.push({ choice: sampled, place });
    }
    // The first look at the logits may reorder them inside the library; the others then only read.
    const [head, ...rest] = samplings;
    if (!head) return;
    const faults: { job: Job; error: unknown }[] = [];
    const sampleOne = ({ choice, place }: { choice: Choice; place: LogitPlace }) =>
      sample(choice, place).catch((error: unknown) => void faults.push({ job: choice.job, error }));
    await sampleOne(head);
    await Promise.all(rest.map(sampleOne));
    // Only now: failing a request frees its samplers, and one of its other choices may have been sampling.
    for (const { job, error } of faults) fail(job, error);
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
    for (const other of job.choices) if (other.slot !== slot) await copyState(slot, other.slot);
  };

  const sample = async (choice: Choice, place: LogitPlace): Promise<void> => {
    const id = await choice.sampler.sample(place);
    if (id === undefined || model.isEnd(id) || choice.job.endTokens.has(id))
      return settle(choice, { id: id ?? -1, bytes: new Uint8Array(), isEnd: true });
    tokensTotal++;
    choice.history.push(id);
    choice.phaseTokens.push(id);
    const wanted = choice.job.call.logprobs;
    const isLastPhase = choice.output.phase >= choice.job.call.phases.length - 1;
    // A control token is structure, not text.
    const bytes = model.isControl(id) ? new Uint8Array() : model.tokenBytes(id);
    settle(choice, {
      id,
      bytes,
      isEnd: false,
      ...(wanted && isLastPhase ? { logprobs: await readLogprobs(place, id, wanted.top) } : {}),
    });
  };

  const readLogprobs = async (place: LogitPlace, token: number, top: number) => {
    const raw = await model.topLogprobs(place, { top, token });
    const entry = (id: number, logprob: number | undefined) => ({
      id,
      bytes: [...model.tokenBytes(id)],
      logprob: logprob === undefined || !Number.isFinite(logprob) ? null : Math.min(0, logprob),
    });
    return { ...entry(token, raw.token), top: raw.top.map((other) => entry(other.token, other.logprob)) };
  };

  /** What a sampled token means for its choice. */
  const settle = (choice: Choice, token: SampledToken): void => {
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

  const nextPhase = (choice: Choice, { keepTokens, keepText }: { keepTokens: number; keepText: string }): void => {
    const { slot, job, output } = choice;
    const append = [{ text: keepText, special: false }, ...(job.call.phases[output.phase]?.thenAppend ?? [])];
    const keepLength = choice.phaseStart + keepTokens;
    const context = [
      ...slot.tokens.slice(0, choice.phaseStart),
      ...choice.phaseTokens.slice(0, keepTokens),
      ...tokenizeSegments(model, append),
    ];
    // At least one token is evaluated: its logits choose the first token of the phase.
    let kept = Math.min(slot.tokens.length, keepLength, context.length - 1);
    if (kept < slot.tokens.length) {
      if (model.truncate(slot.sequence, kept)) slot.tokens.length = kept;
      else {
        clear(slot);
        kept = 0;
      }
      slot.seededTokens = Math.min(slot.seededTokens, wholeSlices(kept));
    }
    choice.pending = context.slice(kept);
    choice.phaseStart = context.length;
    choice.phaseTokens = [];
    output.nextPhase();
    choice.sampler.dispose();
    choice.sampler = newSampler(job, choice.index, output.phase, choice.history);
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
    const sum = (of: (output: ChoiceOutput) => number): number =>
      job.choices.reduce((all, { output }) => all + of(output), 0);
    job.lines.push({
      type: 'finished',
      counts: {
        promptTokens: job.prompt.length,
        cachedTokens: job.cachedTokens,
        completionTokens: sum((output) => output.tokens),
        earlierPhaseTokens: sum((output) => output.earlierPhaseTokens),
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

  const fail = (job: Job, error: unknown): void => {
    if (!jobs.has(job)) return;
    // What the cells hold after a failed evaluation is not known.
    for (const slot of job.slots) clear(slot);
    leave(job);
    const message = String(error);
    if (!job.hasSpoken) return job.caller.refuse({ kind: 'internal', message });
    job.caller.send([{ type: 'failed', kind: 'internal', message }]);
    job.caller.end();
  };

  const reap = (): void => {
    for (const job of jobs) if (job.isCancelled) leave(job);
  };

  const leave = (job: Job): void => {
    jobs.delete(job);
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
    if (!job.caller.send(lines)) job.isPaused = true;
  };

  const clear = (slot: Slot): void => {
    model.clear(slot.sequence);
    slot.tokens = [];
    slot.seededTokens = 0;
  };

  const copyState = async (from: Slot, to: Slot): Promise<void> => {
    model.clear(to.sequence);
    await model.copy(from.sequence, to.sequence, from.tokens, options.stateFile);
    to.tokens = [...from.tokens];
    to.seededTokens = from.seededTokens;
  };

  const settleIdle = (): void => {
    if (jobs.size > 0 || queue.length > 0) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  };

  return {
    submit,
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

/** What of so many tokens a seeded run has evaluated in slices of full size. */
const wholeSlices = (tokens: number): number => tokens - (tokens % SEEDED_SLICE_TOKENS);

/** The token of a special text, where the vocabulary has one. */
function singleToken(model: NativeModel, text: string): readonly number[] {
  const tokens = model.tokenize(text, true);
  return tokens.length === 1 ? tokens : [];
}

/** wire.md 1.7 has the first sentence; both counts follow. */
const tooLong = (promptTokens: number, contextTokens: number): string =>
  `Range of input length should be [1, ${contextTokens - 1}] (the prompt has ${promptTokens} tokens, the model's context holds ${contextTokens})`;
