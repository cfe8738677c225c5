import type { EngineEvent } from '../../core/event.ts';
import type { WireChoice, WireDelta, WireToolCall } from './chunk.ts';
import type { Faults } from './faults.ts';
import { toFinishReason } from './finish-reason.ts';
import { toLogprobs } from './logprobs.ts';

export interface ChoiceNeeds {
  readonly choice: number;
  /** Alternatives to a token that were asked for; undefined: no log probabilities at all. */
  readonly topLogprobs: number | undefined;
  readonly stops: readonly string[];
  readonly newCallId: () => string;
  readonly faults: Faults;
}

/** What the deltas of one choice mean. */
export interface Choice {
  push(wire: WireChoice, emit: (event: EngineEvent) => void): void;
  isEnded(): boolean;
}

interface OpenCall {
  readonly index: number;
  readonly wireIndex: number | undefined;
  readonly wireId: string | undefined;
}

export function createChoice({ choice, topLogprobs, stops, newCallId, faults }: ChoiceNeeds): Choice {
  let isEnded = false;
  let calls = 0;
  let open: OpenCall | undefined;

  const pushCall = (wire: WireToolCall, emit: (event: EngineEvent) => void): void => {
    if (!open || !continues(wire, open)) {
      const wireIndex = wire.index ?? undefined;
      const goesBack = wireIndex !== undefined && wireIndex < (open?.wireIndex ?? 0);
      if (!wire.function?.name || goesBack) throw faults.failed('sent a piece of a tool call that is not open');
      open = { index: calls++, wireIndex, wireId: wire.id || undefined };
      emit({
        type: 'tool-call',
        choice,
        index: open.index,
        id: open.wireId ?? newCallId(),
        name: wire.function.name,
      });
    }
    const text = wire.function?.arguments;
    if (text) emit({ type: 'tool-arguments', choice, index: open.index, text });
  };

  return {
    push(wire, emit) {
      const delta = wire.delta ?? wire.message ?? {};
      const text = (delta.content ?? '') + (delta.refusal ?? '');
      const reasoning = delta.reasoning_content || delta.reasoning || '';
      const pieces = callsIn(delta);
      const logprobs = reasoning === '' && pieces.length === 0 ? logprobsOf(wire, topLogprobs) : undefined;
      const saysSomething = text !== '' || reasoning !== '' || pieces.length > 0 || logprobs !== undefined;
      if (isEnded) {
        if (saysSomething) throw faults.failed('went on after the end of a choice');
        return;
      }
      if (text !== '' || reasoning !== '') open = undefined;
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
      for (const piece of pieces) pushCall(piece, emit);
      if (!wire.finish_reason) return;
      const reason = toFinishReason(wire.finish_reason, calls > 0);
      if (!reason)
        throw faults.failed(`ended with the finish reason ${JSON.stringify(wire.finish_reason.slice(0, 40))}`);
      const stop = stops.find((each) => each === wire.stop_reason || each === wire.matched_stop);
      emit({ type: 'choice-end', choice, reason, ...(stop === undefined ? {} : { stop }) });
      isEnded = true;
    },
    isEnded: () => isEnded,
  };
}

/**
 * Whether a piece belongs to the open call. Some servers leave the index out or give every call the same; some repeat
 * the name, or make a new id for every piece. A name together with another id is a new call under any of them.
 */
function continues({ index, id, function: named }: WireToolCall, open: OpenCall): boolean {
  const hasIndex = index !== null && index !== undefined;
  if (hasIndex && index !== open.wireIndex) return false;
  if (!named?.name) return true;
  return id ? id === open.wireId : hasIndex;
}

/** The form before tool calls had indexes is a call like any other. */
const callsIn = ({ tool_calls: calls, function_call: call }: WireDelta): readonly WireToolCall[] =>
  calls ?? (call ? [{ function: call }] : []);

function logprobsOf({ logprobs }: WireChoice, top: number | undefined) {
  if (top === undefined || !logprobs?.content || logprobs.content.length === 0) return undefined;
  return toLogprobs(logprobs.content, top);
}
