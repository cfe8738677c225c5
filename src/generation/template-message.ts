import { createHash } from 'node:crypto';
import { JSON_DEPTH_MAX } from '../core/limits.ts';
import type { Message, ToolCall } from '../core/message.ts';
import { textOf } from '../core/message.ts';
import { isDeeperThan } from '../lib/json-depth.ts';
import { withThought } from './thinking.ts';

/** What a template wants otherwise than most do, seen in its source. */
export interface TemplateWishes {
  /** Arguments of calls as JSON text: it puts them together with other text itself. */
  readonly argumentsAsText: boolean;
  /** A message of calls only has no content, rather than an empty one. */
  readonly emptyAsNone: boolean;
  /** Ids of calls have nine letters or digits. */
  readonly shortIds: boolean;
}

export const templateWishes = (source: string): TemplateWishes => ({
  argumentsAsText: /\+\s*[\w.'"[\]]*\barguments\b['"]?\]?\s*(?:\+|-?[%}]\})/.test(source),
  emptyAsNone: /\bcontent\b['"]?\]?\s+is\s+none\b/.test(source),
  shortIds: /\blength\s*!=\s*9\b/.test(source),
});

/** How earlier thoughts are told: in the template's own field, or in the text as one that is led to think writes it. */
export type EarlierThoughts = 'field' | 'text' | undefined;

/** The shape that templates of the field expect; `developer` is no role of theirs. */
export function templateMessage(
  message: Message,
  thoughts: EarlierThoughts,
  { argumentsAsText, emptyAsNone, shortIds }: TemplateWishes,
): Record<string, unknown> {
  const { reasoning, toolCalls = [] } = message;
  const text = textOf(message);
  const content = thoughts === 'text' && reasoning ? withThought(reasoning, text) : text;
  const idOf = (id: string): string => (shortIds ? shortId(id) : id);
  const toCall = (call: ToolCall): Record<string, unknown> => ({
    id: idOf(call.id),
    type: 'function',
    function: { name: call.name, arguments: argumentsAsText ? call.arguments : argumentsOf(call.arguments) },
  });
  return {
    role: message.role === 'developer' ? 'system' : message.role,
    content: emptyAsNone && content === '' && toolCalls.length > 0 ? null : content,
    ...(thoughts === 'field' && reasoning ? { reasoning_content: reasoning } : {}),
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: idOf(message.toolCallId) }),
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls.map(toCall) } : {}),
  };
}

/** Templates write arguments as JSON themselves; what is no JSON object goes in as the text it is. */
function argumentsOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    // Deeper text would take the recursive renderer to the end of its stack.
    return isObject && !isDeeperThan(value, JSON_DEPTH_MAX) ? value : text;
  } catch {
    return text;
  }
}

/** The same for the same id, so that calls and their results still belong together. */
const shortId = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9);
