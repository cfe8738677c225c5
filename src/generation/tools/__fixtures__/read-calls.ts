import type { ChoiceEvent } from '../../../core/event.ts';
import { createCallCompiler } from '../call-program.ts';
import { TOOL_FORMATS } from '../tool-formats.ts';
import { createToolCallStage, type ToolCallStageOptions } from '../tool-call-stage.ts';

export type ToolCallChoiceEnd = Extract<ChoiceEvent, { type: 'choice-end' }>;

/** The parsed answer. */
export interface ReadCallsResult {
  /** Text in order, split at each call. */
  readonly content: readonly string[];
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  readonly reason: ToolCallChoiceEnd['reason'];
  readonly tokens: number;
}

const textEvent = (text: string): ChoiceEvent => ({ type: 'text', choice: 0, text, tokens: 1, phase: 0 });

const compileCalls = createCallCompiler();

/** Returns the events that the stage emits for these pieces of an answer. */
export function runToolCallStage(
  pieces: readonly (string | ChoiceEvent)[],
  { reason = 'stop', ...needs }: Partial<ToolCallStageOptions> & { reason?: ToolCallChoiceEnd['reason'] } = {},
): ChoiceEvent[] {
  let ids = 0;
  const out: ChoiceEvent[] = [];
  const stage = createToolCallStage({
    choice: 0,
    format: TOOL_FORMATS.hermes,
    tools: ['f', 'foo', 'get_weather'].map((name) => ({ name, parameters: {} })),
    isParallel: true,
    preface: '',
    createId: () => `call_${ids++}`,
    compileCalls,
    ...needs,
  });
  const emit = (event: ChoiceEvent): void => void out.push(event);
  for (const piece of pieces) stage.push(typeof piece === 'string' ? textEvent(piece) : piece, emit);
  stage.push({ type: 'choice-end', choice: 0, reason }, emit);
  stage.end(emit);
  return out;
}

export function readCalls(...run: Parameters<typeof runToolCallStage>): ReadCallsResult {
  const content = [''];
  const calls: { name: string; arguments: string }[] = [];
  let end: ToolCallChoiceEnd['reason'] | undefined;
  let tokens = 0;
  for (const event of runToolCallStage(...run)) {
    if (event.type === 'text') {
      content.push(`${content.pop() ?? ''}${event.text}`);
      tokens += event.tokens;
    } else if (event.type === 'tool-call') {
      calls.push({ name: event.name, arguments: '' });
      content.push('');
    } else if (event.type === 'tool-arguments') {
      const call = calls[event.index];
      if (!call || event.index !== calls.length - 1) throw new Error('arguments outside their call');
      call.arguments += event.text;
    } else if (event.type === 'choice-end') end = event.reason;
  }
  if (end === undefined) throw new Error('the choice did not end');
  return { content, calls, reason: end, tokens };
}

/** Splits a text at these positions, taken modulo its length. */
export function cutText(text: string, positions: readonly number[]): string[] {
  const ends = [...new Set(positions.map((place) => place % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...ends].map((from, i) => text.slice(from, ends[i] ?? text.length));
}
