import type { EngineEvent, TokenLogprob } from '../../core/event.ts';
import type { GenerationPhase } from '../../core/prompt.ts';
import type { Sampling } from '../../core/request.ts';
import {
  createChoiceOutput,
  type ChoiceOutput,
  type ChoiceEnd,
  type PhaseEnd,
  type PushResult,
} from '../choice-output.ts';
import type { EngineRequest } from '../engine.ts';
import type { RunSequences } from '../sequence-pool.ts';
import type { TriggerMatcher } from '../trigger-matcher.ts';
import type { RunningCall } from './start-call.ts';
import type { CompletionEvent, TokensEvent, PhaseCall } from './completion-dialect.ts';
import type { PromptTokenizer } from './prompt-tokenizer.ts';
import type { PromptPiece } from './server-tokenizer.ts';

/** Collaborators and values that all choices of one request share. */
export interface ChoiceRunDeps {
  readonly request: EngineRequest;
  readonly prompt: readonly number[];
  readonly contextTokens: number;
  readonly triggers: TriggerMatcher;
  /** GBNF grammars of the phases that have one, by the index of the phase. */
  readonly gbnfByPhase: ReadonlyMap<number, string>;
  readonly endTokens: readonly number[];
  readonly markers: ReadonlyMap<number, string>;
  readonly tokenizer: PromptTokenizer;
  /** Aborts when the request has ended in any way. */
  readonly signal: AbortSignal;
  startCall(call: PhaseCall): Promise<RunningCall>;
  /** Whether the server's repetition penalty also counts the tokens of the prompt. */
  readonly penalizesPrompt: boolean;
  /** The slot of this choice at the server. */
  readonly slot: Pick<RunSequences, 'waitWhileInterrupted'>;
}

/** Generates one answer, with one call of the server per phase, and a further one after each interruption. */
export interface ChoiceRun {
  /** Starts the first call, or the call of the next phase. */
  startNextCall(): Promise<RunningCall>;
  /**
   * Whether the answer can continue later with the tokens so far. It cannot within a grammar, nor with a seed or a
   * penalty that counts only generated tokens: the server's state for them begins anew with each call.
   */
  canInterrupt(): boolean;
  /** Whether events of a running call wait for the reader. */
  isUnread(): boolean;
  /** Must be called when the choice has lost its slot: closes the call at once if its events wait for the reader. */
  onInterrupt(): void;
  /** Ends after the choice's end; leaving early cancels the running call. */
  readEvents(first: RunningCall): AsyncGenerator<readonly EngineEvent[], void>;
  readonly output: Pick<ChoiceOutput<unknown>, 'totalTokens' | 'thoughtTokens'>;
  /** Cached tokens of the prompt, as far as the server reported them. */
  readonly cachedTokens: number;
}

const SINGLE_ANSWER_PHASE: GenerationPhase = { kind: 'answer' };
const CONTINUE: PushResult = { type: 'more' };

/** Seed difference between the phases of a choice: the server restarts its random numbers with each call. */
const PHASE_SEED_STEP = 0x9e3779b1;

/**
 * Creates the run of one choice. Phases are decided here, as in the embedded engine: the server only continues tokens.
 * When a phase ends, its call is closed and the next call starts with the tokens so far, which the server still caches.
 */
