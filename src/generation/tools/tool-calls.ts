import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from '../stages/stage.ts';
import { createCallBody } from './call-body.ts';
import type { CallBody } from './call-body.ts';
import { createCallMatcher } from './call-matcher.ts';
import type { Found } from './call-matcher.ts';
import { isBlank } from './call-pattern.ts';
import { createCallProgram } from './call-program.ts';
import { TOOL_FORMATS } from './formats.ts';
import type { ToolFormatName } from './formats.ts';
import { createHeldText } from '../stages/held-text.ts';
import { createToolNames } from './tool-names.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;
type Emit = (event: ChoiceEvent) => void;

export interface ToolCallsNeeds {
  readonly choice: number;
  readonly format: ToolFormatName;
  /** Only these are called; markup with another name is text. */
  readonly names: readonly string[];
  /** Otherwise all that follows the first complete call is dropped. */
  readonly isParallel: boolean;
  /** Text at the end of the prompt that the answer goes on from. */
  readonly preface: string;
  readonly newId: () => string;
}

/** Where in an answer we are. */
type Mode =
  | { readonly type: 'text' }
  | { readonly type: 'call'; readonly body: CallBody; readonly tail: number }
  /** Behind a call, whose markup reaches at least to `end`. */
  | { readonly type: 'tail'; end: number }
  | { readonly type: 'over' };

/**
 * Finds calls in an answer's text.
 *
 * Markup of a call never shows, nor do the blanks around it; all other text comes out as it is and in order, as soon as it
 * cannot become the beginning of a call. Arguments are told as they come, as the JSON text they are (`{}` where the call
 * has none). A choice ends with `tool-calls` when it has calls and no limit cut one.
 */
