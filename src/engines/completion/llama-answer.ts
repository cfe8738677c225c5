import { z } from 'zod';
import type { AlternativeToken, TokenLogprob } from '../../core/event.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';
import type { Answer } from '../remote/event-stream.ts';
import type { AnswerNeeds, Heard, HeardTokens, PhaseCall } from './dialect.ts';
import { readEvent } from './read-event.ts';

const Alternative = z.object({
  token: z.string(),
  bytes: z.array(z.int().min(0).max(255)),
  logprob: z.number().nullish(),
});

const Event = z.object({
  content: z.string().nullish(),
  tokens: z.array(z.int()).nullish(),
  /** All so far, those included that were not told because they end inside a character. */
  tokens_predicted: z.int().min(0).nullish(),
  completion_probabilities: z.array(Alternative.extend({ top_logprobs: z.array(Alternative).nullish() })).nullish(),
  prompt_progress: z.object({ cache: z.int().min(0).nullish() }).nullish(),
  stop: z.boolean(),
  stop_type: z.string().nullish(),
  timings: z.object({ cache_n: z.int().min(0).nullish() }).nullish(),
});

type Event = z.output<typeof Event>;

/**
 * What an answer of llama.cpp's server means. It tells each token with its text, but for those that end inside a
 * character: they are counted with the next one, their ids are not known, and of log probabilities there is one for the
 * whole character. The model's end comes as a token without text, and only the event behind it says that it was the end.
 */
export function createLlamaAnswer(
  { endTokens, markers, logprobs }: PhaseCall,
  { faults, onTaken }: AnswerNeeds,
): Answer<Heard> {
  let seen = 0;
  let isEnded = false;
  /** May turn out to be the model's end. */
  let held: HeardTokens | undefined;

  const flush = (emit: (event: Heard) => void): void => {
    if (held) emit(held);
    held = undefined;
  };

  const end = (emit: (event: Heard) => void, reason: 'end' | 'length', cached?: number | null): void => {
    isEnded = true;
    emit({ type: 'ended', reason, ...(typeof cached === 'number' ? { cachedTokens: cached } : {}) });
  };

  /** The tokens of an event, if it has any that were not seen. */
  const tokensOf = (event: Event): HeardTokens | undefined => {
    const { tokens, content } = event;
    const ids = tokens ?? [];
    const count = (event.tokens_predicted ?? seen + ids.length) - seen;
    if (count <= 0) return undefined;
    seen += count;
    const lastId = ids.at(-1) ?? -1;
    const told = (event.completion_probabilities ?? []).map((token) => toLogprob(token, logprobs?.top ?? 0));
    return {
      type: 'tokens',
      ...(ids.length === count ? { ids } : {}),
      lastId,
      count,
      text: content || (markers.get(lastId) ?? ''),
      logprobs: told,
    };
  };

  return {
    push(json, emit) {
      if (isEnded) return;
      const event = readEvent(json, { schema: Event, faults });
      if (event.prompt_progress) return onTaken(toTaken(event.prompt_progress.cache));
      if (event.stop && event.stop_type === 'eos') {
        // The end itself is counted by the server and by nobody else.
        if (held) held = undefined;
        else seen++;
      }
      flush(emit);
      const tokens = tokensOf(event);
      if (!event.stop) {
        if (tokens && endTokens.includes(tokens.lastId)) return end(emit, 'end');
        if (tokens?.text === '') held = tokens;
        else if (tokens) emit(tokens);
        return;
      }
      if (tokens) emit(tokens);
      if (event.stop_type === 'none') throw faults.failed('ended its answer without a reason');
      end(emit, event.stop_type === 'limit' ? 'length' : 'end', event.timings?.cache_n);
    },
    isComplete: () => isEnded,
    end() {
      if (!isEnded) throw faults.failed('ended its answer before it said why');
    },
  };
}

const toTaken = (cached: number | null | undefined) => (typeof cached === 'number' ? { cachedTokens: cached } : {});

type WireLogprob = NonNullable<Event['completion_probabilities']>[number];

const toLogprob = (token: WireLogprob, top: number): TokenLogprob => ({
  ...toAlternative(token),
  top: (token.top_logprobs ?? []).slice(0, top).map(toAlternative),
});

const toAlternative = ({ token, bytes, logprob }: z.output<typeof Alternative>): AlternativeToken => ({
  token,
  bytes,
  logprob: logprob === null || logprob === undefined || logprob < LOGPROB_MIN ? undefined : logprob,
});
