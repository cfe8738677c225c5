import type { ChoiceOutput } from '../choice-output.ts';
import { createTriggers } from '../triggers.ts';
import type { Triggers } from '../triggers.ts';
import { createCacheWish } from './explicit-cache.ts';
import type { CacheWish } from './explicit-cache.ts';
import { WorkerBusyError } from '../fair-worker.ts';
import { GrammarRefusedError } from '../grammar-compiler.ts';
import type { CompileGrammars } from '../grammar-compiler.ts';
import type { NativeModel, NativeSampler } from './native-model.ts';
import type { GenerateCall, Line, Refusal, WireLogprob } from './protocol.ts';
import type { Slot } from './slots.ts';
import { TooManyTokensError, tokenizeMarked } from './tokenize-input.ts';
import type { MarkedTokens } from './tokenize-input.ts';

/** What the scheduler says to the caller of one request. */
export interface Caller {
  /** The lines of one tick. False: the reader is behind, pause until `resume`. */
  send(lines: readonly Line[]): boolean;
  /** Instead of any line. */
  refuse(refusal: Refusal): void;
  /** After the last line. */
  end(): void;
}

/** One request in the engine. */
export interface Job {
  readonly call: GenerateCall;
  readonly caller: Caller;
  readonly prompt: readonly number[];
  /** Undefined: the caller marked nothing. */
  readonly cacheWish: CacheWish | undefined;
  /** The grammar of each phase that has one, by position; the library parses it when the phase begins. */
  readonly gbnf: ReadonlyMap<number, string>;
  readonly triggers: Triggers;
  /** Special tokens that end this answer besides the model's own. */
  readonly endTokens: ReadonlySet<number>;
  /** Control tokens that are told as text. */
  readonly markerTokens: ReadonlySet<number>;
  readonly isSeeded: boolean;
  readonly queuedAt: number;
  admittedAt: number;
  firstTokenAt: number;
  cachedTokens: number;
  /** The sequences it holds; none while queued or set aside. */
  readonly slots: Slot[];
  /** All choices; empty while queued. */
  choices: Choice[];
  /** The prompt is evaluated, and every choice has its first token. */
  isPromptDone: boolean;
  lines: Line[];
  /** The caller has had a line: what fails now can no longer be refused. */
  hasSpoken: boolean;
  isCancelled: boolean;
  /** It gave its sequence up, and goes on when it gets one again. */
  isSetAside: boolean;
  isPaused: boolean;
  /** Paused for longer than a reader may take. */
  isStalled: boolean;
  pauseTimer: NodeJS.Timeout | undefined;
  waitTimer: NodeJS.Timeout | undefined;
}

/** One of its answers. */
export interface Choice {
  readonly job: Job;
  readonly index: number;
  slot: Slot;
  readonly seed: number;
  readonly output: ChoiceOutput<WireLogprob>;
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
  /** What its grammars took above the usual, in ms. */
  slowMs: number;
}

/** Ours: after a refusal for want of room, a new try makes sense after this long. */
export const RETRY_AFTER_SECONDS = 5;

const COMPILER_BUSY: Record<WorkerBusyError['reason'], Refusal> = {
  full: { kind: 'queue-full', message: 'too many requests wait for their schemas to be compiled' },
  'key-share': { kind: 'key-share', message: 'too many requests of this key wait for their schemas to be compiled' },
  wait: { kind: 'queue-wait', message: 'the schemas of other requests took too long to compile' },
};

interface JobNeeds {
  readonly caller: Caller;
  /** Monotonic ms. */
  readonly now: number;
  readonly compile: CompileGrammars;
  /** The caller's going. */
  readonly signal: AbortSignal;
}

