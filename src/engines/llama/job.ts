import type { ChoiceOutput } from './choice-output.ts';
import type { NativeGrammar, NativeModel, NativeSampler } from './native-model.ts';
import type { GenerateCall, Line, Refusal } from './protocol.ts';
import type { Slot } from './slots.ts';
import { TooManyTokensError, tokenizeInput } from './tokenize-input.ts';

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
  /** Paused for longer than a reader may take. */
  isStalled: boolean;
  pauseTimer: NodeJS.Timeout | undefined;
  waitTimer: NodeJS.Timeout | undefined;
}

/** One of its answers. */
export interface Choice {
  readonly job: Job;
  readonly index: number;
  readonly slot: Slot;
  readonly seed: number;
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

/** Everything that can be refused before a place is taken. @param now Monotonic ms. */
export async function createJob(
  model: NativeModel,
  call: GenerateCall,
  { caller, now }: { readonly caller: Caller; readonly now: number },
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
  let prompt: number[];
  try {
    prompt = tokenizeInput(model, call.input);
  } catch (error) {
    if (error instanceof TooManyTokensError)
      return refuse('too-long', tooLong(`more than ${error.tokens}`, contextTokens), 'messages');
    return refuse('invalid', error instanceof RangeError ? error.message : 'the prompt cannot be tokenized');
  }
  if (prompt.length === 0) return refuse('invalid', 'the prompt is empty');
  if (prompt.length >= contextTokens)
    return refuse('too-long', tooLong(String(prompt.length), contextTokens), 'messages');
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
    isPaused: false,
    isStalled: false,
    pauseTimer: undefined,
    waitTimer: undefined,
  };
}

export const isRefusal = (made: Job | Refusal): made is Refusal => 'kind' in made;

/** The token of a special text, where the vocabulary has one. */
function singleToken(model: NativeModel, text: string): readonly number[] {
  const tokens = model.tokenize(text, true);
  return tokens.length === 1 ? tokens : [];
}

/** wire.md 1.7 has the first sentence; both counts follow. */
const tooLong = (promptTokens: string, contextTokens: number): string =>
  `Range of input length should be [1, ${contextTokens - 1}] (the prompt has ${promptTokens} tokens, the model's context holds ${contextTokens})`;
