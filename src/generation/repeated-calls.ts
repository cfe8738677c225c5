import { getMessageText, type Message } from '../core/message.ts';

/** Tool calls of the current turn that have a result. */
export interface AnsweredCalls {
  /** Compares arguments as JSON values, so spelling does not matter. */
  has(tool: string, argumentsText: string): boolean;
  /** Whether a call's arguments start with this text, ignoring whitespace. */
  hasPrefix(tool: string, argumentsText: string): boolean;
}

/**
 * Finds the calls of the current turn that have their result: small models tend to answer a tool result with the same
 * call again, without end.
 *
 * @returns undefined when the conversation does not end with a tool result.
 */
export function findAnsweredCalls(messages: readonly Message[]): AnsweredCalls | undefined {
  if (messages.at(-1)?.role !== 'tool') return undefined;
  const currentTurn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const answeredIds = new Set(currentTurn.map(({ toolCallId }) => toolCallId));
  const calls = currentTurn.flatMap(({ toolCalls }) => toolCalls ?? []).filter(({ id }) => answeredIds.has(id));
  const keys = new Set(calls.map((call) => createCallKey(call.name, call.arguments)));
  return {
    has: (tool, argumentsText) => keys.has(createCallKey(tool, argumentsText)),
    hasPrefix(tool, argumentsText) {
      const prefix = withoutBlanks(argumentsText);
      return calls.some((call) => call.name === tool && withoutBlanks(call.arguments).startsWith(prefix));
    },
  };
}

const withoutBlanks = (text: string): string => text.replaceAll(/\s/g, '');

/** Returns the same key for calls whose arguments differ only in whitespace or key order. */
function createCallKey(tool: string, argumentsText: string): string {
  try {
    return `${tool} ${JSON.stringify(sortKeys(JSON.parse(argumentsText)))}`;
  } catch {
    return `${tool} ${argumentsText.trim()}`;
  }
}

/** Represents objects as lists of pairs, so that no key from a caller, such as `__proto__`, has a special meaning. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const pairs = Object.entries(value).map(([key, item]): [string, unknown] => [key, sortKeys(item)]);
  return { pairs: pairs.toSorted(([a], [b]) => (a < b ? -1 : 1)) };
}

/**
 * Moves the results of the current turn's calls into the user's question, so that the model answers in text and has no
 * call to imitate.
 */
export function inlineToolResults(messages: readonly Message[]): readonly Message[] {
  const questionIndex = messages.findLastIndex(({ role }) => role === 'user');
  const question = messages[questionIndex];
  if (!question) return messages;
  const turn = messages.slice(questionIndex + 1);
  const calls = new Map(turn.flatMap(({ toolCalls }) => toolCalls ?? []).map((call) => [call.id, call]));
  const results = turn
    .filter(({ role }) => role === 'tool')
    .map((message) => {
      const call = calls.get(message.toolCallId ?? '');
      return `${call ? `${call.name}(${call.arguments})` : 'A tool'} gave: ${getMessageText(message)}\n`;
    });
  const resultsText = `\n\n${results.join('')}\nAnswer with these results.`;
  return [
    ...messages.slice(0, questionIndex),
    { ...question, content: [...question.content, { type: 'text', text: resultsText }] },
  ];
}
