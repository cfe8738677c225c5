import type { EngineEvent } from '../../core/event.ts';
import { UPSTREAM_CALLS_MAX, UPSTREAM_EVENT_CHARACTERS_MAX } from '../../core/limits.ts';
import type { WireToolCall } from './chunk.ts';
import type { Faults } from '../remote/faults.ts';
import { createJsonEnd } from './json-end.ts';
import type { JsonEnd } from './json-end.ts';

export interface CallsNeeds {
  readonly choice: number;
  /** Only the first call is told: the format's switch for this is not known to every server. */
  readonly isSingle: boolean;
  readonly newCallId: () => string;
  readonly faults: Faults;
}

/** Puts the pieces of one choice's tool calls in order: what is told of a call comes in one run, one call after another. */
export interface Calls {
  push(wire: WireToolCall, emit: (event: EngineEvent) => void): void;
  /**
   * What was held back is told, and nothing can be added to the calls so far.
   *
   * @param isCut A limit ended the answer. Otherwise a call that came without arguments has `{}`.
   */
  close(emit: (event: EngineEvent) => void, end: { readonly isCut: boolean }): void;
  /** Calls that came so far. */
  count(): number;
}

interface Call {
  readonly index: number;
  readonly wireIndex: number | undefined;
  readonly wireId: string | undefined;
  name: string;
  isTold: boolean;
  /** Arguments that wait for the calls before this one. */
  held: string;
  hasArguments: boolean;
  readonly end: JsonEnd;
}

export function createCalls({ choice, isSingle, newCallId, faults }: CallsNeeds): Calls {
  let calls: Call[] = [];
  /** Place in `calls` of the one that is told as it comes. */
  let live = 0;
  let count = 0;
  let heldCharacters = 0;

  const tell = (call: Call, emit: (event: EngineEvent) => void): void => {
    if (!call.isTold) {
      emit({ type: 'tool-call', choice, index: call.index, id: call.wireId ?? newCallId(), name: call.name });
      call.isTold = true;
    }
    if (call.held === '') return;
    emit({ type: 'tool-arguments', choice, index: call.index, text: call.held });
    heldCharacters -= call.held.length;
    call.held = '';
  };

  /** The next call is told as soon as the one before it is a whole object; the name is whole when arguments begin. */
  const tellReady = (emit: (event: EngineEvent) => void): void => {
    for (let call = calls[live]; call && (call.isTold || call.held !== ''); call = calls[live]) {
      tell(call, emit);
      if (!call.end.isReached() || live === calls.length - 1) return;
      live++;
    }
  };

  const open = ({ index, id, function: named }: WireToolCall): Call => {
    if (!named?.name) throw faults.failed('sent a piece of a tool call that is not open');
    if (count === UPSTREAM_CALLS_MAX) throw faults.failed(`sent more than ${UPSTREAM_CALLS_MAX} tool calls`);
    const call: Call = {
      index: count++,
      wireIndex: index ?? undefined,
      wireId: id || undefined,
      name: named.name,
      isTold: false,
      held: '',
      hasArguments: false,
      end: createJsonEnd(),
    };
    calls.push(call);
    return call;
  };

  return {
    push(wire, emit) {
      const known = find(calls, wire);
      const call = known ?? open(wire);
      if (isSingle && call.index > 0) return;
      const { name, arguments: text } = wire.function ?? {};
      if (known && name && !call.isTold) call.name = longerName(call.name, name);
      if (text) {
        const isOver = calls.indexOf(call) < live;
        if (isOver && text.trim() !== '') throw faults.failed('went on with a tool call that had ended');
        if (isOver) return;
        call.hasArguments = true;
        call.end.push(text);
        call.held += text;
        heldCharacters += text.length;
        if (heldCharacters > UPSTREAM_EVENT_CHARACTERS_MAX) throw faults.failed('sent tool calls that are too long');
      }
      tellReady(emit);
    },
    close(emit, { isCut }) {
      for (const call of calls.slice(live)) {
        if (isSingle && call.index > 0) break;
        tell(call, emit);
        if (!call.hasArguments && !isCut) {
          emit({ type: 'tool-arguments', choice, index: call.index, text: '{}' });
        }
      }
      calls = [];
      live = 0;
    },
    count: () => count,
  };
}

/**
 * The call that a piece belongs to; undefined: a new one. Some servers leave the index out or give every call the same;
 * some repeat the name, or make a new id for every piece. A name together with another id is a new call under any of
 * them; a name alone is one where it brings arguments after whole ones, or has neither the index nor the last name.
 */
function find(calls: readonly Call[], { index, id, function: piece }: WireToolCall): Call | undefined {
  const hasIndex = index !== null && index !== undefined;
  const candidates = hasIndex ? calls.filter((call) => call.wireIndex === index) : calls;
  const last = candidates.at(-1);
  if (id) {
    const same = candidates.findLast((call) => call.wireId === id);
    if (same || piece?.name) return same;
  }
  if (!last || !piece?.name) return last;
  const isWhole = last.end.isReached();
  const goesOn = hasIndex ? !isWhole || !piece.arguments : !isWhole && last.name === piece.name;
  return goesOn ? last : undefined;
}

/** A name comes whole, in pieces, or again with all that came before. */
const longerName = (before: string, piece: string): string => (piece.startsWith(before) ? piece : before + piece);
