import { setTimeout as delay } from 'node:timers/promises';
import { createBatchQueue } from '../../lib/batch-queue.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import { present } from '../../lib/present.ts';
import { ServiceError } from '../../core/error.ts';
import type { ErrorKind } from '../../core/error.ts';
import { textOf } from '../../core/message.ts';
import type { EngineEvent, TokenLogprob } from '../../core/event.ts';
import { ENGINE_EVENTS_WAITING_MAX } from '../../core/limits.ts';
import { abortReason } from '../abort-reason.ts';
import { createChoiceOutput } from '../choice-output.ts';
import type { ChoiceOutput, SampledToken } from '../choice-output.ts';
import type { EngineInput, EngineRequest, LoadedModel, TextEngine, TokenText } from '../engine.ts';
import { createTriggers } from '../triggers.ts';
import { createSequences } from './sequences.ts';
import type { Sequence } from './sequences.ts';
import { createScriptedEmbeddings, SCRIPTED_DIMENSIONS, wordId } from './scripted-embeddings.ts';

/** What the engine does next. Tokens are pieces of text, or bytes, which may be halves of characters. */
export type Step =
  /** `perTick`: this many, then the event loop goes round once, as with an engine that works in ticks. */
  | { readonly type: 'tokens'; readonly tokens: readonly (string | Uint8Array)[]; readonly perTick?: number }
  /** Nothing for a while. */
  | { readonly type: 'delay'; readonly ms: number }
  /** Refuses before the start (first step) or breaks off in mid-answer. */
  | { readonly type: 'fail'; readonly kind: ErrorKind }
  /** Silent until cancelled. */
  | { readonly type: 'hang' }
  /** Ends the stream without `end`: a fault that readers must notice. */
  | { readonly type: 'vanish' };

export type Script = (request: EngineRequest) => readonly Step[];

export interface ScriptedOptions {
  readonly script: Script;
  readonly contextTokens?: number;
  readonly sequences?: number;
  /** Hears of each piece of output. */
  readonly onToken?: () => void;
  /** Hears of each run that ended, and whether it was cancelled. */
  readonly onRunEnd?: (run: { id: string; isCancelled: boolean }) => void;
}

/** ChatML, so that prompts read like those of the real models. */
const TEMPLATE =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

const SPECIAL_TOKENS = [
  '<|im_start|>',
  '<|im_end|>',
  '<|endoftext|>',
  '<|fim_prefix|>',
  '<|fim_suffix|>',
  '<|fim_middle|>',
];

/**
 * An engine that plays a script: deterministic events, delays and faults at chosen points. First-class: it keeps the
 * engine contract (stops, limits, choices, cancel, refusal before start), so that tests and benchmarks need no model.
 */
