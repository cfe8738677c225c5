import { setTimeout as delay } from 'node:timers/promises';
import { createBatchQueue } from '../../lib/batch-queue.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { ServiceError, type ErrorKind } from '../../core/error.ts';
import { getMessageText } from '../../core/message.ts';
import type { EngineEvent, PromptEvent, TokenLogprob } from '../../core/event.ts';
import { QUEUE_LENGTH_MAX, QUEUE_WAIT_MS_MAX, WORKSPACE_SHARE } from '../../core/limits.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { ENGINE_EVENTS_WAITING_MAX } from '../limits.ts';
import { findRequestProblem, findTokenProblem, type VocabularyBounds } from '../find-request-problem.ts';
import { getAbortError } from '../get-abort-error.ts';
import { createChoiceOutput, type ChoiceOutput, type SampledToken } from '../choice-output.ts';
import type { EngineInput, EngineRequest, LoadedModel, TextEngine, TokenText } from '../engine.ts';
import { createTriggerMatcher } from '../trigger-matcher.ts';
import { splitWords } from './split-words.ts';
import { createSequencePool, type RunSequences } from '../sequence-pool.ts';
import { createScriptedEmbeddingEngine, SCRIPTED_DIMENSIONS, getWordId } from './scripted-embedding-engine.ts';
import { createPromptTooLongError } from '../../core/generation-errors.ts';
import { CHATML_TEMPLATE } from '../../core/chatml.ts';

/** One step of a script. Tokens are pieces of text, or bytes, which may contain incomplete characters. */
export type ScriptStep =
  /** Emits tokens. `perTick`: number of tokens per turn of the event loop, as with an engine that works in ticks. */
  | { readonly type: 'tokens'; readonly tokens: readonly (string | Uint8Array)[]; readonly perTick?: number }
  /** Waits. */
  | { readonly type: 'delay'; readonly ms: number }
  /** Rejects the request if it is the first step; otherwise fails during the answer. */
  | { readonly type: 'fail'; readonly kind: ErrorKind }
  /** Waits until the run is canceled. */
  | { readonly type: 'hang' }
  /** Ends the stream without an `end` event: a fault that readers must detect. */
  | { readonly type: 'vanish' };

export type EngineScript = (request: EngineRequest) => readonly ScriptStep[];

export interface ScriptedEngineOptions {
  readonly script: EngineScript;
  readonly contextTokens?: number;
  readonly sequences?: number;
  /** Share of the sequences that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare?: number;
  readonly clock?: Pick<Clock, 'monotonic'>;
  /** Called for each piece of output. */
  readonly onToken?: () => void;
  /** Called for each run that ended. */
  readonly onRunEnd?: (run: { id: string; isCancelled: boolean }) => void;
}

const SPECIAL_TOKENS = [
  '<|im_start|>',
  '<|im_end|>',
  '<|endoftext|>',
  '<|fim_prefix|>',
  '<|fim_suffix|>',
  '<|fim_middle|>',
];

/**
 * Creates an engine that plays a script: deterministic events, delays and faults. It complies with the engine contract
 * (stop sequences, limits, choices, cancellation, rejection before the start), so that tests and benchmarks need no
 * model.
 */
export function createScriptedEngine({
  script,
  contextTokens = 8192,
  sequences = 1024,
  workspaceShare = WORKSPACE_SHARE,
  clock = systemClock,
  onToken,
  onRunEnd,
}: ScriptedEngineOptions): TextEngine {
  const model: LoadedModel = {
    contextTokens,
    vocabularySize: 65_536,
    vectorDimensions: SCRIPTED_DIMENSIONS,
    chatTemplate: CHATML_TEMPLATE,
    specialTokens: SPECIAL_TOKENS,
    bosToken: '',
    eosToken: '<|endoftext|>',
  };
  const sequencePool = createSequencePool({
    getTotal: () => sequences,
    workspaceShare,
    hasLiveReserve: false,
    queueLengthMax: QUEUE_LENGTH_MAX,
    queueWaitMsMax: QUEUE_WAIT_MS_MAX,
    clock,
  });

  return {
    state: 'ready',
    capabilities: {
      input: 'prompt',
      logprobs: true,
      promptLogprobs: true,
      grammar: false,
      phases: true,
      cache: false,
      choicesMax: sequences,
    },
    async start(request, signal) {
      if (signal.aborted) throw getAbortError(signal);
      const promptTokens = countTokens(request.input);
      checkRequest(request, { choicesMax: sequences, vocabularySize: model.vocabularySize });
      if (promptTokens >= contextTokens) throw createPromptTooLongError(promptTokens, contextTokens);
      const steps = script(request);
      if (steps[0]?.type === 'fail') throw new ServiceError(steps[0].kind, `scripted: ${steps[0].kind}`);
      const sequence = await sequencePool.acquire(request, signal);
      const tokensLeft = contextTokens - promptTokens;
      const maxTokens = Math.min(request.maxTokens ?? tokensLeft, tokensLeft);
      const linked = createLinkedAbort(signal);
      const queue = createBatchQueue<EngineEvent>({
        waitingMax: ENGINE_EVENTS_WAITING_MAX,
        onDrain: () => resume?.(),
        onReaderLeft: () => linked.abort(undefined),
      });
      let resume: (() => void) | undefined;
      const run = {
        request,
        steps,
        promptTokens,
        tokensMax: maxTokens,
        sequence,
        signal: linked.signal,
      };
      run.signal.addEventListener('abort', () => resume?.(), { once: true });
      const push = (event: EngineEvent): Promise<void> | undefined => {
        if (event.type === 'text') onToken?.();
        if (queue.push(event)) return undefined;
        return new Promise<void>((resolve) => {
          resume = resolve;
          if (run.signal.aborted) resolve();
        });
      };
      void playScript(run, push)
        .then(
          () => queue.end(),
          (error: unknown) => queue.fail(error),
        )
        .finally(() => {
          linked.unlink();
          sequence.release();
          onRunEnd?.({ id: request.id, isCancelled: run.signal.aborted });
        });
      return { promptTokens, cachedTokens: 0, maxTokens, batches: queue };
    },
    loadModel: async () => model,
    countTokens: async (input) => countTokens(input),
    tokenize: async (input) => splitTokens(input),
    embeddings: createScriptedEmbeddingEngine({ textTokensMax: contextTokens }),
    close: async () => undefined,
  };
}

