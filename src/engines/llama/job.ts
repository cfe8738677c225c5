import { formatPromptTooLong } from '../../core/generation-errors.ts';
import { createUtf8StreamDecoder } from '../../lib/utf8-stream-decoder.ts';
import { findRequestProblem } from '../find-request-problem.ts';
import type { ChoiceOutput } from '../choice-output.ts';
import { createTriggerMatcher, type TriggerMatcher } from '../trigger-matcher.ts';
import { createCacheRequest, type CacheRequest } from './cache-request.ts';
import { WorkerBusyError } from '../fair-worker.ts';
import { compilePhases, GrammarRefusedError, type CompileGrammars, type PhaseGrammars } from '../grammar-compiler.ts';
import type { NativeModel, NativeSampler } from './native-model.ts';
import type { GenerateCall, OutputLine, EngineRefusal, LineLogprob } from './protocol.ts';
import type { PausedState } from './paused-states.ts';
import type { Slot } from './slot-pool.ts';
import type { TokenDrafter } from './token-drafter.ts';
import { RefusalError } from './refusal-error.ts';
import type { TokenizeInTurn } from './tokenize-in-turn.ts';
import { TooManyTokensError, type MarkedTokens } from './tokenize-input.ts';

/** Receives what the scheduler reports about one request. */
export interface GenerationListener {
  /** Called with the lines of one tick. Returns false if the client reads too slowly; the job pauses until `resume`. */
  send(lines: readonly OutputLine[]): boolean;
  /** Called instead of any line. */
  refuse(refusal: EngineRefusal): void;
  /** Called after the last line. */
  end(): void;
}

/** A generation request in the engine process, with its state. */
export interface GenerationJob {
  readonly call: GenerateCall;
  readonly listener: GenerationListener;
  readonly prompt: readonly number[];
  /** Undefined if the prompt has no cache marks. */
  readonly cacheRequest: CacheRequest | undefined;
  /** The library parses the grammar of a phase when the phase starts. */
  readonly grammars: PhaseGrammars;
  readonly triggers: TriggerMatcher;
  /** Special tokens that end this answer, in addition to the model's end tokens. */
  readonly endTokens: ReadonlySet<number>;
  /** Control tokens that are output as text. */
  readonly markerTokens: ReadonlySet<number>;
  readonly isSeeded: boolean;
  /** Joins characters of the prompt that are split across tokens; only for a job that reports its prompt. */
  readonly promptDecoder: ReturnType<typeof createUtf8StreamDecoder>;
  cachedTokens: number;
  /** All choices; empty while the job is queued. */
  choices: JobChoice[];
  /** Whether the prompt is evaluated and every choice has its first token. */
  isPromptEvaluated: boolean;
  lines: OutputLine[];
  /** Whether the client has received a line; a later failure can no longer become an error response. */
  hasSentLines: boolean;
  isCancelled: boolean;
  isPaused: boolean;
  /** Whether the job was paused for longer than a client may take. */
  isStalled: boolean;
  pauseTimer: NodeJS.Timeout | undefined;
  waitTimer: NodeJS.Timeout | undefined;
}

/** One of the answers of a job. */
export interface JobChoice {
  readonly job: GenerationJob;
  readonly index: number;
  /** The sequence; undefined until the choice gets one, while it is interrupted, and when it is finished. */
  slot: Slot | undefined;
  /** Time when it got or lost its sequence, in monotonic ms. */
  slotChangedAt: number;
  /** The point where an interrupted choice continues. */
  paused: PausedChoice | undefined;
  /** Until then, in monotonic ms, it keeps its sequence: moving its state takes long, or its state could not be saved. */
  keepsSlotUntil: number;
  readonly seed: number;
  readonly output: ChoiceOutput<LineLogprob>;
  sampler: NativeSampler;
  readonly drafter: TokenDrafter;
  /** Tokens to evaluate next: one while generating, several during prefill, none while waiting for a copy. */
  pending: number[];
  /** All sampled tokens, for penalties across phases. */
  sampledTokens: number[];
  /** Length of the context, in tokens, when the phase started. */
  phaseStart: number;
  /** Tokens sampled in this phase. */
  phaseTokens: number[];
  isFinished: boolean;
}

/** A choice that has a sequence. */
export type RunningChoice = JobChoice & { slot: Slot };

export const hasSlot = (choice: JobChoice): choice is RunningChoice => choice.slot !== undefined;

/** An interrupted choice. */
export interface PausedChoice {
  /** Tokens that were evaluated. */
  readonly tokens: readonly number[];
  /** Their state; undefined if it could not be saved, so that they must be evaluated again. */
  readonly state: PausedState | undefined;
  /** Time that saving took, in ms. */
  readonly saveMs: number;
}