export function createScriptedEngine({
  script,
  contextTokens = 8192,
  sequences = 1024,
  onToken,
  onRunEnd,
}: ScriptedOptions): TextEngine {
  const model: LoadedModel = {
    contextTokens,
    vocabularySize: 65_536,
    vectorDimensions: SCRIPTED_DIMENSIONS,
    chatTemplate: TEMPLATE,
    specialTokens: SPECIAL_TOKENS,
    bosToken: '',
    eosToken: '<|endoftext|>',
  };
  const free = createSequences(sequences);

  return {
    state: 'ready',
    capabilities: {
      input: 'prompt',
      logprobs: true,
      grammar: false,
      phases: true,
      cache: false,
      choicesMax: sequences,
    },
    async start(request, signal) {
      if (signal.aborted) throw abortReason(signal);
      const promptTokens = tokensOf(request.input);
      if (promptTokens >= contextTokens)
        throw new ServiceError(
          'context-exceeded',
          `Range of input length should be [1, ${contextTokens - 1}] (the prompt has ${promptTokens} tokens, the model's context holds ${contextTokens})`,
          { param: 'messages', excess: { tokens: promptTokens, tokensMax: contextTokens - 1 } },
        );
      const steps = script(request);
      if (steps[0]?.type === 'fail') throw new ServiceError(steps[0].kind, `scripted: ${steps[0].kind}`);
      const sequence = await free.take(request.owner, signal);
      const room = contextTokens - promptTokens;
      const maxTokens = Math.min(request.maxTokens ?? room, room);
      const linked = linkedAbort(signal);
      const queue = createBatchQueue<EngineEvent>({
        waitingMax: ENGINE_EVENTS_WAITING_MAX,
        onDrain: () => resume?.(),
        onReturn: () => linked.abort(undefined),
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
      void play(run, push)
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
    model: async () => model,
    countTokens: async (input) => tokensOf(input),
    tokenize: async (input) => wordsOf(input),
    embeddings: createScriptedEmbeddings({ textTokensMax: contextTokens }),
    close: async () => undefined,
  };
}

interface Run {
  readonly request: EngineRequest;
  readonly steps: readonly Step[];
  readonly promptTokens: number;
  readonly tokensMax: number;
  readonly sequence: Sequence;
  readonly signal: AbortSignal;
}

interface Played {
  readonly choice: number;
  readonly output: ChoiceOutput<TokenLogprob>;
  isOver: boolean;
  /** Resolves when the reader has caught up, where it is behind. */
  full: Promise<void> | undefined;
}

async function play(
  { request, steps, promptTokens, tokensMax, sequence, signal }: Run,
  push: (event: EngineEvent) => Promise<void> | undefined,
) {
  const triggers = createTriggers(request.phases);
  // Pieces of text have no ids: stop sequences of them cannot be.
  const call = { ...request, maxTokens: tokensMax, stop: { ...request.stop, tokens: [] } };
  const createPlayed = (choice: number): Played => {
    const played: Played = {
      choice,
      output: createChoiceOutput<TokenLogprob>(call, {
        triggers,
        say({ phase, tokens, text, logprobs }) {
          const full = push({ type: 'text', choice, text, tokens, phase, ...present({ logprobs }) });
          if (full) played.full = full;
        },
      }),
      isOver: false,
      full: undefined,
    };
    return played;
  };
  const choices = Array.from({ length: request.choices }, (_, choice) => createPlayed(choice));

  /** Asynchronous only where it has to be: what is said in one turn of the event loop is one batch. */
  const take = (of: Played, token: string | Uint8Array | undefined): Promise<void> | undefined => {
    of.full = undefined;
    let rest: string | Uint8Array | undefined = token;
    do rest = takeOne(of, rest);
    while (rest !== undefined && rest.length > 0 && !of.isOver);
    return of.full;
  };

  /** @returns what the piece says beyond a trigger: the script goes on with it, as a model would. */
  const takeOne = (of: Played, token: string | Uint8Array | undefined): Uint8Array | undefined => {
    const verdict = of.output.push(token === undefined ? END : tokenOf(token, request.logprobs));
    switch (verdict.type) {
      case 'more':
        return undefined;
      case 'phase-end':
        return token === undefined ? undefined : endOf(token, verdict.rest);
      case 'finished': {
        const { reason, stop } = verdict;
        of.isOver = true;
        of.full = push({ type: 'choice-end', choice: of.choice, reason, ...present({ stop }) }) ?? of.full;
        return undefined;
      }
    }
  };

  for (const step of steps) {
    const held = sequence.held(signal);
    if (held) await held;
    if (signal.aborted) throw abortReason(signal);
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
            await nextTick();
            await sequence.held(signal);
          }
          for (const of of choices) {
            if (signal.aborted) throw abortReason(signal);
            if (of.isOver) continue;
            const isTaken = take(of, token);
            if (isTaken) await isTaken;
          }
        }
    }
  }
  if (signal.aborted) throw abortReason(signal);
  for (const of of choices) while (!of.isOver) await take(of, undefined);
  const sum = (count: (of: Played) => number): number => choices.reduce((all, of) => all + count(of), 0);
  const reasoningTokens = sum(({ output }) => output.thoughtTokens);
  await push({
    type: 'end',
    usage: {
      promptTokens,
      cachedTokens: 0,
      completionTokens: sum(({ output }) => output.tokens),
      ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
    },
  });
}

const END: SampledToken<TokenLogprob> = { id: -1, bytes: new Uint8Array(), isEnd: true };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const tokenOf = (token: string | Uint8Array, logprobs: EngineRequest['logprobs']): SampledToken<TokenLogprob> => ({
  id: 0,
  bytes: typeof token === 'string' ? Buffer.from(token) : token,
  isEnd: false,
  ...(logprobs ? { logprobs: logprobOf(typeof token === 'string' ? token : decoder.decode(token), logprobs.top) } : {}),
});

/** The end of a piece that says `rest`, with the half of a character that may follow that. */
function endOf(token: string | Uint8Array, rest: string): Uint8Array {
  const bytes = typeof token === 'string' ? encoder.encode(token) : token;
  return bytes.subarray(bytes.length - encoder.encode(rest).length - halfAtEnd(bytes));
}

/** Bytes at the end that are the beginning of a character, not the whole of it. */
function halfAtEnd(bytes: Uint8Array): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return whole > length ? length : 0;
  }
  return 0;
}

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One token a word, as good as any for an engine that does not read. */
function tokensOf(input: EngineInput): number {
  if (input.type === 'tokens') return input.tokens.length;
  if (input.type === 'messages') return input.messages.length;
  const text = input.segments.map((segment) => segment.text).join('');
  return Math.max(1, text.match(/\S+/g)?.length ?? 1);
}

function wordsOf(input: EngineInput): readonly TokenText[] {
  if (input.type === 'tokens') return input.tokens.map((id) => ({ id, text: '' }));
  if (input.type === 'messages') return input.messages.map((message, id) => ({ id, text: textOf(message) }));
  const text = input.segments.map((segment) => segment.text).join('');
  return (text.match(/\s*\S+/g) ?? [text]).map((word) => ({ id: wordId(word), text: word }));
}

function logprobOf(token: string, top: number): TokenLogprob {
  const bytes = [...encoder.encode(token)];
  const entry = { token, bytes, logprob: -0.25 };
  return { ...entry, top: Array.from({ length: top }, (_, i) => ({ ...entry, logprob: -0.25 - i })) };
}
