import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from '../stages/stage.ts';
import { createCallBodyParser } from './call-body-parser.ts';
import type { CallBodyParser } from './call-body-parser.ts';
import { createCallMatcher } from './call-matcher.ts';
import type { TokenMatch } from './call-matcher.ts';
import { isBlank } from './call-pattern.ts';
import { createCallProgram } from './call-program.ts';
import { TOOL_FORMATS } from './tool-formats.ts';
import type { ToolFormatName } from './tool-formats.ts';
import { createTextBuffer } from '../stages/text-buffer.ts';
import { createToolNames } from './tool-names.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;
type Emit = (event: ChoiceEvent) => void;

export interface ToolCallStageOptions {
  readonly choice: number;
  readonly format: ToolFormatName;
  /** Declared tool names; markup with another name is text. */
  readonly names: readonly string[];
  /** When false, everything after the first complete call is dropped. */
  readonly isParallel: boolean;
  /** Text at the end of the prompt that is the start of the answer. */
  readonly preface: string;
  readonly createId: () => string;
}

/** State of the parser. */
type Mode =
  | { readonly type: 'text' }
  | { readonly type: 'call'; readonly body: CallBodyParser; readonly tail: number }
  /** After a call, whose markup reaches at least to `end`. */
  | { readonly type: 'tail'; end: number }
  | { readonly type: 'finished' };

/**
 * Parses tool calls in an answer's text.
 *
 * Markup of calls is dropped, with the blanks around it. All other text is emitted unchanged and in order, as soon as
 * it cannot become the start of a call. Arguments are emitted as they arrive, as JSON text (`{}` for a call without
 * any). A choice ends with `tool-calls` when it has calls and no token limit cut one.
 */
