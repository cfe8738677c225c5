import { z } from 'zod';
import type { AlternativeToken, TokenLogprob } from '../../core/event.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';
import type { ResponseParser } from '../remote/response-parser.ts';
import type { CompletionParserDeps, CompletionEvent, TokensEvent, PhaseCall } from './completion-dialect.ts';
import { parseEvent } from './parse-event.ts';

const Alternative = z.object({
  token: z.string(),
  bytes: z.array(z.int().min(0).max(255)),
  logprob: z.number().nullish(),
});

const Event = z.object({
  content: z.string().nullish(),
  tokens: z.array(z.int()).nullish(),
  /** Number of tokens so far, including those that were not reported because they end inside a character. */
  tokens_predicted: z.int().min(0).nullish(),
  completion_probabilities: z.array(Alternative.extend({ top_logprobs: z.array(Alternative).nullish() })).nullish(),
  prompt_progress: z.object({ cache: z.int().min(0).nullish() }).nullish(),
  stop: z.boolean(),
  stop_type: z.string().nullish(),
  timings: z.object({ cache_n: z.int().min(0).nullish() }).nullish(),
});

type Event = z.output<typeof Event>;

/**
 * Parses a response of llama-server. It reports each token with its text, except tokens that end inside a character:
 * these are counted with the next token, their ids are unknown, and the whole character has one log probability. The
 * model's end token arrives as a token without text, and only the next event shows that it was the end.
 */
export function createLlamaResponseParser(
  { endTokens, markers, logprobs }: PhaseCall,
  { errors, onAccepted }: CompletionParserDeps,
): ResponseParser<CompletionEvent> {
  let seenTokens = 0;
  let isFinished = false;
  /** Last tokens without text: may turn out to be the model's end token. */
  let heldTokens: TokensEvent | undefined;

  const flush = (emit: (event: CompletionEvent) => void): void => {
    if (heldTokens) emit(heldTokens);
    heldTokens = undefined;
  };

  const emitEnd = (emit: (event: CompletionEvent) => void, reason: 'end' | 'length', cached?: number | null): void => {
    isFinished = true;
    emit({ type: 'ended', reason, ...(typeof cached === 'number' ? { cachedTokens: cached } : {}) });
  };

  /** Returns the new tokens of an event, if any. */
  const getNewTokens = (event: Event): TokensEvent | undefined => {
    const { tokens, content } = event;
    const ids = tokens ?? [];
    const count = (event.tokens_predicted ?? seenTokens + ids.length) - seenTokens;
    if (count <= 0) return undefined;
    seenTokens += count;
    const lastId = ids.at(-1) ?? -1;
    const tokenLogprobs = (event.completion_probabilities ?? []).map((token) =>
      decodeLogprob(token, logprobs?.top ?? 0),
    );
    return {
      type: 'tokens',
      ...(ids.length === count ? { ids } : {}),
      lastId,
      count,
      text: content || (markers.get(lastId) ?? ''),
      logprobs: tokenLogprobs,
    };
  };

  return {
    push(json, emit) {
      if (isFinished) return;
      const event = parseEvent(json, { schema: Event, errors });
      if (event.prompt_progress) return onAccepted(toAcceptance(event.prompt_progress.cache));
      if (event.stop && event.stop_type === 'eos') {
        // The server counts the end token; Parley does not.
        if (heldTokens) heldTokens = undefined;
        else seenTokens++;
      }
      flush(emit);
      const tokens = getNewTokens(event);
      if (!event.stop) {
        if (tokens && endTokens.includes(tokens.lastId)) return emitEnd(emit, 'end');
        if (tokens?.text === '') heldTokens = tokens;
        else if (tokens) emit(tokens);
        return;
      }
      if (tokens) emit(tokens);
      if (event.stop_type === 'none') throw errors.createFailure('ended its answer without a reason');
      emitEnd(emit, event.stop_type === 'limit' ? 'length' : 'end', event.timings?.cache_n);
    },
    isComplete: () => isFinished,
    isOverrun: () => false,
    end() {
      if (!isFinished) throw errors.createFailure('ended its answer without a final event');
    },
  };
}

const toAcceptance = (cached: number | null | undefined) =>
  typeof cached === 'number' ? { cachedTokens: cached } : {};

type WireLogprob = NonNullable<Event['completion_probabilities']>[number];

const decodeLogprob = (token: WireLogprob, top: number): TokenLogprob => ({
  ...decodeAlternative(token),
  top: (token.top_logprobs ?? []).slice(0, top).map(decodeAlternative),
});

const decodeAlternative = ({ token, bytes, logprob }: z.output<typeof Alternative>): AlternativeToken => ({
  token,
  bytes,
  logprob: logprob === null || logprob === undefined || logprob < LOGPROB_MIN ? undefined : logprob,
});
