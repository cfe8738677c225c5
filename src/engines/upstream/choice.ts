import type { EngineEvent } from '../../core/event.ts';
import { createCalls } from './calls.ts';
import type { WireChoice, WireDelta, WireToolCall } from './chunk.ts';
import type { Faults } from '../remote/faults.ts';
import { toFinishReason } from './finish-reason.ts';
import { toLogprobs } from './logprobs.ts';

export interface ChoiceNeeds {
  readonly choice: number;
  /** Alternatives to a token that were asked for; undefined: no log probabilities at all. */
  readonly topLogprobs: number | undefined;
  readonly stops: readonly string[];
  /** Token ids that were to end the answer. */
  readonly stopTokens?: readonly number[];
  /** At most one tool call is told. */
  readonly isSingleCall: boolean;
  readonly newCallId: () => string;
  readonly faults: Faults;
}

/** What the deltas of one choice mean. */
export interface Choice {
  push(wire: WireChoice, emit: (event: EngineEvent) => void): void;
  isEnded(): boolean;
}

export function createChoice(needs: ChoiceNeeds): Choice {
  const { choice, topLogprobs, stops, stopTokens = [], isSingleCall, newCallId, faults } = needs;
  let isEnded = false;
  const calls = createCalls({ choice, isSingle: isSingleCall, newCallId, faults });

  return {
    push(wire, emit) {
      const delta = wire.delta ?? wire.message ?? {};
      const text = (delta.content ?? '') + (delta.refusal ?? '');
      const reasoning = delta.reasoning_content || delta.reasoning || '';
      const pieces = callsIn(delta);
      // Tokens without text after a call began are its markup.
      const isText = reasoning === '' && pieces.length === 0 && (text !== '' || calls.count() === 0);
      const logprobs = isText ? logprobsOf(wire, topLogprobs) : undefined;
      const saysSomething = text !== '' || reasoning !== '' || pieces.length > 0 || logprobs !== undefined;
      if (isEnded) {
        if (saysSomething) throw faults.failed('went on after the end of a choice');
        return;
      }
      if (text !== '' || reasoning !== '') calls.close(emit, { isCut: false });
      if (reasoning !== '') emit({ type: 'reasoning', choice, text: reasoning, tokens: 1 });
      if (text !== '' || logprobs)
        emit({
          type: 'text',
          choice,
          text,
          tokens: logprobs?.length ?? 1,
          phase: 0,
          ...(logprobs ? { logprobs } : {}),
        });
      for (const piece of pieces) calls.push(piece, emit);
      if (!wire.finish_reason) return;
      const reason = toFinishReason(wire.finish_reason, calls.count() > 0);
      if (!reason)
        throw faults.failed(`ended with the finish reason ${JSON.stringify(wire.finish_reason.slice(0, 40))}`);
      calls.close(emit, { isCut: reason === 'length' });
      const isHit = (each: unknown): boolean => each === wire.stop_reason || each === wire.matched_stop;
      const stop = stops.find(isHit) ?? (stopTokens.some(isHit) ? '' : undefined);
      emit({ type: 'choice-end', choice, reason, ...(stop === undefined ? {} : { stop }) });
      isEnded = true;
    },
    isEnded: () => isEnded,
  };
}

/** The form before tool calls had indexes is a call like any other. */
const callsIn = ({ tool_calls: calls, function_call: call }: WireDelta): readonly WireToolCall[] =>
  calls ?? (call ? [{ function: call }] : []);

function logprobsOf({ logprobs }: WireChoice, top: number | undefined) {
  if (top === undefined || !logprobs?.content || logprobs.content.length === 0) return undefined;
  return toLogprobs(logprobs.content, top);
}