/** Delay that clients are told to wait after a refusal for lack of capacity. Chosen by Parley. */
export const RETRY_AFTER_SECONDS = 5;

const COMPILER_BUSY_REFUSALS: Record<WorkerBusyError['reason'], EngineRefusal> = {
  full: { kind: 'queue-full', message: 'too many requests are waiting for schema compilation' },
  'key-share': { kind: 'key-share', message: 'too many requests of this API key are waiting for schema compilation' },
  wait: { kind: 'queue-wait', message: 'the request waited too long for the schema compilation of other requests' },
};

interface JobDeps {
  readonly caller: GenerationListener;
  readonly compile: CompileGrammars;
  readonly tokenize: TokenizeInTurn;
  readonly choicesMax: number;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Makes all checks that can reject a request before it is queued. @throws the signal's reason. */
export async function createGenerationJob(
  model: NativeModel,
  call: GenerateCall,
  { caller, compile, tokenize, choicesMax, signal }: JobDeps,
): Promise<GenerationJob | EngineRefusal> {
  const { contextTokens, vocabularySize } = model.loaded;
  const refuse = (kind: EngineRefusal['kind'], message: string, param?: string): EngineRefusal => ({
    kind,
    message,
    ...(param === undefined ? {} : { param }),
  });
  const problem = findRequestProblem(
    { choices: call.choices, biasedTokens: call.sampling.logitBias?.map(([token]) => token) ?? [], stop: call.stop },
    { choicesMax, vocabularySize },
  );
  if (problem) return refuse('invalid', problem.message, problem.param);
  let marked: MarkedTokens;
  try {
    marked = await tokenize(model, call.input, { owner: call.owner, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof RefusalError) return error.refusal;
    if (error instanceof TooManyTokensError)
      return createTooLongRefusal(`more than ${error.tokens}`, { tokens: error.tokens + 1, contextTokens });
    const message = error instanceof RangeError ? error.message : 'the prompt cannot be tokenized';
    return refuse('invalid', message, call.input.type === 'tokens' ? 'prompt' : undefined);
  }
  const { tokens: prompt, marks } = marked;
  if (prompt.length === 0) return refuse('invalid', 'the prompt is empty');
  if (prompt.length >= contextTokens)
    return createTooLongRefusal(String(prompt.length), { tokens: prompt.length, contextTokens });
  let grammars: PhaseGrammars;
  try {
    grammars = await compilePhases(call.phases, compile, { owner: call.owner, signal });
  } catch (error) {
    if (error instanceof GrammarRefusedError) return refuse('invalid', error.message, error.field);
    if (error instanceof WorkerBusyError)
      return { ...COMPILER_BUSY_REFUSALS[error.reason], retryAfterSeconds: RETRY_AFTER_SECONDS };
    throw error;
  }
  return {
    call,
    listener: caller,
    prompt,
    cacheRequest: createCacheRequest(marks),
    grammars,
    triggers: createTriggerMatcher(call.phases),
    endTokens: new Set((call.stop.special ?? []).flatMap((text) => findSingleToken(model, text))),
    markerTokens: new Set((call.markers ?? []).flatMap((text) => findSingleToken(model, text))),
    isSeeded: call.sampling.seed !== undefined,
    promptDecoder: createUtf8StreamDecoder(),
    cachedTokens: 0,
    choices: [],
    isPromptEvaluated: false,
    lines: [],
    hasSentLines: false,
    isCancelled: false,
    isPaused: false,
    isStalled: false,
    pauseTimer: undefined,
    waitTimer: undefined,
  };
}

/** Whether the job evaluates its prompt and reports the log probabilities of its tokens. */
export const isReadingPrompt = ({ call, isPromptEvaluated }: GenerationJob): boolean =>
  call.promptLogprobs !== undefined && !isPromptEvaluated;

/** Whether the job's tokens can be evaluated again in another way: without a change of its text, or a second report. */
export const canEvaluateAgain = (job: GenerationJob): boolean => !job.isSeeded && !isReadingPrompt(job);

export const isRefusal = (result: GenerationJob | EngineRefusal): result is EngineRefusal => 'kind' in result;

/** Returns the token of a special text, or no token if the vocabulary has no single token for it. */
function findSingleToken(model: NativeModel, text: string): readonly number[] {
  const tokens = model.tokenize(text, true);
  return tokens.length === 1 ? tokens : [];
}

/** The first sentence is prescribed (docs/wire/dashscope-native.md#errors); both token counts follow it. */
const createTooLongRefusal = (
  countText: string,
  { tokens, contextTokens }: { readonly tokens: number; readonly contextTokens: number },
): EngineRefusal => ({
  kind: 'too-long',
  message: formatPromptTooLong(countText, contextTokens),
  param: 'messages',
  excess: { tokens, tokensMax: contextTokens - 1 },
});
