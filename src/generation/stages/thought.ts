import type { ChoiceEvent } from '../../core/event.ts';
import type { GenerationPhase } from '../../core/prompt.ts';
import { listOpenings, type ThoughtFormat } from '../thoughts/thought-format.ts';
import type { Stage } from './stage.ts';
import { createTextBuffer, type TextBuffer } from './text-buffer.ts';

type Emit = (event: ChoiceEvent) => void;

export interface ThoughtStageOptions {
  readonly format: Pick<ThoughtFormat, 'open' | 'close' | 'answerOpenings'>;
  /** Phases of the request. Text of a thought phase is a thought, whose closing mark the engine removes. */
  readonly phases: readonly Pick<GenerationPhase, 'kind' | 'until'>[];
  /** Whether thoughts are passed on as reasoning; otherwise they are dropped. */
  readonly keepsThoughts: boolean;
  /** Whether the answer starts inside a thought that the prompt opened. */
  readonly isOpened?: boolean;
  /** Texts that start a call. Default: none. */
  readonly callOpenings?: readonly string[];
}

export interface ThoughtStage extends Stage<ChoiceEvent, ChoiceEvent> {
  /** Whether a thought preceded the text that was emitted last. */
  readonly hasThought: () => boolean;
}

/** `start`: a thought or the answer may start. `opened` and `answerOpened`: its text may start, after a mark. */
type Mode = 'start' | 'opened' | 'thought' | 'answerOpened' | 'answer';

interface ThoughtParser {
  readonly options: ThoughtStageOptions;
  readonly buffer: TextBuffer;
  mode: Mode;
  /** Text before this position was emitted or dropped. */
  position: number;
  /** Phase of the text that arrived last. */
  phase: number | undefined;
  isThoughtPhase: boolean;
  /** Tokens of the phase so far. */
  phaseTokens: number;
  /** Whether a thought preceded the answer: blanks between them are no part of it. */
  followsThought: boolean;
  /** Text of a thought that is dropped. */
  droppedThought: string;
  /** Text of a thought that a server separated from the answer, and that is dropped. */
  droppedReasoning: string;
  /** Whether a server separated a thought from the answer. */
  hasReasoning: boolean;
  hasAnswer: boolean;
  /** Text that waits for more: only blanks, or a possible call, whose thought only its mark ends. */
  held: 'blanks' | 'call' | undefined;
  /** Position up to which held text was searched. */
  searchedUntil: number;
}

/**
 * Converts thoughts to reasoning events, or drops them. A thought is the text of a thought phase, or starts with its mark
 * at the start of the answer. Blanks around it are dropped. All other text is emitted unchanged and in order, as soon as
 * it cannot be the start of a mark.
 *
 * Some models call a tool without closing the thought. Text that starts like a call is therefore held until the thought
 * ends, and is emitted as text if the answer ends instead. A dropped thought without a call is then emitted as text too:
 * otherwise the answer would be empty because all of it was taken for a thought.
 */
export function createThoughtStage(options: ThoughtStageOptions): ThoughtStage {
  const parser: ThoughtParser = {
    options,
    buffer: createTextBuffer(),
    // A phase of its own tells where an opened thought ends.
    mode: options.isOpened && options.phases[0]?.kind !== 'thought' ? 'opened' : 'start',
    position: 0,
    phase: undefined,
    isThoughtPhase: false,
    phaseTokens: 0,
    followsThought: false,
    droppedThought: '',
    droppedReasoning: '',
    hasReasoning: false,
    hasAnswer: false,
    held: undefined,
    searchedUntil: 0,
  };
  return {
    push(event, emit) {
      if (event.type === 'text') {
        enterPhase(parser, event.phase, emit);
        parser.phaseTokens += event.tokens;
        parser.buffer.push(event);
        parse(parser, { isLast: false }, emit);
      } else if (event.type === 'choice-end') {
        if (event.reason === 'stop') releaseCall(parser);
        parse(parser, { isLast: true }, emit);
        const thought = event.reason === 'stop' ? findAnswerInThought(parser) : '';
        if (thought !== '') emit({ type: 'text', choice: event.choice, phase: 0, tokens: 0, text: thought });
      } else if (event.type === 'tool-call') parser.hasAnswer = true;
      else if (event.type === 'reasoning') parser.hasReasoning = true;
      parser.buffer.emitOwedTokens((text) => emit(toPassedEvent(parser, text)));
      if (event.type === 'reasoning' && !options.keepsThoughts) dropReasoning(parser, event, emit);
      else if (event.type !== 'text') emit(event);
    },
    end: () => undefined,
    hasThought: () => parser.followsThought || parser.hasReasoning,
  };
}