export function createChoiceRun(index: number, deps: ChoiceRunDeps): ChoiceRun {
  const { request, contextTokens } = deps;
  const pendingEvents: EngineEvent[] = [];
  const output = createChoiceOutput<readonly TokenLogprob[]>(request, {
    triggers: deps.triggers,
    onDelta({ phase, text, tokens, logprobs }) {
      const emittedLogprobs = logprobs?.flat() ?? [];
      pendingEvents.push({
        type: 'text',
        choice: index,
        text,
        tokens,
        phase,
        ...(emittedLogprobs.length > 0 ? { logprobs: emittedLogprobs } : {}),
      });
    },
  });
  let context = deps.prompt;
  let callCount = 0;
  let cachedTokens = 0;
  /** Tokens events of the current phase; tokens that the server sent together stay together. */
  let receivedTokens: TokensEvent[] = [];
  let phaseTokenCount = 0;
  /** Tokens of the current call: received, and requested. */
  let receivedTokenCount = 0;
  let requestedTokens = 0;
  /** The call whose events wait for the reader, and whether it was closed meanwhile. */
  let unread: { readonly call: RunningCall; isInterrupted: boolean } | undefined;

  const getSampling = (): Sampling => {
    const { seed } = request.sampling;
    if (seed === undefined) return request.sampling;
    return { ...request.sampling, seed: (seed + index + callCount * PHASE_SEED_STEP) >>> 0 };
  };

  const countTokensLeft = ({ kind, until }: GenerationPhase, promptTokens: number): number => {
    if (request.maxTokens === 0) return 0;
    const totalLeft = (request.maxTotalTokens ?? Infinity) - output.totalTokens;
    const answerLeft =
      kind === 'thought' ? Infinity : (request.maxTokens ?? Infinity) - output.totalTokens + output.thoughtTokens;
    return Math.max(
      1,
      Math.min(contextTokens - promptTokens, (until?.tokens ?? Infinity) - phaseTokenCount, totalLeft, answerLeft),
    );
  };

  const startCall = async (prompt: readonly number[]): Promise<RunningCall> => {
    const phase = request.phases[output.phase] ?? SINGLE_ANSWER_PHASE;
    const gbnf = deps.gbnfByPhase.get(output.phase);
    requestedTokens = countTokensLeft(phase, prompt.length);
    receivedTokenCount = 0;
    const call: PhaseCall = {
      prompt,
      tokensMax: requestedTokens,
      sampling: getSampling(),
      ...(gbnf === undefined ? {} : { gbnf }),
      ...(request.logprobs && phase.kind === 'answer' ? { logprobs: request.logprobs } : {}),
      ...(request.promptLogprobs && callCount === 0 ? { promptLogprobs: request.promptLogprobs } : {}),
      endTokens: deps.endTokens,
      markers: deps.markers,
    };
    callCount++;
    return await deps.startCall(call);
  };

  const startNextCall = async (): Promise<RunningCall> => {
    receivedTokens = [];
    phaseTokenCount = 0;
    return await startCall(context);
  };

  const canInterrupt = (): boolean => {
    const { seed, presencePenalty = 0, frequencyPenalty = 0, repetitionPenalty = 1 } = request.sampling;
    const hasServerState =
      seed !== undefined ||
      presencePenalty !== 0 ||
      frequencyPenalty !== 0 ||
      (repetitionPenalty !== 1 && !deps.penalizesPrompt);
    return !hasServerState && request.maxTokens !== 0 && !deps.gbnfByPhase.has(output.phase);
  };

  const recordCachedTokens = (event: CompletionEvent): void => {
    if (event.type === 'cached') cachedTokens = event.tokens;
    if (event.type === 'ended') cachedTokens = event.cachedTokens ?? cachedTokens;
  };

  const handleEvent = (event: Exclude<CompletionEvent, { type: 'cached' }>): PushResult => {
    if (event.type === 'prompt') {
      const text = event.logprobs.map(({ token }) => token).join('');
      pendingEvents.push({ type: 'prompt', choice: index, text, logprobs: event.logprobs });
      return CONTINUE;
    }
    if (request.maxTokens === 0) return event.type === 'ended' ? { type: 'finished', reason: 'length' } : CONTINUE;
    if (event.type === 'tokens') {
      receivedTokens.push(event);
      receivedTokenCount += event.count;
      phaseTokenCount += event.count;
      return output.push({
        id: event.lastId,
        count: event.count,
        bytes: encoder.encode(event.text),
        isEndToken: false,
        ...(event.logprobs.length > 0 ? { logprobs: event.logprobs } : {}),
      });
    }
    // Parley's own limits are checked with each token, so `length` means that the context is full.
    if (event.reason === 'length') return output.finishAtContextLimit();
    const endLogprobs = request.promptLogprobs && event.endLogprob ? { logprobs: [event.endLogprob] } : {};
    return output.push({ id: -1, bytes: NO_BYTES, isEndToken: true, ...endLogprobs });
  };

  /**
   * Reads a call up to the end of its phase, or to its own end if that is near, so that the connection can be reused.
   * @returns `more` if the choice was interrupted, after it has got its slot back.
   */
  async function* readCall(call: RunningCall): AsyncGenerator<readonly EngineEvent[], PushResult> {
    let result = CONTINUE;
    for await (const batch of call.batches) {
      const wasDecided = result.type !== 'more';
      for (const event of batch) {
        if (callCount === 1) recordCachedTokens(event);
        if (event.type === 'cached') continue;
        if (result.type === 'more') result = handleEvent(event);
      }
      const isDecided = result.type !== 'more';
      const endsByItself = batch.at(-1)?.type === 'ended' || (!wasDecided && receivedTokenCount >= requestedTokens);
      if (isDecided && !endsByItself) call.cancel();
      if (result.type === 'finished' && !wasDecided) emitChoiceEnd(result);
      const canStop = !isDecided && !endsByItself && canInterrupt();
      const interruption = canStop ? deps.slot.waitWhileInterrupted(deps.signal) : undefined;
      // Before the reader gets the events: a slow one must not keep a slot that another choice has.
      if (interruption) call.cancel();
      if (canStop) unread = { call, isInterrupted: interruption !== undefined };
      if (pendingEvents.length > 0) yield pendingEvents.splice(0);
      const isInterrupted = unread?.isInterrupted === true;
      unread = undefined;
      if (isDecided && !endsByItself) break;
      if (!isInterrupted) continue;
      await (interruption ?? deps.slot.waitWhileInterrupted(deps.signal));
      break;
    }
    return result;
  }

  /** Returns the first tokens of the phase, by the number of events. */
  const tokenizeReceived = async (eventCount = receivedTokens.length): Promise<readonly number[]> => {
    const pieces = receivedTokens
      .slice(0, eventCount)
      .map(({ ids, text }): PromptPiece => (ids ? { type: 'tokens', tokens: ids } : { type: 'text', text }));
    return await deps.tokenizer.tokenizePieces(pieces, deps.signal);
  };

  /** Returns the context for the next call: the kept tokens of the phase and the appended text. */
  const getNextContext = async ({ keepTokens, keepText, append }: PhaseEnd): Promise<readonly number[]> => {
    const appendedTokens = await deps.tokenizer.tokenizeSegments(
      [{ text: keepText, special: false }, ...append],
      deps.signal,
    );
    return [...context, ...(await tokenizeReceived(keepTokens)), ...appendedTokens];
  };

  const emitChoiceEnd = ({ reason, stop }: Omit<ChoiceEnd, 'type'>): void =>
    void pendingEvents.push({ type: 'choice-end', choice: index, reason, ...(stop === undefined ? {} : { stop }) });

  async function* readEvents(first: RunningCall): AsyncGenerator<readonly EngineEvent[], void> {
    let call = first;
    cachedTokens = call.acceptance.cachedTokens ?? 0;
    try {
      for (;;) {
        const verdict = yield* readCall(call);
        if (verdict.type === 'finished') return;
        if (verdict.type === 'more') {
          call = await startCall([...context, ...(await tokenizeReceived())]);
          continue;
        }
        context = await getNextContext(verdict);
        if (context.length >= contextTokens) {
          emitChoiceEnd({ reason: 'length' });
          return yield pendingEvents.splice(0);
        }
        await deps.slot.waitWhileInterrupted(deps.signal);
        call = await startNextCall();
      }
    } finally {
      call.cancel();
    }
  }

  return {
    startNextCall,
    canInterrupt,
    isUnread: () => unread !== undefined,
    onInterrupt() {
      if (!unread) return;
      unread.isInterrupted = true;
      unread.call.cancel();
    },
    readEvents,
    output,
    get cachedTokens() {
      return cachedTokens;
    },
  };
}

const encoder = new TextEncoder();
const NO_BYTES = new Uint8Array();
