import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

type Emit = (event: ChoiceEvent) => void;
type OutputEvent = Extract<ChoiceEvent, { type: 'text' | 'reasoning' }>;

export interface ProgramBlockStageOptions {
  /** The tool that a block calls. Absent: a block stays in the text. */
  readonly tool?: string;
  /** Opening fence that the prompt ends with. */
  readonly opened?: string;
  /** Programs that have run. A block with one of them stays in the text: the model shows the program. */
  readonly ranPrograms?: readonly string[];
  readonly createId: () => string;
}

interface BlockParser {
  readonly options: ProgramBlockStageOptions;
  /** Output of one type that is not emitted yet: what may be the start of a fence, or a block. */
  held: OutputEvent[];
  /** Type of the held events that have text. */
  heldType: OutputEvent['type'] | undefined;
  /** Text of the held events. */
  text: string;
  /** The block that the held text starts with, and the position of its program. */
  block: { readonly fence: string; readonly start: number } | undefined;
  /** The current line of the block, while it can be the closing fence. */
  fenceLine: string | undefined;
  /** Calls before the block; a block's call continues their numbers. */
  calls: number;
  isFinished: boolean;
}

/**
 * Ends the answer at the end of its first fenced Python block, in the text or in the thought: a model that goes on would
 * invent the program's output. With a tool, the block becomes a call of it. A block that a token limit or a stop string cuts
 * stays text. Other output is emitted unchanged and in order, as soon as it cannot be the start of a block.
 */
export function createProgramBlockStage(options: ProgramBlockStageOptions): Stage<ChoiceEvent, ChoiceEvent> {
  const fence = options.opened === undefined ? undefined : OPENING.exec(options.opened)?.[1];
  const parser: BlockParser = {
    options,
    held: [],
    heldType: undefined,
    text: '',
    block: fence === undefined ? undefined : { fence, start: 0 },
    fenceLine: '',
    calls: 0,
    isFinished: false,
  };
  return {
    push(event, emit) {
      if (parser.isFinished) return;
      if (event.type === 'text' || event.type === 'reasoning') {
        if (event.text !== '') {
          if (parser.heldType !== undefined && parser.heldType !== event.type) releaseHeld(parser, emit);
          parser.heldType = event.type;
        }
        parser.held.push(event);
        parser.text += event.text;
        takeHeld(parser, event, emit);
        return;
      }
      const isModelsEnd = event.type === 'choice-end' && event.reason === 'stop' && event.stop === undefined;
      if (isModelsEnd && endOpenBlock(parser, event.choice, emit)) return;
      releaseHeld(parser, emit);
      if (event.type === 'tool-call') parser.calls = event.index + 1;
      emit(event);
    },
    end() {
      parser.held = [];
    },
  };
}

/** An opening fence with the name of the language, up to the first line of the program. */
const OPENING = /(`{3,}|~{3,})[ \t]*(?:python[\d.]*|py|tool_code|code_interpreter)[ \t]*\r?\n/i;

/** The longest text that may become an opening fence. */
const PARTIAL_OPENING = /(?:`{1,2}|~{1,2}|(?:`{3,}|~{3,})[ \t]*\w*[\d.]*[ \t]*\r?)$/;

/** Characters of a fence that is recognized; longer ones are text. */
const OPENING_CHARS_MAX = 40;

/** Emits what cannot belong to a block, and takes complete blocks. */
function takeHeld(parser: BlockParser, { text, choice }: OutputEvent, emit: Emit): void {
  let added = text;
  while (!parser.isFinished) {
    if (!parser.block) {
      parser.block = findOpening(parser, emit);
      if (!parser.block) return;
      parser.fenceLine = '';
      added = parser.text.slice(parser.block.start);
    }
    const closing = findClosing(parser, parser.block.fence, added);
    if (!closing) return;
    const program = parser.text.slice(parser.block.start, closing.start).replace(/\n$/, '');
    finishBlock(parser, { program, end: closing.end, choice }, emit);
    added = parser.text;
  }
}

/** Finds the closing fence in the current line and the text after it. No other text is read again. */
function findClosing(
  parser: BlockParser,
  fence: string,
  added: string,
): { readonly start: number; readonly end: number } | undefined {
  // Any character stands for a line that cannot be a fence.
  const lines = (parser.fenceLine ?? '.') + added;
  const closing = new RegExp(`(?:^|\\n)[ \\t]*${fence}`).exec(lines);
  if (closing) {
    const start = parser.text.length - lines.length + closing.index;
    return { start, end: start + closing[0].length };
  }
  const lastLine = lines.slice(lines.lastIndexOf('\n') + 1);
  parser.fenceLine = /^[ \t]*[`~]*$/.test(lastLine) ? lastLine : undefined;
  return undefined;
}

