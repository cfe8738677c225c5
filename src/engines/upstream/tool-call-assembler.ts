import type { EngineEvent } from '../../core/event.ts';
import { UPSTREAM_CALLS_MAX, UPSTREAM_EVENT_CHARS_MAX } from '../limits.ts';
import type { WireToolCall } from './chunk.ts';
import type { UpstreamErrorFactory } from '../remote/upstream-error-factory.ts';
import { createJsonEndDetector, type JsonEndDetector } from './json-end-detector.ts';
import { createSurrogatePairJoiner, type SurrogatePairJoiner } from './surrogate-pair-joiner.ts';

export interface ToolCallAssemblerDeps {
  readonly choice: number;
  /** Only the first call is emitted: not every server supports the request field that limits calls. */
  readonly isSingle: boolean;
  readonly newCallId: () => string;
  readonly errors: UpstreamErrorFactory;
}

/** Assembles the tool calls of one choice from deltas: emits all events of a call before those of the next one. */
export interface ToolCallAssembler {
  push(wire: WireToolCall, emit: (event: EngineEvent) => void): void;
  /**
   * Emits what is buffered. Later deltas start new calls.
   *
   * @throws ServiceError `upstream-failed` for a call with incomplete arguments, if nothing explains them.
   */
  close(emit: (event: EngineEvent) => void, end: ToolCallsTermination): void;
  /** Returns the number of calls so far. */
  countCalls(): number;
}

interface ToolCallsTermination {
  /** A limit ended the answer. Otherwise a call without arguments gets `{}`. */
  readonly isCut: boolean;
  /** A limit or a stop sequence may have ended the answer inside a call. */
  readonly mayBeOpen: boolean;
}

interface AssembledCall {
  readonly index: number;
  readonly wireIndex: number | undefined;
  readonly wireId: string | undefined;
  name: string;
  isEmitted: boolean;
  /** Arguments that wait until the calls before this one are complete. */
  bufferedArguments: string;
  hasArguments: boolean;
  readonly pairJoiner: SurrogatePairJoiner;
  readonly jsonEnd: JsonEndDetector;
}

export function createToolCallAssembler({
  choice,
  isSingle,
  newCallId,
  errors,
}: ToolCallAssemblerDeps): ToolCallAssembler {
  let calls: AssembledCall[] = [];
  /** Index in `calls` of the call whose deltas are emitted at once. */
  let currentPosition = 0;
  let count = 0;
  let bufferedCharacters = 0;

  const emitCall = (call: AssembledCall, emit: (event: EngineEvent) => void): void => {
    if (!call.isEmitted) {
      const id = call.wireId?.toWellFormed() ?? newCallId();
      emit({ type: 'tool-call', choice, index: call.index, id, name: call.name.toWellFormed() });
      call.isEmitted = true;
    }
    if (call.bufferedArguments === '') return;
    emit({ type: 'tool-arguments', choice, index: call.index, text: call.bufferedArguments });
    bufferedCharacters -= call.bufferedArguments.length;
    call.bufferedArguments = '';
  };

  const bufferArguments = (call: AssembledCall, text: string): void => {
    call.bufferedArguments += text;
    bufferedCharacters += text.length;
  };

  /** Emits the next call once the one before it is a complete object; its name is complete when its arguments start. */
  const emitReadyCalls = (emit: (event: EngineEvent) => void): void => {
    for (
      let call = calls[currentPosition];
      call && (call.isEmitted || call.bufferedArguments !== '');
      call = calls[currentPosition]
    ) {
      emitCall(call, emit);
      if (!call.jsonEnd.isReached() || currentPosition === calls.length - 1) return;
      currentPosition++;
    }
  };

  const openCall = ({ index, id, function: namedFunction }: WireToolCall): AssembledCall => {
    if (!namedFunction?.name) throw errors.createFailure('continued a tool call that it had not started');
    if (count === UPSTREAM_CALLS_MAX) throw errors.createFailure(`sent more than ${UPSTREAM_CALLS_MAX} tool calls`);
    const call: AssembledCall = {
      index: count++,
      wireIndex: index ?? undefined,
      wireId: id || undefined,
      name: namedFunction.name,
      isEmitted: false,
      bufferedArguments: '',
      hasArguments: false,
      pairJoiner: createSurrogatePairJoiner(),
      jsonEnd: createJsonEndDetector(),
    };
    calls.push(call);
    return call;
  };

  return {
    push(wire, emit) {
      const existing = findCall(calls, wire);
      const call = existing ?? openCall(wire);
      if (isSingle && call.index > 0) return;
      const { name, arguments: text } = wire.function ?? {};
      if (existing && name && !call.isEmitted) call.name = mergeName(call.name, name);
      if (text) {
        const isPassed = calls.indexOf(call) < currentPosition;
        if (isPassed && text.trim() !== '') throw errors.createFailure('continued a tool call after its end');
        if (isPassed) return;
        call.hasArguments = true;
        call.jsonEnd.push(text);
        bufferArguments(call, call.pairJoiner.push(text));
        if (bufferedCharacters > UPSTREAM_EVENT_CHARS_MAX)
          throw errors.createFailure('sent tool calls with too long arguments');
      }
      emitReadyCalls(emit);
    },
    close(emit, { isCut, mayBeOpen }) {
      for (const call of calls.slice(currentPosition)) {
        if (isSingle && call.index > 0) break;
        if (!mayBeOpen && call.jsonEnd.isOpen())
          throw errors.createFailure('sent a tool call with incomplete arguments');
        bufferArguments(call, call.pairJoiner.end());
        emitCall(call, emit);
        if (!call.hasArguments && !isCut) {
          emit({ type: 'tool-arguments', choice, index: call.index, text: '{}' });
        }
      }
      calls = [];
      currentPosition = 0;
    },
    countCalls: () => count,
  };
}

/**
 * Finds the call that a delta belongs to; undefined: it starts a new call. Some servers omit the index or give every call
 * the same one; some repeat the name, or create a new id for every delta. A name together with another id always starts a
 * new call. A name alone does so if it brings arguments after complete ones, or lacks both the index and the last name.
 */
function findCall(
  calls: readonly AssembledCall[],
  { index, id, function: piece }: WireToolCall,
): AssembledCall | undefined {
  const hasIndex = index !== null && index !== undefined;
  const candidates = hasIndex ? calls.filter((call) => call.wireIndex === index) : calls;
  const last = candidates.at(-1);
  if (id) {
    const matching = candidates.findLast((call) => call.wireId === id);
    if (matching || piece?.name) return matching;
  }
  if (!last || !piece?.name) return last;
  const isWhole = last.jsonEnd.isReached();
  const continuesLast = hasIndex ? !isWhole || !piece.arguments : !isWhole && last.name === piece.name;
  return continuesLast ? last : undefined;
}

/** Merges a name that comes whole, in pieces, or repeated with each delta. */
const mergeName = (before: string, piece: string): string => (piece.startsWith(before) ? piece : before + piece);