export function createToolCallStage(options: ToolCallStageOptions): Stage<ChoiceEvent, ChoiceEvent> {
  const { choice, isParallel, createId } = options;
  const program = createCallProgram(TOOL_FORMATS[options.format]);
  const matcher = createCallMatcher(program, createToolNames(options.names));
  const buffer = createTextBuffer();
  const { openings } = TOOL_FORMATS[options.format];
  const prefaceEnd = options.preface.length;
  let preface = options.preface;
  let mode: Mode = { type: 'text' };
  let position = 0;
  /** Start of the blanks before `position`; undefined after other text. */
  let blankStart: number | undefined;
  let isLineStart = true;
  let calls = 0;
  /** Position up to which the arguments of the open call were emitted. */
  let emittedArgumentsEnd: number | undefined;

  const emitArguments = (text: string, emit: Emit): void => {
    if (text !== '') emit({ type: 'tool-arguments', choice, index: calls - 1, text });
  };

  const enterText = (): void => {
    mode = { type: 'text' };
    matcher.reset();
    blankStart = undefined;
    isLineStart = true;
  };

  const enterTail = (tail: number): void => {
    mode = { type: 'tail', end: position };
    matcher.reset();
    matcher.startAt(program.tails.slice(tail, tail + 1), position);
  };

  const startCall = ({ token, start, name }: TokenMatch, emit: Emit): void => {
    if (token.type !== 'call') return;
    if (mode.type === 'text') buffer.emitUntil(start, emit);
    buffer.dropUntil(position);
    calls++;
    emittedArgumentsEnd = undefined;
    emit({ type: 'tool-call', choice, index: calls - 1, id: createId(), name });
    if (token.body !== 'closed') {
      mode = { type: 'call', body: createCallBodyParser(token.body, token.isObject), tail: token.tail };
      return;
    }
    emitArguments('{}', emit);
    endCall(token.tail);
  };

  const endCall = (tail: number): void => {
    if (isParallel) enterTail(tail);
    else mode = { type: 'finished' };
  };

  const takeText = (code: number, emit: Emit): void => {
    const start = blankStart ?? position;
    if (matcher.canStart(program.anywhere, code)) matcher.startAt(program.anywhere, start);
    if (isLineStart && matcher.canStart(program.atLineStart, code)) matcher.startAt(program.atLineStart, start);
    const found = matcher.getEarliestStart() === undefined ? undefined : matcher.take(code);
    if (isBlank(code)) {
      blankStart ??= position;
      if (code === NEWLINE) isLineStart = true;
    } else {
      blankStart = undefined;
      isLineStart = false;
    }
    position++;
    if (found) startCall(found, emit);
  };

  const takeCall = (code: number, { body, tail }: Extract<Mode, { type: 'call' }>, emit: Emit): void => {
    const state = body.take(code, position);
    if (state !== 'done-before') position++;
    if (body.argumentsEnd === undefined && state === 'more') return;
    // After its arguments, a call may have more members and the end of its object.
    if (emittedArgumentsEnd === undefined || emittedArgumentsEnd < (body.argumentsEnd ?? 0))
      completeArguments(body, emit);
    if (state !== 'more' || !isParallel) endCall(tail);
  };

  /** Emits the rest of the arguments. */
  const completeArguments = (body: CallBodyParser, emit: Emit): void => {
    const to = body.argumentsEnd ?? position;
    const text = body.argumentsStart === undefined ? '' : buffer.slice(emittedArgumentsEnd ?? body.argumentsStart, to);
    const isEmpty =
      emittedArgumentsEnd === undefined && (text === '' || (body.isScalar && (text === 'null' || text === '""')));
    emittedArgumentsEnd = to;
    emitArguments(isEmpty ? '{}' : text, emit);
  };

  const takeTail = (code: number, tail: Extract<Mode, { type: 'tail' }>, emit: Emit): void => {
    const found = matcher.take(code);
    position++;
    if (found?.token.type === 'call') startCall(found, emit);
    else {
      if (found) tail.end = position;
      if (matcher.getEarliestStart() === undefined) leaveTail(tail);
    }
  };

  /** Reads text again as text when it turned out not to be markup. */
  const leaveTail = ({ end }: Extract<Mode, { type: 'tail' }>): void => {
    buffer.dropUntil(end);
    position = end;
    enterText();
  };

  const take = (emit: Emit): void => {
    while (position < buffer.end && mode.type !== 'finished') {
      const code = buffer.getCharCode(position);
      if (mode.type === 'text') takeText(code, emit);
      else if (mode.type === 'call') takeCall(code, mode, emit);
      else takeTail(code, mode, emit);
    }
  };

  /** Emits or drops everything that is decided. */
  const emitDecided = (emit: Emit): void => {
    if (mode.type === 'text')
      buffer.emitUntil(Math.min(matcher.getEarliestStart() ?? position, blankStart ?? position), emit);
    else if (mode.type === 'tail') buffer.dropUntil(mode.end);
    else if (mode.type === 'finished') buffer.dropUntil(buffer.end);
    else emitCallArguments(mode.body, emit);
    buffer.emitOwedTokens(emit);
  };

  const emitCallArguments = (body: CallBodyParser, emit: Emit): void => {
    const { argumentsStart, isScalar } = body;
    if (argumentsStart === undefined) return buffer.dropUntil(position);
    // A value that is not an object may turn out to be null or empty, which is emitted as `{}`.
    if (body.argumentsEnd !== undefined) return buffer.dropUntil(position);
    if (isScalar) return;
    emitArguments(buffer.slice(emittedArgumentsEnd ?? argumentsStart, position), emit);
    emittedArgumentsEnd = position;
    buffer.dropUntil(position);
  };

  /** Returns the start of unfinished markup that only a call can have; it is dropped when the answer is cut there. */
  const findUnfinishedMarkup = (): number | undefined => {
    const start = matcher.getEarliestStart();
    if (start === undefined) return undefined;
    const markup = buffer.slice(start, buffer.end).trimStart();
    return start < prefaceEnd || openings.some((opening) => markup.startsWith(opening)) ? start : undefined;
  };

  /** @returns whether a token limit cut a call. */
  const finish = (isCut: boolean, emit: Emit): boolean => {
    while (mode.type === 'tail') {
      leaveTail(mode);
      take(emit);
    }
    if (mode.type === 'text') buffer.emitUntil((isCut ? findUnfinishedMarkup() : undefined) ?? buffer.end, emit);
    const body = mode.type === 'call' ? mode.body : undefined;
    const isOpen = body !== undefined && body.argumentsEnd === undefined;
    if (isOpen && isCut)
      emitArguments(
        body.argumentsStart === undefined ? '' : buffer.slice(emittedArgumentsEnd ?? body.argumentsStart, position),
        emit,
      );
    else if (isOpen) completeArguments(body, emit);
    buffer.dropUntil(buffer.end);
    buffer.emitOwedTokens(emit);
    mode = { type: 'finished' };
    return isOpen && isCut;
  };

  const pushPreface = (): void => {
    if (preface !== '') buffer.pushPromptText(preface);
    preface = '';
  };

  return {
    push(event, emit) {
      if (event.type === 'text') {
        pushPreface();
        buffer.push(event);
        take(emit);
        emitDecided(emit);
      } else if (event.type === 'choice-end') {
        pushPreface();
        take(emit);
        const isCut = finish(event.reason === 'length', emit);
        if (calls > 0 && !isCut) emit({ type: 'choice-end', choice: event.choice, reason: 'tool-calls' });
        else emit(event);
      } else emit(event);
    },
    end() {
      // The answer broke off: nothing more is emitted.
      mode = { type: 'finished' };
    },
  };
}

const NEWLINE = 0x0a;
