import { textOf } from '../core/message.ts';
import type { Message } from '../core/message.ts';

/** Calls whose results are known. */
export interface AnsweredCalls {
  /** However the arguments are spelled. */
  has(tool: string, argumentsText: string): boolean;
  /** Whether one of them begins so; blanks do not count. */
  hasBeginning(tool: string, argumentsText: string): boolean;
}

/**
 * Small models answer a tool's result with the same call again, and so on for ever. This knows the calls of the running
 * turn that have their result.
 *
 * @returns undefined when the conversation does not end with a tool's result.
 */
export function answeredCalls(messages: readonly Message[]): AnsweredCalls | undefined {
  if (messages.at(-1)?.role !== 'tool') return undefined;
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const answered = new Set(turn.map(({ toolCallId }) => toolCallId));
  const calls = turn.flatMap(({ toolCalls }) => toolCalls ?? []).filter(({ id }) => answered.has(id));
  const known = new Set(calls.map((call) => keyOf(call.name, call.arguments)));
  return {
    has: (tool, argumentsText) => known.has(keyOf(tool, argumentsText)),
    hasBeginning(tool, argumentsText) {
      const begun = withoutBlanks(argumentsText);
      return calls.some((call) => call.name === tool && withoutBlanks(call.arguments).startsWith(begun));
    },
  };
}

const withoutBlanks = (text: string): string => text.replaceAll(/\s/g, '');

/** Spelling of the arguments (blanks, order of keys) makes no other call. */
function keyOf(tool: string, argumentsText: string): string {
  try {
    return `${tool} ${JSON.stringify(inOrder(JSON.parse(argumentsText)))}`;
  } catch {
    return `${tool} ${argumentsText.trim()}`;
  }
}

/** Objects as lists of pairs, so that no key of a caller's has a meaning of its own. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const pairs = Object.entries(value).map(([key, item]): [string, unknown] => [key, inOrder(item)]);
  return { pairs: pairs.toSorted(([a], [b]) => (a < b ? -1 : 1)) };
}

/**
 * The same conversation for an answer in words: results of the running turn's calls stand in the question, and there is no
 * call left to imitate.
 */
export function withResultsTold(messages: readonly Message[]): readonly Message[] {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const question = messages[asked];
  if (!question) return messages;
  const turn = messages.slice(asked + 1);
  const calls = new Map(turn.flatMap(({ toolCalls }) => toolCalls ?? []).map((call) => [call.id, call]));
  const results = turn
    .filter(({ role }) => role === 'tool')
    .map((message) => {
      const call = calls.get(message.toolCallId ?? '');
      return `${call ? `${call.name}(${call.arguments})` : 'A tool'} gave: ${textOf(message)}\n`;
    });
  const told = `\n\n${results.join('')}\nAnswer with these results.`;
  return [...messages.slice(0, asked), { ...question, content: [...question.content, { type: 'text', text: told }] }];
}