interface ScriptRun {
  readonly request: EngineRequest;
  readonly steps: readonly ScriptStep[];
  readonly promptTokens: number;
  readonly tokensMax: number;
  readonly sequence: RunSequences;
  readonly signal: AbortSignal;
}

interface ScriptedChoice {
  readonly choice: number;
  readonly output: ChoiceOutput<TokenLogprob>;
  isFinished: boolean;
  /** Resolves when the reader has caught up; undefined if it is not behind. */
  backpressure: Promise<void> | undefined;
}

async function playScript(
  { request, steps, promptTokens, tokensMax, sequence, signal }: ScriptRun,
  push: (event: EngineEvent) => Promise<void> | undefined,
) {
  const triggers = createTriggerMatcher(request.phases);
  // Stop token ids are removed, because pieces of text have no token ids.
  const call = { ...request, maxTokens: tokensMax, stop: { ...request.stop, tokens: [] } };
  const createChoice = (choice: number): ScriptedChoice => {
    const scriptedChoice: ScriptedChoice = {
      choice,
      output: createChoiceOutput<TokenLogprob>(call, {
        triggers,
        onDelta({ phase, tokens, text, logprobs }) {
          const drained = push({ type: 'text', choice, text, tokens, phase, ...omitNullish({ logprobs }) });
          if (drained) scriptedChoice.backpressure = drained;
        },
      }),
      isFinished: false,
      backpressure: undefined,
    };
    return scriptedChoice;
  };
  const choices = Array.from({ length: request.choices }, (_, choice) => createChoice(choice));

  /** Asynchronous only if the reader is behind: all output of one turn of the event loop is one batch. */
  const pushPiece = (choice: ScriptedChoice, token: string | Uint8Array | undefined): Promise<void> | undefined => {
    choice.backpressure = undefined;
    let rest: string | Uint8Array | undefined = token;
    do rest = pushOne(choice, rest);
    while (rest !== undefined && rest.length > 0 && !choice.isFinished);
    return choice.backpressure;
  };

  /**
   * Pushes one piece of output. If a part of it ends a phase (text or trigger of a `GenerationPhase`), returns the rest
   * of the piece, which belongs to the next phase.
   */
  const pushOne = (choice: ScriptedChoice, token: string | Uint8Array | undefined): Uint8Array | undefined => {
    const result = choice.output.push(
      token === undefined ? createEndToken(request) : createSampledToken(token, request.logprobs),
    );
    switch (result.type) {
      case 'more':
        return undefined;
      case 'phase-end':
        return token === undefined ? undefined : sliceRest(token, result.rest);
      case 'finished': {
        const { reason, stop } = result;
        choice.isFinished = true;
        choice.backpressure =
          push({ type: 'choice-end', choice: choice.choice, reason, ...omitNullish({ stop }) }) ?? choice.backpressure;
        return undefined;
      }
    }
  };

  if (request.promptLogprobs) {
    const prompt = createPrompt(request.input, request.promptLogprobs.top);
    for (const { choice } of choices) void push({ type: 'prompt', choice, ...prompt });
  }
  for (const step of request.maxTokens === 0 ? [] : steps) {
    const paused = sequence.waitWhileInterrupted(signal);
    if (paused) await paused;
    if (signal.aborted) throw getAbortError(signal);
    switch (step.type) {
      case 'delay':
        await delay(step.ms, undefined, { signal }).catch(() => undefined);
        break;
      case 'hang':
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
          if (signal.aborted) resolve();
        });
        break;
      case 'fail':
        throw new ServiceError(step.kind, `scripted: ${step.kind}`);
      case 'vanish':
        return;
      case 'tokens':
        for (const [at, token] of step.tokens.entries()) {
          if (step.perTick && at > 0 && at % step.perTick === 0) {
            if (choices.every(({ isFinished }) => isFinished)) break;
            await nextTick();
            await sequence.waitWhileInterrupted(signal);
          }
          for (const choice of choices) {
            if (signal.aborted) throw getAbortError(signal);
            if (choice.isFinished) continue;
            const drained = pushPiece(choice, token);
            if (drained) await drained;
          }
        }
    }
  }
  if (signal.aborted) throw getAbortError(signal);
  for (const choice of choices) {
    if (request.maxTokens === 0) await push({ type: 'choice-end', choice: choice.choice, reason: 'length' });
    else while (!choice.isFinished) await pushPiece(choice, undefined);
  }
  const sumChoices = (count: (choice: ScriptedChoice) => number): number =>
    choices.reduce((sum, choice) => sum + count(choice), 0);
  const reasoningTokens = sumChoices(({ output }) => output.thoughtTokens);
  await push({
    type: 'end',
    usage: {
      promptTokens,
      cachedTokens: 0,
      completionTokens: sumChoices(({ output }) => output.totalTokens),
      ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
    },
  });
}