/** Drops a thought that a server separated from the answer. Its tokens count. */
function dropReasoning(
  parser: ThoughtParser,
  { choice, text, tokens }: Extract<ChoiceEvent, { type: 'reasoning' }>,
  emit: Emit,
): void {
  parser.droppedReasoning += text;
  emit({ type: 'text', choice, phase: 0, tokens, text: '' });
}

/** Returns the dropped thought that is the answer, because the model ended it and wrote nothing else. */
function findAnswerInThought({ mode, hasAnswer, droppedThought, droppedReasoning }: ThoughtParser): string {
  if (mode === 'thought') return droppedThought;
  return hasAnswer ? '' : droppedReasoning;
}

/** Follows the engine into a thought phase or out of one. */
function enterPhase(parser: ThoughtParser, phase: number, emit: Emit): void {
  if (phase === parser.phase) return;
  const isThoughtPhase = parser.options.phases[phase]?.kind === 'thought';
  const wasThought = parser.isThoughtPhase || (phase > 0 && parser.mode !== 'start' && parser.mode !== 'answer');
  // The engine ended the thought at its limit, not at its mark: a call that started in it goes on in the answer.
  const isLimited = parser.isThoughtPhase && parser.phaseTokens >= (getTokenLimit(parser) ?? Infinity);
  parser.phase = phase;
  parser.isThoughtPhase = isThoughtPhase;
  parser.phaseTokens = 0;
  if (isThoughtPhase) {
    parse(parser, { isLast: true }, emit);
    parser.mode = 'opened';
  } else if (wasThought) {
    if (isLimited) releaseCall(parser);
    // Also after a thought phase without text.
    parse(parser, { isLast: true }, emit);
    if (parser.mode !== 'answer') startAnswer(parser);
  }
}

/** Returns the largest number of tokens of the current phase. */
const getTokenLimit = ({ options, phase = 0 }: ThoughtParser): number | undefined =>
  options.phases[phase]?.until?.tokens;

function startAnswer(parser: ThoughtParser): void {
  parser.mode = 'start';
  parser.followsThought = true;
}

interface ParseOptions {
  /** Whether no further text can complete a mark. */
  readonly isLast: boolean;
}

/** Parses the text that has arrived, step by step, until more text decides or all of it is emitted. */
function parse(parser: ThoughtParser, how: ParseOptions, emit: Emit): void {
  if (!how.isLast && isWaiting(parser)) return;
  while (parser.mode !== 'answer' && STEPS[parser.mode](parser, how, emit));
  if (parser.mode === 'answer') return emitUntil(parser, parser.buffer.end, emit);
  const text = getText(parser);
  const holdsCall = parser.mode === 'thought' && findCall(parser, text) !== undefined;
  parser.held = text.trim() === '' ? 'blanks' : holdsCall ? 'call' : undefined;
  parser.searchedUntil = parser.buffer.end;
}

/** Whether the new text decides nothing about text that is held. Only the new text is searched, however long that is. */
function isWaiting(parser: ThoughtParser): boolean {
  const { buffer, held, searchedUntil, options } = parser;
  if (held === undefined || parser.mode === 'answer') return false;
  const { close } = options.format;
  const from = Math.max(parser.position, searchedUntil - (held === 'call' ? close.length : 0));
  const text = buffer.slice(from, buffer.end);
  parser.searchedUntil = buffer.end;
  return held === 'blanks' ? text.trim() === '' : !text.includes(close);
}

/** A step of the parser. Returns whether it decided something, so that the next one can follow. */
type Step = (parser: ThoughtParser, how: ParseOptions, emit: Emit) => boolean;

/** Returns the longest of the marks with which a text starts: one mark may be the start of another. */
const findLongestMark = (text: string, marks: readonly string[]): string | undefined =>
  marks.filter((mark) => text.startsWith(mark)).toSorted((one, other) => other.length - one.length)[0];

/** Returns whether more text may turn what is there into another mark than the found one. */
const mayBecomeLonger = (text: string, marks: readonly string[], found: string | undefined): boolean =>
  marks.some((mark) => mark !== found && mark.startsWith(text));

/** Decides whether a thought or the answer starts. */
const parseStart: Step = (parser, { isLast }) => {
  const text = getText(parser);
  const trimmed = text.trimStart();
  const openings = listOpenings(parser.options.format);
  const marks = [...openings, ...parser.options.format.answerOpenings];
  const mark = findLongestMark(trimmed, marks);
  if (!isLast && mayBecomeLonger(trimmed, marks, mark)) return false;
  if (mark !== undefined || parser.followsThought) skip(parser, text.length - trimmed.length + (mark?.length ?? 0));
  const opensThought = mark !== undefined && openings.includes(mark);
  parser.mode = opensThought ? 'opened' : mark === undefined ? 'answer' : 'answerOpened';
  return true;
};

