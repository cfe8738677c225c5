import type { EngineEvent } from '../../../core/event.ts';
import { createToolCalls } from '../tool-calls.ts';
import type { ToolCallsNeeds } from '../tool-calls.ts';

export type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;
export type ChoiceEnd = Extract<ChoiceEvent, { type: 'choice-end' }>;

/** What is left of an answer when its calls were taken out. */
export interface Reading {
  /** Text in the order it was said, cut where a call stands. */
  readonly content: readonly string[];
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  readonly reason: ChoiceEnd['reason'];
  readonly tokens: number;
}

const textEvent = (text: string): ChoiceEvent => ({ type: 'text', choice: 0, text, tokens: 1, phase: 0 });

/** The events that the stage makes of these pieces of an answer. */
export function eventsOf(
  pieces: readonly (string | ChoiceEvent)[],
  { reason = 'stop', ...needs }: Partial<ToolCallsNeeds> & { reason?: ChoiceEnd['reason'] } = {},
): ChoiceEvent[] {
  let ids = 0;
  const out: ChoiceEvent[] = [];
  const stage = createToolCalls({
    choice: 0,
    format: 'hermes',
    names: ['f', 'foo', 'get_weather'],
    isParallel: true,
    preface: '',
    newId: () => `call_${ids++}`,
    ...needs,
  });
  const emit = (event: ChoiceEvent): void => void out.push(event);
  for (const piece of pieces) stage.push(typeof piece === 'string' ? textEvent(piece) : piece, emit);
  stage.push({ type: 'choice-end', choice: 0, reason }, emit);
  stage.end(emit);
  return out;
}

export function read(...run: Parameters<typeof eventsOf>): Reading {
  const content = [''];
  const calls: { name: string; arguments: string }[] = [];
  let end: ChoiceEnd['reason'] | undefined;
  let tokens = 0;
  for (const event of eventsOf(...run)) {
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

/** A text in pieces that end at these places, taken modulo its length. */
export function cut(text: string, places: readonly number[]): string[] {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...ends].map((from, i) => text.slice(from, ends[i] ?? text.length));
}
