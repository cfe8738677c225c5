import type { ChoiceEvent } from '../../core/event.ts';
import type { GenerationPhase } from '../../core/prompt.ts';
import type { ToolFormat } from '../tools/tool-formats.ts';
import type { Stage } from './stage.ts';
import { createTextBuffer, type TextBuffer } from './text-buffer.ts';

type Emit = (event: ChoiceEvent) => void;

const ENDS = ['<|end|>', '<|call|>', '<|return|>'];
const START = '<|start|>assistant';
const CHANNEL = '<|channel|>';
const MESSAGE = '<|message|>';

/** Start of a message without its role. */
const ROLELESS_START = '<|start|><|channel|>';

/** Special tokens of the format. */
export const HARMONY_MARKERS: readonly string[] = ['<|start|>', CHANNEL, MESSAGE, '<|constrain|>', ...ENDS];

/** The form in which calls are forced. Models also write other headers, see `HEADER`. */
export const HARMONY_CALLS: ToolFormat = {
  begin: '',
  before: `${CHANNEL}commentary to=functions.`,
  between: ` <|constrain|>json${MESSAGE}`,
  after: '<|call|>',
  separator: START,
  end: '',
  openings: [],
  closings: [],
  markers: HARMONY_MARKERS,
};

export interface HarmonyStageOptions {
  readonly choice: number;
  /** Declared tools. Without any, a message to a function is text. */
  readonly tools: readonly { readonly name: string }[];
  /** When false, everything after the first call is dropped. */
  readonly isParallel: boolean;
  /** Whether thoughts are passed on as reasoning; otherwise they are dropped. */
  readonly keepsThoughts: boolean;
  /** Phases of the request. Text of a thought phase is a thought, whose marks the engine removes. */
  readonly phases: readonly Pick<GenerationPhase, 'kind'>[];
  /** Whether the answer starts inside a thought that the prompt opened. */
  readonly isOpened: boolean;
  /** Start of a forced call, at the end of the prompt or after the thought phase. */
  readonly preface: string;
  readonly createId: () => string;
}

/** Use of the text of a message. */
type Body = 'thought' | 'text' | 'call' | 'dropped';

interface HarmonyParser {
  readonly options: HarmonyStageOptions;
  readonly buffer: TextBuffer;
  /** `header`: at the start of a message, after its role. `between`: after a message. */
  mode: 'header' | 'between' | Body;
  isThoughtPhase: boolean;
  /** Text before this position was emitted or dropped. */
  position: number;
  calls: number;
  hasArguments: boolean;
}

/**
 * Parses answers in the format of gpt-oss, which consist of messages with a channel: `analysis` is a thought, `final` and
 * `commentary` are text, and a message to a function is a call. Source: OpenAI's description of the harmony format.
 */
export function createHarmonyStage(options: HarmonyStageOptions): Stage<ChoiceEvent, ChoiceEvent> {
  const buffer = createTextBuffer();
  const parser: HarmonyParser = {
    options,
    buffer,
    mode: options.isOpened ? 'thought' : 'header',
    isThoughtPhase: options.phases[0]?.kind === 'thought',
    position: 0,
    calls: 0,
    hasArguments: false,
  };
  if (parser.isThoughtPhase) parser.mode = 'thought';
  else if (options.preface !== '') buffer.pushPromptText(options.preface);
  return {
    push(event, emit) {
      if (event.type === 'text') {
        enterPhase(parser, event.phase, emit);
        buffer.push(event);
        parse(parser, false, emit);
        buffer.emitOwedTokens(emit);
        return;
      }
      if (event.type !== 'choice-end') return emit(event);
      const wasInCall = parser.mode === 'call';
      parse(parser, true, emit);
      const isCut = event.reason === 'length' && wasInCall && parser.mode === 'call';
      if (parser.mode === 'call' && !isCut) endCall(parser, emit);
      buffer.dropUntil(buffer.end);
      buffer.emitOwedTokens(emit);
      emit(parser.calls > 0 && !isCut ? { ...event, reason: 'tool-calls' } : event);
    },
    end: () => undefined,
  };
}

/** Follows the engine into a thought phase or out of one. */
function enterPhase(parser: HarmonyParser, phase: number, emit: Emit): void {
  const isThoughtPhase = parser.options.phases[phase]?.kind === 'thought';
  if (isThoughtPhase === parser.isThoughtPhase) return;
  parse(parser, true, emit);
  parser.isThoughtPhase = isThoughtPhase;
  parser.mode = isThoughtPhase ? 'thought' : 'header';
  if (!isThoughtPhase && parser.options.preface !== '') parser.buffer.pushPromptText(parser.options.preface);
}

/** Parses what has arrived, until more text decides. @param isLast Whether no more text arrives. */
function parse(parser: HarmonyParser, isLast: boolean, emit: Emit): void {
  for (;;) {
    const text = parser.buffer.slice(parser.position, parser.buffer.end);
    const isDecided =
      parser.mode === 'header'
        ? parseHeader(parser, text, isLast, emit)
        : parser.mode === 'between'
          ? parseBetween(parser, text, isLast)
          : parseBody(parser, parser.mode, text, isLast, emit);
    if (!isDecided) return;
  }
}

/** Parts of a header: the recipient before the channel or after it, a type of the content, and repetitions. */
const HEADER = /^(?:\s+|<\|start\|>(?:assistant)?|<\|channel\|>\s*\w*|<\|constrain\|>|to=[\w.-]*|\w+)*$/;

