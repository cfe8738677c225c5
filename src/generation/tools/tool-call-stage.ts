import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from '../stages/stage.ts';
import type { Tool } from '../../core/message.ts';
import type { CallBody } from './call-body.ts';
import { createCallBody } from './create-call-body.ts';
import { createCallMatcher, type CallMatcher, type TokenMatch } from './call-matcher.ts';
import { isBlank } from './call-pattern.ts';
import type { CallProgram, CompileCalls } from './call-program.ts';
import { createJsonNormalizer } from './json-normalizer.ts';
import type { ToolFormat } from './tool-formats.ts';
import { createTextBuffer, type TextBuffer } from '../stages/text-buffer.ts';
import { createToolNames } from './tool-names.ts';

type Emit = (event: ChoiceEvent) => void;

export interface ToolCallStageOptions {
  readonly choice: number;
  readonly format: ToolFormat;
  /** Declared tools. Another name is a call between the format's own marks, and text elsewhere. */
  readonly tools: readonly Pick<Tool, 'name' | 'parameters'>[];
  /** When false, everything after the first complete call is dropped. */
  readonly isParallel: boolean;
  /** Text at the end of the prompt that is the start of the answer. */
  readonly preface: string;
  readonly createId: () => string;
  readonly compileCalls: CompileCalls;
}

/** Position of the parser in the grammar: it decides how the next character is taken. */
type Mode =
  | { readonly type: 'text' }
  /** In a call; `tail` is the index of the markup that may follow it. */
  | { readonly type: 'call'; readonly body: CallBody; readonly tail: number }
  /** After a call, whose markup reaches at least to `end`. */
  | { readonly type: 'tail'; end: number }
  | { readonly type: 'finished' };

type CallMode = Extract<Mode, { type: 'call' }>;

/** State of the parser of one choice. */
interface CallParser {
  readonly options: ToolCallStageOptions;
  readonly program: CallProgram;
  readonly matcher: CallMatcher;
  readonly buffer: TextBuffer;
  mode: Mode;
  /** Position of the next character. */
  position: number;
  /** Start of the blanks before `position`; undefined after other text. */
  blankStart: number | undefined;
  isLineStart: boolean;
  /** Number of calls so far. */
  calls: number;
}

/**
 * Parses tool calls in an answer's text.
 *
 * Markup of calls is dropped, with the blanks around it. All other text is emitted unchanged and in order, as soon as
 * it cannot become the start of a call. Arguments are emitted as they arrive, as JSON text (`{}` for a call without
 * any). A choice ends with `tool-calls` when it has calls and no token limit cut one.
 */
export function createToolCallStage(options: ToolCallStageOptions): Stage<ChoiceEvent, ChoiceEvent> {
  const parser = createParser(options);
  return {
    push(event, emit) {
      if (event.type === 'text') {
        parser.buffer.push(event);
        takeAll(parser, emit);
        emitDecided(parser, emit);
      } else if (event.type === 'choice-end') {
        takeAll(parser, emit);
        const isCut = finishParsing(parser, event.reason === 'length', emit);
        if (parser.calls > 0 && !isCut) emit({ type: 'choice-end', choice: event.choice, reason: 'tool-calls' });
        else emit(event);
      } else emit(event);
    },
    end() {
      // The answer broke off: nothing more is emitted.
      parser.mode = { type: 'finished' };
    },
  };
}

function createParser(options: ToolCallStageOptions): CallParser {
  const program = options.compileCalls(options.format);
  const buffer = createTextBuffer();
  if (options.preface !== '') buffer.pushPromptText(options.preface);
  return {
    options,
    program,
    matcher: createCallMatcher(program, createToolNames(options.tools.map(({ name }) => name))),
    buffer,
    mode: { type: 'text' },
    position: 0,
    blankStart: undefined,
    isLineStart: true,
    calls: 0,
  };
}

/** Parses all text that has arrived. */
function takeAll(parser: CallParser, emit: Emit): void {
  const { buffer } = parser;
  while (parser.position < buffer.end && parser.mode.type !== 'finished') {
    const code = buffer.getCharCode(parser.position);
    if (parser.mode.type === 'text') takeText(parser, code, emit);
    else if (parser.mode.type === 'call') takeCall(parser, parser.mode, code, emit);
    else takeTail(parser, parser.mode, code, emit);
  }
}

function takeText(parser: CallParser, code: number, emit: Emit): void {
  const { matcher, program } = parser;
  const start = parser.blankStart ?? parser.position;
  if (matcher.canStart(program.anywhere, code)) matcher.startAt(program.anywhere, start);
  if (parser.isLineStart && matcher.canStart(program.atLineStart, code)) matcher.startAt(program.atLineStart, start);
  const found = matcher.getEarliestStart() === undefined ? undefined : matcher.take(code);
  if (isBlank(code)) {
    parser.blankStart ??= parser.position;
    if (code === NEWLINE) parser.isLineStart = true;
  } else {
    parser.blankStart = undefined;
    parser.isLineStart = false;
  }
  parser.position++;
  if (found) startCall(parser, found, emit);
}