export function createToolCalls(needs: ToolCallsNeeds): Stage<ChoiceEvent, ChoiceEvent> {
  const { choice, isParallel, newId } = needs;
  const program = createCallProgram(TOOL_FORMATS[needs.format]);
  const matcher = createCallMatcher(program, createToolNames(needs.names));
  const held = createHeldText();
  const { openings } = TOOL_FORMATS[needs.format];
  const prefaceEnd = needs.preface.length;
  let preface = needs.preface;
  let mode: Mode = { type: 'text' };
  let position = 0;
  /** Since where there have been only blanks; undefined behind other text. */
  let blankFrom: number | undefined;
  let isLineStart = true;
  let calls = 0;
  /** Position up to which the arguments of the open call are told. */
  let told: number | undefined;

  const tellArguments = (text: string, emit: Emit): void => {
    if (text !== '') emit({ type: 'tool-arguments', choice, index: calls - 1, text });
  };

  const beginText = (): void => {
    mode = { type: 'text' };
    matcher.clear();
    blankFrom = undefined;
    isLineStart = true;
  };

  const beginTail = (tail: number): void => {
    mode = { type: 'tail', end: position };
    matcher.clear();
    matcher.begin(program.tails.slice(tail, tail + 1), position);
  };

  const beginCall = ({ match, start, name }: Found, emit: Emit): void => {
    if (match.type !== 'call') return;
    if (mode.type === 'text') held.say(start, emit);
    held.drop(position);
    calls++;
    told = undefined;
    emit({ type: 'tool-call', choice, index: calls - 1, id: newId(), name });
    if (match.body !== 'closed') {
      mode = { type: 'call', body: createCallBody(match.body, match.isObject), tail: match.tail };
      return;
    }
    tellArguments('{}', emit);
    endCall(match.tail);
  };

  const endCall = (tail: number): void => {
    if (isParallel) beginTail(tail);
    else mode = { type: 'over' };
  };

  const takeText = (code: number, emit: Emit): void => {
    const start = blankFrom ?? position;
    if (matcher.canBegin(program.anywhere, code)) matcher.begin(program.anywhere, start);
    if (isLineStart && matcher.canBegin(program.atLineStart, code)) matcher.begin(program.atLineStart, start);
    const found = matcher.start() === undefined ? undefined : matcher.take(code);
    if (isBlank(code)) {
      blankFrom ??= position;
      if (code === NEWLINE) isLineStart = true;
    } else {
      blankFrom = undefined;
      isLineStart = false;
    }
    position++;
    if (found) beginCall(found, emit);
  };

  const takeCall = (code: number, { body, tail }: Extract<Mode, { type: 'call' }>, emit: Emit): void => {
    const verdict = body.take(code, position);
    if (verdict !== 'over-before') position++;
    if (body.to === undefined && verdict === 'more') return;
    // Behind its arguments a call may still have members and its object's end.
    if (told === undefined || told < (body.to ?? 0)) completeArguments(body, emit);
    if (verdict !== 'more' || !isParallel) endCall(tail);
  };

  /** All of the arguments that was not told yet. */
  const completeArguments = (body: CallBody, emit: Emit): void => {
    const to = body.to ?? position;
    const text = body.from === undefined ? '' : held.slice(told ?? body.from, to);
    const isNothing = told === undefined && (text === '' || (body.isScalar && (text === 'null' || text === '""')));
    told = to;
    tellArguments(isNothing ? '{}' : text, emit);
  };

  const takeTail = (code: number, tail: Extract<Mode, { type: 'tail' }>, emit: Emit): void => {
    const found = matcher.take(code);
    position++;
    if (found?.match.type === 'call') beginCall(found, emit);
    else {
      if (found) tail.end = position;
      if (matcher.start() === undefined) leaveTail(tail);
    }
  };

  /** What was taken for markup and is none is read again, as text. */
  const leaveTail = ({ end }: Extract<Mode, { type: 'tail' }>): void => {
    held.drop(end);
    position = end;
    beginText();
  };

  const take = (emit: Emit): void => {
    while (position < held.end && mode.type !== 'over') {
      const code = held.codeAt(position);
      if (mode.type === 'text') takeText(code, emit);
      else if (mode.type === 'call') takeCall(code, mode, emit);
      else takeTail(code, mode, emit);
    }
  };

  /** Gives out all that is decided. */
  const release = (emit: Emit): void => {
    if (mode.type === 'text') held.say(Math.min(matcher.start() ?? position, blankFrom ?? position), emit);
    else if (mode.type === 'tail') held.drop(mode.end);
    else if (mode.type === 'over') held.drop(held.end);
    else releaseCall(mode.body, emit);
    held.settle(emit);
  };

  const releaseCall = (body: CallBody, emit: Emit): void => {
    const { from, isScalar } = body;
    if (from === undefined) return held.drop(position);
    // What is no object may turn out to be nothing at all, which is told as `{}`.
    if (body.to !== undefined) return held.drop(position);
    if (isScalar) return;
    tellArguments(held.slice(told ?? from, position), emit);
    told = position;
    held.drop(position);
  };

  /** Where markup begins that only a call can have: cut there, it is no text. */
  const unfinishedMarkup = (): number | undefined => {
    const start = matcher.start();
    if (start === undefined) return undefined;
    const begun = held.slice(start, held.end).trimStart();
    return start < prefaceEnd || openings.some((opening) => begun.startsWith(opening)) ? start : undefined;
  };

  /** @returns whether a limit cut a call. */
  const finish = (isCut: boolean, emit: Emit): boolean => {
    while (mode.type === 'tail') {
      leaveTail(mode);
      take(emit);
    }
    if (mode.type === 'text') held.say((isCut ? unfinishedMarkup() : undefined) ?? held.end, emit);
    const body = mode.type === 'call' ? mode.body : undefined;
    const isOpen = body !== undefined && body.to === undefined;
    if (isOpen && isCut) tellArguments(body.from === undefined ? '' : held.slice(told ?? body.from, position), emit);
    else if (isOpen) completeArguments(body, emit);
    held.drop(held.end);
    held.settle(emit);
    mode = { type: 'over' };
    return isOpen && isCut;
  };

  const takePreface = (): void => {
    if (preface !== '') held.pushSilent(preface);
    preface = '';
  };

  return {
    push(event, emit) {
      if (event.type === 'text') {
        takePreface();
        held.push(event);
        take(emit);
        release(emit);
      } else if (event.type === 'choice-end') {
        takePreface();
        take(emit);
        const isCut = finish(event.reason === 'length', emit);
        if (calls > 0 && !isCut) emit({ type: 'choice-end', choice: event.choice, reason: 'tool-calls' });
        else emit(event);
      } else emit(event);
    },
    end() {
      // Of an answer that broke off nothing more is said.
      mode = { type: 'over' };
    },
  };
}

const NEWLINE = 0x0a;