/** A longer text, or one with another start, is no header. */
const HEADER_CHARS_MAX = 256;

const HEADER_STARTS = ['to=', START, ROLELESS_START, CHANNEL, MESSAGE, '<|constrain|>'];

function parseHeader(parser: HarmonyParser, text: string, isLast: boolean, emit: Emit): boolean {
  const trimmed = text.trimStart();
  const canBeHeader = HEADER_STARTS.some((start) => start.startsWith(trimmed) || trimmed.startsWith(start));
  const end = text.indexOf(MESSAGE);
  const header = end < 0 ? text : text.slice(0, end);
  if (!canBeHeader || header.length > HEADER_CHARS_MAX) {
    // The first character is passed on, so that a mark there starts no header again.
    parser.mode = 'text';
    passOn(parser, 'text', 1, emit);
    return true;
  }
  if (end >= 0) {
    skip(parser, end + MESSAGE.length);
    // The last ones count: models that start a header again mean what they wrote last.
    const channel = header.match(/(?<=<\|channel\|>\s*)\w+/g)?.at(-1);
    startBody(parser, channel ?? 'final', header.match(/(?<=to=)[\w.-]+/g)?.at(-1), emit);
    return true;
  }
  if (!isLast) return false;
  // A header that was cut has no text. A server that removes special tokens leaves only the text.
  const isCut = trimmed.startsWith('<') && HEADER.test(trimmed.replace(/<[|\w]*$/, ''));
  parser.mode = 'text';
  if (isCut) skip(parser, text.length);
  else passOn(parser, 'text', text.length, emit);
  return true;
}

function startBody(parser: HarmonyParser, channel: string, recipient: string | undefined, emit: Emit): void {
  const { tools } = parser.options;
  const name = recipient?.replace(/^functions\./, '');
  const isCall = recipient !== name ? tools.length > 0 : tools.some((tool) => tool.name === name);
  if (name === undefined || name === '' || !isCall) {
    parser.mode = channel === 'analysis' ? 'thought' : 'text';
    return;
  }
  if (parser.calls > 0 && !parser.options.isParallel) {
    parser.mode = 'dropped';
    return;
  }
  const { choice, createId } = parser.options;
  emit({ type: 'tool-call', choice, index: parser.calls++, id: createId(), name });
  parser.hasArguments = false;
  parser.mode = 'call';
}

function parseBetween(parser: HarmonyParser, text: string, isLast: boolean): boolean {
  const trimmed = text.trimStart();
  if (trimmed.startsWith(START)) {
    skip(parser, text.length - trimmed.length + START.length);
    parser.mode = 'header';
    return true;
  }
  const starts = [START, CHANNEL, ROLELESS_START];
  if (!isLast && starts.some((start) => start.startsWith(trimmed))) return false;
  if (trimmed === '') return false;
  parser.mode = starts.some((start) => trimmed.startsWith(start)) ? 'header' : 'text';
  return true;
}

function parseBody(parser: HarmonyParser, body: Body, text: string, isLast: boolean, emit: Emit): boolean {
  const [at, mark] = findEnd(text);
  passOn(parser, body, mark === undefined && !isLast ? text.length - countMarkStart(text) : at, emit);
  if (mark === undefined) return false;
  if (body === 'call') endCall(parser, emit);
  if (ENDS.includes(mark)) skip(parser, mark.length);
  parser.mode = 'between';
  return true;
}

/** Marks that end a message; the last two start another one. */
const BODY_ENDS = [...ENDS, START, CHANNEL];

function findEnd(text: string): readonly [at: number, mark: string | undefined] {
  const found = BODY_ENDS.map((mark) => [text.indexOf(mark), mark] as const).filter(([at]) => at >= 0);
  return found.toSorted(([a], [b]) => a - b)[0] ?? [text.length, undefined];
}

/** Counts the characters at the end that may be the start of a mark. */
function countMarkStart(text: string): number {
  const start = text.lastIndexOf('<');
  return start >= 0 && BODY_ENDS.some((mark) => mark.startsWith(text.slice(start))) ? text.length - start : 0;
}

/** Passes the next characters on, as what the message is. */
function passOn(parser: HarmonyParser, body: Body, length: number, emit: Emit): void {
  const { buffer, options } = parser;
  const from = parser.position;
  parser.position += length;
  if (body === 'text') return buffer.emitUntil(parser.position, emit);
  if (body === 'thought' && options.keepsThoughts)
    return buffer.emitUntil(parser.position, (event) => emit(event.type === 'text' ? toReasoning(event) : event));
  if (body === 'call' && length > 0) {
    const text = buffer.slice(from, parser.position);
    parser.hasArguments ||= text.trim() !== '';
    emit({ type: 'tool-arguments', choice: options.choice, index: parser.calls - 1, text });
  }
  buffer.dropUntil(parser.position);
}

const toReasoning = ({ choice, text, tokens }: Extract<ChoiceEvent, { type: 'text' }>): ChoiceEvent => ({
  type: 'reasoning',
  choice,
  text,
  tokens,
});

function endCall(parser: HarmonyParser, emit: Emit): void {
  if (!parser.hasArguments)
    emit({ type: 'tool-arguments', choice: parser.options.choice, index: parser.calls - 1, text: '{}' });
}

function skip(parser: HarmonyParser, length: number): void {
  parser.position += length;
  parser.buffer.dropUntil(parser.position);
}