function startCall(parser: CallParser, { token, start, name, object = '{}' }: TokenMatch, emit: Emit): void {
  if (token.type !== 'call') return;
  const { buffer, options } = parser;
  if (parser.mode.type === 'text') buffer.emitUntil(start, emit);
  parser.position -= token.readAgain ?? 0;
  buffer.dropUntil(parser.position);
  const index = parser.calls++;
  emit({ type: 'tool-call', choice: options.choice, index, id: options.createId(), name });
  const { tail } = token;
  if (token.body === 'closed') {
    const normalizer = createJsonNormalizer();
    emitArguments(parser, normalizer.take(object) + normalizer.end(), emit);
    endCall(parser, tail);
  } else {
    const parameters = options.tools.find((tool) => tool.name === name)?.parameters;
    parser.mode = { type: 'call', body: createCallBody(token, token.format ?? options.format, parameters), tail };
  }
}

function takeCall(parser: CallParser, { body, tail }: CallMode, code: number, emit: Emit): void {
  const state = body.take(code, parser.position);
  if (state !== 'done-before') parser.position++;
  if (!body.hasAllArguments && state === 'more') return;
  // After its arguments, a call may have more members and the end of its object.
  emitArguments(parser, body.takeRemaining(parser.buffer, parser.position), emit);
  parser.position -= body.extraCharacters;
  if (state !== 'more' || !parser.options.isParallel) endCall(parser, tail);
}

function endCall(parser: CallParser, tail: number): void {
  const { matcher, program, position } = parser;
  if (!parser.options.isParallel) {
    parser.mode = { type: 'finished' };
    return;
  }
  parser.mode = { type: 'tail', end: position };
  matcher.reset();
  matcher.startAt(program.tails.slice(tail, tail + 1), position);
}

function takeTail(parser: CallParser, tail: Extract<Mode, { type: 'tail' }>, code: number, emit: Emit): void {
  const { matcher } = parser;
  const found = matcher.take(code);
  parser.position++;
  if (found?.token.type === 'call') startCall(parser, found, emit);
  else {
    if (found) tail.end = parser.position;
    if (matcher.getEarliestStart() === undefined) leaveTail(parser, tail);
  }
}

/** Reads text again as text when it turned out not to be markup. */
function leaveTail(parser: CallParser, { end }: Extract<Mode, { type: 'tail' }>): void {
  parser.buffer.dropUntil(end);
  parser.matcher.reset();
  parser.mode = { type: 'text' };
  parser.position = end;
  parser.blankStart = undefined;
  parser.isLineStart = true;
}

function emitArguments({ options, calls }: CallParser, text: string, emit: Emit): void {
  if (text !== '') emit({ type: 'tool-arguments', choice: options.choice, index: calls - 1, text });
}

/** Emits or drops everything that is decided. */
function emitDecided(parser: CallParser, emit: Emit): void {
  const { buffer, matcher, mode, position, blankStart } = parser;
  if (mode.type === 'text')
    buffer.emitUntil(Math.min(matcher.getEarliestStart() ?? position, blankStart ?? position), emit);
  else if (mode.type === 'tail') buffer.dropUntil(mode.end);
  else if (mode.type === 'finished') buffer.dropUntil(buffer.end);
  else {
    const text = mode.body.takeCertain(buffer, position);
    if (text !== undefined) {
      emitArguments(parser, text, emit);
      buffer.dropUntil(position - mode.body.extraCharacters);
    }
  }
  buffer.emitOwedTokens(emit);
}

/** Emits what is left at the end of a choice. @returns whether a token limit cut a call. */
function finishParsing(parser: CallParser, isCut: boolean, emit: Emit): boolean {
  const { buffer } = parser;
  while (parser.mode.type === 'tail') {
    leaveTail(parser, parser.mode);
    takeAll(parser, emit);
  }
  const { mode, position } = parser;
  if (mode.type === 'text') buffer.emitUntil((isCut ? findUnfinishedMarkup(parser) : undefined) ?? buffer.end, emit);
  const body = mode.type === 'call' && !mode.body.hasAllArguments ? mode.body : undefined;
  if (body) emitArguments(parser, isCut ? body.takeCut(buffer, position) : body.takeRemaining(buffer, position), emit);
  buffer.dropUntil(buffer.end);
  buffer.emitOwedTokens(emit);
  parser.mode = { type: 'finished' };
  return body !== undefined && isCut;
}

/** Returns the start of unfinished markup that only a call can have; it is dropped when the answer is cut there. */
function findUnfinishedMarkup({ matcher, buffer, options }: CallParser): number | undefined {
  const start = matcher.getEarliestStart();
  if (start === undefined) return undefined;
  const markup = buffer.slice(start, buffer.end).trimStart();
  const { openings } = options.format;
  return start < options.preface.length || openings.some((opening) => markup.startsWith(opening)) ? start : undefined;
}

const NEWLINE = 0x0a;