/** Skips blanks between a mark and the answer. */
const parseAnswerOpened: Step = (parser, { isLast }) => {
  const text = getText(parser);
  const trimmed = text.trimStart();
  if (trimmed === '' && !isLast) return false;
  skip(parser, text.length - trimmed.length);
  parser.mode = 'answer';
  return true;
};

/**
 * Skips blanks before the text of the thought, and the mark of a model that repeats it. A model that does not want the
 * thought that was opened for it starts the answer instead.
 */
const parseOpened: Step = (parser, { isLast }) => {
  const { format } = parser.options;
  const openings = listOpenings(format);
  const text = getText(parser);
  const trimmed = text.trimStart();
  const marks = [...openings, ...format.answerOpenings.filter((mark) => mark.startsWith('<'))];
  const mark = findLongestMark(trimmed, marks);
  if (!isLast && mayBecomeLonger(trimmed, marks, mark)) return false;
  skip(parser, text.length - trimmed.length + (mark?.length ?? 0));
  if (mark === undefined || !openings.includes(mark)) parser.mode = mark === undefined ? 'thought' : 'answerOpened';
  return true;
};

/** Emits the thought up to its closing mark. Blanks at its end, and what may be a call, wait for more text. */
const parseThought: Step = (parser, { isLast }, emit) => {
  const { close } = parser.options.format;
  const text = getText(parser);
  const end = text.indexOf(close);
  const certainEnd = isLast ? text.length : (findCall(parser, text) ?? text.length - countMarkStart(parser, text));
  const thought = text.slice(0, end < 0 ? certainEnd : end).trimEnd();
  if (!parser.options.keepsThoughts) parser.droppedThought += text.slice(0, thought.length);
  emitUntil(parser, parser.position + thought.length, emit);
  if (end < 0) return false;
  skip(parser, end - thought.length + close.length);
  startAnswer(parser);
  return true;
};

const STEPS: Readonly<Record<Exclude<Mode, 'answer'>, Step>> = {
  start: parseStart,
  answerOpened: parseAnswerOpened,
  opened: parseOpened,
  thought: parseThought,
};

/** Ends an unclosed thought before a call in it. */
function releaseCall(parser: ThoughtParser): void {
  const text = getText(parser);
  const call = parser.mode === 'thought' && !text.includes(parser.options.format.close) && findCall(parser, text);
  if (call === undefined || call === false) return;
  skip(parser, call);
  parser.mode = 'answer';
}

/** Returns the position of the first text that starts a call. */
function findCall({ options: { callOpenings = [] } }: ThoughtParser, text: string): number | undefined {
  const positions = callOpenings.map((opening) => text.indexOf(opening)).filter((at) => at >= 0);
  return positions.length > 0 ? Math.min(...positions) : undefined;
}

/** Counts the characters at the end that may be the start of the closing mark or of a call. */
function countMarkStart({ options: { format, callOpenings = [] } }: ThoughtParser, text: string): number {
  const counts = [format.close, ...callOpenings].map((mark) => {
    for (let length = Math.min(mark.length - 1, text.length); length > 0; length--)
      if (mark.startsWith(text.slice(-length))) return length;
    return 0;
  });
  return Math.max(...counts);
}

const getText = ({ buffer, position }: ThoughtParser): string => buffer.slice(position, buffer.end);

function skip(parser: ThoughtParser, length: number): void {
  parser.position += length;
  parser.buffer.dropUntil(parser.position);
}

function emitUntil(parser: ThoughtParser, to: number, emit: Emit): void {
  if (parser.mode === 'answer' && to > parser.position) parser.hasAnswer = true;
  parser.position = to;
  parser.buffer.emitUntil(to, (event) => emit(toPassedEvent(parser, event)));
}

/** Converts text of a thought to what is passed on. A dropped thought leaves its tokens. */
function toPassedEvent({ mode, options }: ThoughtParser, event: ChoiceEvent): ChoiceEvent {
  if (event.type !== 'text' || (mode !== 'opened' && mode !== 'thought')) return event;
  const { choice, phase, text, tokens } = event;
  return options.keepsThoughts
    ? { type: 'reasoning', choice, text, tokens }
    : { type: 'text', choice, phase, tokens, text: '' };
}
