import { createHash } from 'node:crypto';
import { JSON_DEPTH_MAX } from '../core/limits.ts';
import { getMessageText, type Message, type ToolCall } from '../core/message.ts';
import { isDeeperThan } from '../lib/json-depth.ts';
import { formatThoughtAndAnswer } from './thinking.ts';
import { isRecord } from '../lib/is-record.ts';

/** Differences between a template and most others, found in its source. */
export interface TemplateQuirks {
  /** The template needs call arguments as JSON text, because it concatenates them with other text. */
  readonly argumentsAsText: boolean;
  /** The template expects null instead of empty content in a message that has only calls. */
  readonly emptyAsNull: boolean;
  /** The template requires call ids of nine letters or digits. */
  readonly shortIds: boolean;
  /** The template writes no name of a call, only its id, which contains the name. */
  readonly idNamesTool?: boolean;
  /** Field of a message from which the template reads its thought. Default: `reasoning_content`. */
  readonly thoughtField?: string;
}

export const detectTemplateQuirks = (source: string): TemplateQuirks => ({
  argumentsAsText: /\+\s*[\w.'"[\]]*\barguments\b['"]?\]?\s*(?:\+|-?[%}]\})/.test(source),
  emptyAsNull: /\bcontent\b['"]?\]?\s+is\s+none\b/.test(source),
  shortIds: /\blength\s*!=\s*9\b/.test(source),
  thoughtField:
    THOUGHT_FIELDS.find((field) => new RegExp(`\\bmessage(?:\\.|\\[['"])${field}\\b`).test(source)) ??
    'reasoning_content',
});

/** Fields of thoughts in messages, by the number of templates that read them. */
const THOUGHT_FIELDS = ['reasoning_content', 'reasoning', 'thinking'];

/** Position of earlier reasoning: in the template's own field, or in the answer text with thought marks. */
export type EarlierThoughtPlacement = 'field' | 'text' | undefined;

interface MessageOptions extends TemplateQuirks {
  /** Ids that name the tool, by the ids of the messages. */
  readonly namedIds: ReadonlyMap<string, string> | undefined;
}

/** Converts a message to the shape that templates expect. They know no role `developer`, so it becomes `system`. */
export function toTemplateMessage(
  message: Message,
  placement: EarlierThoughtPlacement,
  { argumentsAsText, emptyAsNull, shortIds, namedIds, thoughtField = 'reasoning_content' }: MessageOptions,
): Record<string, unknown> {
  const { reasoning, toolCalls = [] } = message;
  const text = getMessageText(message);
  const content = placement === 'text' && reasoning ? formatThoughtAndAnswer(reasoning, text) : text;
  const toTemplateId = (id: string): string => namedIds?.get(id) ?? (shortIds ? createShortId(id) : id);
  const toCall = (call: ToolCall): Record<string, unknown> => ({
    id: toTemplateId(call.id),
    type: 'function',
    function: { name: call.name, arguments: argumentsAsText ? call.arguments : parseArguments(call.arguments) },
  });
  return {
    role: message.role === 'developer' ? 'system' : message.role,
    content: emptyAsNull && content === '' && toolCalls.length > 0 ? null : content,
    ...(placement === 'field' && reasoning ? { [thoughtField]: reasoning } : {}),
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: toTemplateId(message.toolCallId) }),
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls.map(toCall) } : {}),
  };
}

/** Parses arguments to an object, which templates print as JSON; other text stays a string. */
function parseArguments(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    // Deeper nesting would overflow the stack of the recursive renderer.
    return isRecord(value) && !isDeeperThan(value, JSON_DEPTH_MAX) ? value : text;
  } catch {
    return text;
  }
}

/** Returns the same short id for the same id, so that results still match their calls. */
const createShortId = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9);