const createEndToken = ({ logprobs, promptLogprobs }: EngineRequest): SampledToken<TokenLogprob> => ({
  id: -1,
  bytes: new Uint8Array(),
  isEndToken: true,
  ...(logprobs && promptLogprobs ? { logprobs: createLogprob('<|endoftext|>', logprobs.top) } : {}),
});

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const createSampledToken = (
  token: string | Uint8Array,
  logprobs: EngineRequest['logprobs'],
): SampledToken<TokenLogprob> => ({
  id: 0,
  bytes: typeof token === 'string' ? Buffer.from(token) : token,
  isEndToken: false,
  ...(logprobs
    ? { logprobs: createLogprob(typeof token === 'string' ? token : decoder.decode(token), logprobs.top) }
    : {}),
});

/** Returns the end of a piece: the text `rest`, and the incomplete character that may follow it. */
function sliceRest(token: string | Uint8Array, rest: string): Uint8Array {
  const bytes = typeof token === 'string' ? encoder.encode(token) : token;
  return bytes.subarray(bytes.length - encoder.encode(rest).length - countPartialCharacterBytes(bytes));
}

/** Counts the bytes at the end that are the start of an incomplete character. */
function countPartialCharacterBytes(bytes: Uint8Array): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return whole > length ? length : 0;
  }
  return 0;
}

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Estimates tokens, because this engine has no tokenizer: one per word of a prompt, or one per message. */
function countTokens(input: EngineInput): number {
  if (input.type === 'tokens') return input.tokens.length;
  if (input.type === 'messages') return input.messages.length;
  const text = input.segments.map((segment) => segment.text).join('');
  return Math.max(1, text.match(/\S+/g)?.length ?? 1);
}

function splitTokens(input: EngineInput): readonly TokenText[] {
  if (input.type === 'tokens') return input.tokens.map((id) => ({ id, text: '' }));
  if (input.type === 'messages') return input.messages.map((message, id) => ({ id, text: getMessageText(message) }));
  const text = input.segments.map((segment) => segment.text).join('');
  const words = splitWords(text);
  return (words.length > 0 ? words : [text]).map((word) => ({ id: getWordId(word), text: word }));
}

/** Creates the tokens of a prompt. Token ids have no text in this engine, so a text is made of each. */
function createPrompt(input: EngineInput, top: number): Pick<PromptEvent, 'text' | 'logprobs'> {
  const logprobs = splitTokens(input).map(({ id, text }, at): TokenLogprob => {
    const token = createLogprob(text === '' ? `<${id}>` : text, top);
    return at > 0 ? token : { ...token, logprob: undefined, top: [] };
  });
  return { text: logprobs.map(({ token }) => token).join(''), logprobs };
}

function createLogprob(token: string, top: number): TokenLogprob {
  const bytes = [...encoder.encode(token)];
  const entry = { token, bytes, logprob: -0.25 };
  return { ...entry, top: Array.from({ length: top }, (_, i) => ({ ...entry, logprob: -0.25 - i })) };
}

/** @throws ServiceError `invalid-request` for a token that the model does not have, or more choices than sequences. */
function checkRequest({ input, choices, sampling, stop }: EngineRequest, bounds: VocabularyBounds): void {
  const message = input.type === 'tokens' ? findTokenProblem(input.tokens, bounds.vocabularySize) : undefined;
  if (message !== undefined) throw new ServiceError('invalid-request', message, { param: 'prompt' });
  const biasedTokens = [...(sampling.logitBias?.keys() ?? [])];
  const problem = findRequestProblem({ choices, biasedTokens, stop }, bounds);
  if (problem) throw new ServiceError('invalid-request', problem.message, { param: problem.param });
}
