import { createFinishReasonError } from '../remote/stream-errors.ts';
import type { EngineEvent, TokenLogprob, AlternativeToken, FinishReason } from '../../core/event.ts';
import { createToolCallAssembler } from './tool-call-assembler.ts';
import type { WireChoice, WireDelta, WireToolCall, WireAlternative, WireLogprob } from './chunk.ts';
import type { UpstreamErrorFactory } from '../remote/upstream-error-factory.ts';
import { createSurrogatePairJoiner } from './surrogate-pair-joiner.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';

export interface ChoiceParserDeps {
  readonly choice: number;
  /** Requested number of alternatives per token; undefined: no log probabilities at all. */
  readonly topLogprobs: number | undefined;
  readonly stops: readonly string[];
  /** Token ids that end the answer. */
  readonly stopTokens?: readonly number[];
  /** At most one tool call is emitted. */
  readonly isSingleCall: boolean;
  readonly newCallId: () => string;
  readonly errors: UpstreamErrorFactory;
}

/** Parses the deltas of one choice into events. */
export interface ChoiceParser {
  push(wire: WireChoice, emit: (event: EngineEvent) => void): void;
  isFinished(): boolean;
  /** Returns whether the server sent output after the finish reason, which is ignored: a client has seen the end. */
  hasContinued(): boolean;
}

export function createChoiceParser(deps: ChoiceParserDeps): ChoiceParser {
  const { choice, topLogprobs, stops, stopTokens = [], isSingleCall, newCallId, errors } = deps;
  let isFinished = false;
  let hasContinued = false;
  const toolCalls = createToolCallAssembler({ choice, isSingle: isSingleCall, newCallId, errors });
  const textJoiner = createSurrogatePairJoiner();
  const reasoningJoiner = createSurrogatePairJoiner();

  const emitReasoning = (text: string, emit: (event: EngineEvent) => void): void => {
    if (text !== '') emit({ type: 'reasoning', choice, text, tokens: 1 });
  };
  const emitText = (text: string, emit: (event: EngineEvent) => void, logprobs?: readonly TokenLogprob[]): void => {
    if (text === '' && !logprobs) return;
    const tokens = logprobs?.length ?? 1;
    emit({ type: 'text', choice, text, tokens, phase: 0, ...(logprobs ? { logprobs } : {}) });
  };

  return {
    push(wire, emit) {
      const delta = wire.delta ?? wire.message ?? {};
      const text = (delta.content ?? '') + (delta.refusal ?? '');
      const reasoning = delta.reasoning_content || delta.reasoning || '';
      const callDeltas = getToolCallDeltas(delta);
      // Tokens without text after the start of a call are markup of the call.
      const isText = reasoning === '' && callDeltas.length === 0 && (text !== '' || toolCalls.countCalls() === 0);
      const logprobs = isText ? getLogprobs(wire, topLogprobs) : undefined;
      const hasOutput = text !== '' || reasoning !== '' || callDeltas.length > 0 || logprobs !== undefined;
      if (isFinished) {
        hasContinued ||= hasOutput;
        return;
      }
      if (text !== '' || reasoning !== '') toolCalls.close(emit, { isCut: false, mayBeOpen: false });
      if (reasoning !== '') {
        // A half character cannot be completed once another kind of output follows.
        emitText(textJoiner.end(), emit);
        emitReasoning(reasoningJoiner.push(reasoning), emit);
      }
      if (text !== '' || logprobs) {
        emitReasoning(reasoningJoiner.end(), emit);
        emitText(textJoiner.push(text), emit, logprobs);
      }
      if (callDeltas.length > 0 || wire.finish_reason) {
        emitReasoning(reasoningJoiner.end(), emit);
        emitText(textJoiner.end(), emit);
      }
      for (const callDelta of callDeltas) toolCalls.push(callDelta, emit);
      if (!wire.finish_reason) return;
      const reason = parseFinishReason(wire.finish_reason, toolCalls.countCalls() > 0);
      if (!reason) throw createFinishReasonError(errors, wire.finish_reason);
      const isMatched = (each: unknown): boolean => each === wire.stop_reason || each === wire.matched_stop;
      const stop = stops.find(isMatched) ?? (stopTokens.some(isMatched) ? '' : undefined);
      // Not every server reports which stop sequence matched, or that one did.
      const isStopped = stop !== undefined || (wire.finish_reason === 'stop' && stops.length + stopTokens.length > 0);
      const isCut = reason === 'length';
      toolCalls.close(emit, { isCut, mayBeOpen: isCut || isStopped });
      emit({ type: 'choice-end', choice, reason, ...(stop === undefined ? {} : { stop }) });
      isFinished = true;
    },
    isFinished: () => isFinished,
    hasContinued: () => hasContinued,
  };
}

/** A `function_call` (the older format without indexes) is treated as one tool call. */
const getToolCallDeltas = ({ tool_calls: calls, function_call: call }: WireDelta): readonly WireToolCall[] =>
  calls ?? (call ? [{ function: call }] : []);

function getLogprobs({ logprobs }: WireChoice, top: number | undefined) {
  if (top === undefined || !logprobs?.content || logprobs.content.length === 0) return undefined;
  return decodeLogprobs(logprobs.content, top);
}

const encoder = new TextEncoder();

/** @param top Requested number of alternatives; some servers send more. */
const decodeLogprobs = (tokens: readonly WireLogprob[], top: number): TokenLogprob[] =>
  tokens.map((token) => ({
    ...decodeAlternative(token),
    top: (token.top_logprobs ?? []).slice(0, top).map(decodeAlternative),
  }));

/** A missing `bytes` field means the UTF-8 bytes of the text; −9999 and similar values stand for minus infinity. */
const decodeAlternative = ({ token, bytes, logprob }: WireAlternative): AlternativeToken => ({
  token: token.toWellFormed(),
  bytes: bytes ?? [...encoder.encode(token)],
  logprob: logprob === null || logprob === undefined || logprob < LOGPROB_MIN ? undefined : logprob,
});

/** Finish reasons of the format and their known variants. */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['content_filter', 'stop'],
  ['eos_token', 'stop'],
  ['stop_sequence', 'stop'],
  ['length', 'length'],
  ['model_length', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
]);

/**
 * Returns undefined for any other reason (`abort`, `error`): an unknown end is not a regular end.
 * @param hasCalls A choice with tool calls ended for them, and one without did not, whatever the server reports.
 */
function parseFinishReason(wireReason: string, hasCalls: boolean): FinishReason | undefined {
  const reason = REASONS.get(wireReason);
  return reason === undefined || reason === 'length' ? reason : hasCalls ? 'tool-calls' : 'stop';
}