/** Everything that can be refused before a place is taken. @throws the signal's reason. */
export async function createJob(
  model: NativeModel,
  call: GenerateCall,
  { caller, now, compile, signal }: JobNeeds,
): Promise<Job | Refusal> {
  const { contextTokens, vocabularySize } = model.loaded;
  const refuse = (kind: Refusal['kind'], message: string, param?: string): Refusal => ({
    kind,
    message,
    ...(param === undefined ? {} : { param }),
  });
  if (call.choices > model.sequences)
    return refuse('invalid', `n must be at most ${model.sequences} here, got ${call.choices}`, 'n');
  const badBias = call.sampling.logitBias?.find(([token]) => token >= vocabularySize);
  if (badBias)
    return refuse(
      'invalid',
      `logit_bias names token ${badBias[0]}, the vocabulary has ${vocabularySize}`,
      'logit_bias',
    );
  const badStop = call.stop.tokens.flat().find((token) => token >= vocabularySize);
  if (badStop !== undefined)
    return refuse('invalid', `stop names token ${badStop}, the vocabulary has ${vocabularySize}`, 'stop');
  let marked: MarkedTokens;
  try {
    marked = tokenizeMarked(model, call.input);
  } catch (error) {
    if (error instanceof TooManyTokensError)
      return tooLong(`more than ${error.tokens}`, { tokens: error.tokens + 1, contextTokens });
    return refuse('invalid', error instanceof RangeError ? error.message : 'the prompt cannot be tokenized');
  }
  const { tokens: prompt, marks } = marked;
  if (prompt.length === 0) return refuse('invalid', 'the prompt is empty');
  if (prompt.length >= contextTokens) return tooLong(String(prompt.length), { tokens: prompt.length, contextTokens });
  let gbnf: ReadonlyMap<number, string>;
  try {
    gbnf = await compilePhases(call, compile, signal);
  } catch (error) {
    if (error instanceof GrammarRefusedError) return refuse('invalid', error.message, error.field);
    if (error instanceof WorkerBusyError)
      return { ...COMPILER_BUSY[error.reason], retryAfterSeconds: RETRY_AFTER_SECONDS };
    throw error;
  }
  return {
    call,
    caller,
    prompt,
    cacheWish: createCacheWish(marks),
    gbnf,
    triggers: createTriggers(call.phases),
    endTokens: new Set((call.stop.special ?? []).flatMap((text) => singleToken(model, text))),
    markerTokens: new Set((call.markers ?? []).flatMap((text) => singleToken(model, text))),
    isSeeded: call.sampling.seed !== undefined,
    queuedAt: now,
    admittedAt: 0,
    firstTokenAt: 0,
    cachedTokens: 0,
    slots: [],
    choices: [],
    isPromptDone: false,
    lines: [],
    hasSpoken: false,
    isCancelled: false,
    isSetAside: false,
    isPaused: false,
    isStalled: false,
    pauseTimer: undefined,
    waitTimer: undefined,
  };
}

export const isRefusal = (made: Job | Refusal): made is Refusal => 'kind' in made;

/** All grammars of a request at once; most requests have none. */
async function compilePhases(
  { phases, owner }: GenerateCall,
  compile: CompileGrammars,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, string>> {
  const wanted = phases.flatMap(({ grammar }, phase) => (grammar ? [{ phase, grammar }] : []));
  if (wanted.length === 0) return new Map();
  const compiled = await compile(
    wanted.map(({ grammar }) => grammar),
    { owner, signal },
  );
  return new Map(wanted.map(({ phase }, at) => [phase, compiled[at] ?? '']));
}

/** The token of a special text, where the vocabulary has one. */
function singleToken(model: NativeModel, text: string): readonly number[] {
  const tokens = model.tokenize(text, true);
  return tokens.length === 1 ? tokens : [];
}

/** wire.md 1.7 has the first sentence; both counts follow. */
const tooLong = (
  counted: string,
  { tokens, contextTokens }: { readonly tokens: number; readonly contextTokens: number },
): Refusal => ({
  kind: 'too-long',
  message: `Range of input length should be [1, ${contextTokens - 1}] (the prompt has ${counted} tokens, the model's context holds ${contextTokens})`,
  param: 'messages',
  excess: { tokens, tokensMax: contextTokens - 1 },
});