/** Finds the opening fence in the held text, and emits the text before it. */
function findOpening(parser: BlockParser, emit: Emit): BlockParser['block'] {
  const opening = OPENING.exec(parser.text);
  if (!opening) {
    const partial = PARTIAL_OPENING.exec(parser.text.slice(-OPENING_CHARS_MAX))?.[0].length ?? 0;
    emitUntil(parser, parser.text.length - partial, emit);
    return undefined;
  }
  emitUntil(parser, opening.index, emit);
  return { fence: opening[1] ?? '', start: opening[0].length };
}

/** Takes a program whose fence the model did not close before it ended its answer. @returns whether there was one. */
function endOpenBlock(parser: BlockParser, choice: number, emit: Emit): boolean {
  const program = parser.block && parser.text.slice(parser.block.start);
  if (!program?.trim()) return false;
  finishBlock(parser, { program, end: parser.text.length, choice }, emit);
  return parser.isFinished;
}

interface FoundBlock {
  readonly program: string;
  /** Position after the block in the held text. */
  readonly end: number;
  readonly choice: number;
}

function finishBlock(parser: BlockParser, { program, end, choice }: FoundBlock, emit: Emit): void {
  const { tool, ranPrograms = [], createId } = parser.options;
  const code = removeIndent(program);
  if (ranPrograms.some((ran) => ran.trim() === code.trim())) {
    emitUntil(parser, end, emit);
    parser.block = undefined;
    return;
  }
  parser.isFinished = true;
  if (tool === undefined || code.trim() === '') {
    emitUntil(parser, end, emit);
    emit({ type: 'choice-end', choice, reason: 'stop' });
    return;
  }
  const tokens = parser.held.reduce((sum, event) => sum + event.tokens, 0);
  parser.held = [];
  const index = parser.calls;
  // The tokens of the block count although its text is not emitted.
  emit({ type: 'text', choice, text: '', tokens, phase: 0 });
  emit({ type: 'tool-call', choice, index, id: createId(), name: tool });
  emit({ type: 'tool-arguments', choice, index, text: JSON.stringify({ code }) });
  emit({ type: 'choice-end', choice, reason: 'tool-calls' });
}

/** Removes the indentation that all lines share: a block in a list is indented as a whole. */
function removeIndent(program: string): string {
  const lines = program.replaceAll('\r\n', '\n').split('\n');
  const indents = lines.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  const indent = Math.min(...indents);
  return lines.map((line) => line.slice(indent)).join('\n');
}

function releaseHeld(parser: BlockParser, emit: Emit): void {
  const { opened } = parser.options;
  const choice = parser.held[0]?.choice;
  // The caller sees the fence that the prompt opened.
  if (parser.block?.start === 0 && opened !== undefined && choice !== undefined)
    emit({ type: 'text', choice, text: opened, tokens: 0, phase: 0 });
  emitUntil(parser, parser.text.length, emit);
  parser.block = undefined;
}

/** Emits the held text up to a position. An event that is split keeps its tokens with its first part. */
function emitUntil(parser: BlockParser, end: number, emit: Emit): void {
  let left = end;
  const kept: OutputEvent[] = [];
  for (const event of parser.held) {
    if (kept.length === 0 && event.text.length <= left) {
      left -= event.text.length;
      emit(event);
    } else if (kept.length > 0 || left === 0) kept.push(event);
    else {
      emit({ ...event, text: event.text.slice(0, left) });
      kept.push(withoutTokens({ ...event, text: event.text.slice(left) }));
      left = 0;
    }
  }
  parser.held = kept;
  parser.text = parser.text.slice(end);
  if (parser.text === '') parser.heldType = undefined;
}

function withoutTokens(event: OutputEvent): OutputEvent {
  if (event.type === 'reasoning') return { ...event, tokens: 0 };
  const { logprobs: _, ...plain } = event;
  return { ...plain, tokens: 0 };
}
