import type { EngineEvent, Usage } from '../../core/event.ts';
import type { EngineRequest } from '../engine.ts';
import { createChoice } from './choice.ts';
import { Chunk } from './chunk.ts';
import type { WireUsage } from './chunk.ts';
import { errorIn } from './error-words.ts';
import type { Faults } from './faults.ts';

/** Makes events of what an upstream sends, streamed or whole. Synchronous; holds the state of one request. */
export interface Answer {
  /**
   * @param json One event of the stream, or the body of an unstreamed answer.
   * @throws ServiceError when it is not what the format says, or an error of the upstream's own.
   */
  push(json: string, emit: (event: EngineEvent) => void): void;
  /** Every choice has said why it ended. */
  isComplete(): boolean;
  /** @throws ServiceError when the answer is not complete: with or without an end mark, it broke off. */
  end(emit: (event: EngineEvent) => void): void;
}

export interface AnswerNeeds {
  readonly newCallId: () => string;
  readonly faults: Faults;
}

export function createAnswer(request: EngineRequest, { newCallId, faults }: AnswerNeeds): Answer {
  const { input } = request;
  const toolUse = input.type === 'messages' ? input.toolUse : undefined;
  const choices = Array.from({ length: request.choices }, (_, choice) =>
    createChoice({
      choice,
      topLogprobs: request.logprobs?.top,
      stops: request.stop.strings,
      isSingleCall: toolUse !== undefined && !toolUse.isParallel,
      newCallId,
      faults,
    }),
  );
  let usage: WireUsage | undefined;
  let spoken = 0;

  const isComplete = (): boolean => choices.every((choice) => choice.isEnded());

  return {
    push(json, emit) {
      const chunk = parse(json, faults);
      usage = chunk.usage ?? usage;
      const count = (event: EngineEvent): void => {
        if (event.type === 'text' || event.type === 'reasoning') spoken += event.tokens;
        emit(event);
      };
      for (const wire of chunk.choices ?? []) {
        const choice = choices[wire.index ?? 0];
        if (!choice) throw faults.failed(`sent choice ${wire.index} of ${request.choices}`);
        choice.push(wire, count);
      }
    },
    isComplete,
    end(emit) {
      if (!isComplete()) throw faults.failed('ended its answer before every choice had a finish reason');
      emit({ type: 'end', usage: toUsage(usage, spoken) });
    },
  };
}

/** Causes name places, never values: those are the answer's text. */
function parse(json: string, faults: Faults): Chunk {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw faults.failed('sent something that is no JSON');
  }
  const parsed = Chunk.safeParse(value);
  // One pass for the common event; only what is odd is looked at again.
  if (!parsed.success || parsed.data.error || parsed.data.object === 'error') {
    const error = errorIn(value);
    if (error) throw faults.refused(error.status, error);
  }
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map(({ path }) => path.join('.') || 'the whole').slice(0, 5);
  throw faults.failed(`sent something that is not of the format, at ${places.join(', ')}`);
}

/**
 * The upstream's own count. Where it gives none, the prompt is unknown and stays 0, and of the completion we know a
 * lower bound: one token for each piece, or as many as came with log probabilities.
 */
const toUsage = (wire: WireUsage | undefined, spoken: number): Usage => {
  const promptTokens = wire?.prompt_tokens ?? 0;
  const reasoningTokens = wire?.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    promptTokens,
    cachedTokens: Math.min(wire?.prompt_tokens_details?.cached_tokens ?? 0, promptTokens),
    completionTokens: wire?.completion_tokens ?? spoken,
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  };
};
