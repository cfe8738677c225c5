import type { Message, ContentPart, ToolCall } from '../../../core/message.ts';
import { createDocumentParts, parseFileReferences } from '../../../core/document.ts';
import { toSummaryText } from './compaction-item.ts';
import { decodeFile } from './file-part.ts';
import type { WireContent, WireItem, WireItemPart } from './item-schema.ts';

type MessageItem = Extract<WireItem, { readonly type: 'message' }>;
type ReasoningItem = Extract<WireItem, { readonly type: 'reasoning' }>;

/** A message with the tool results that answer its calls. */
interface MessageGroup {
  readonly role: 'user' | 'assistant';
  readonly content: ContentPart[];
  readonly thoughts: string[];
  readonly calls: ToolCall[];
  readonly results: Message[];
}

/**
 * Converts items to messages, except system and developer messages (see `decodeSystemParts`). A call is added to the
 * assistant message before it, reasoning to the message after it, and results directly follow their calls. A server
 * tool item becomes a call with its result, and a compaction item an assistant message with its summary. Omitted are results without a call, reasoning that nothing follows, and
 * items of other types.
 */
export function decodeItems(items: readonly WireItem[]): readonly Message[] {
  const groups: MessageGroup[] = [];
  const groupsByCallId = new Map<string, MessageGroup>();
  /** The assistant message to which calls and text are added. */
  let current: MessageGroup | undefined;
  let thoughts: string[] = [];

  const startGroup = (role: MessageGroup['role'], content: readonly ContentPart[]): MessageGroup => {
    const group = { role, content: [...content], thoughts, calls: [], results: [] };
    thoughts = [];
    groups.push(group);
    return group;
  };

  for (const [index, item] of items.entries()) {
    switch (item.type) {
      case 'message':
        if (item.role === 'assistant') {
          const content = decodeContent(item.content);
          // Text next to calls belongs to the same message, also after them.
          if (current && current.results.length === 0 && (current.calls.length > 0 || current.content.length === 0))
            current.content.push(...content);
          else current = startGroup('assistant', content);
          current.thoughts.push(...thoughts.splice(0));
        } else if (item.role === 'user') {
          thoughts = [];
          current = undefined;
          startGroup('user', decodeContent(item.content));
        }
        break;
      case 'reasoning':
        thoughts.push(...decodeReasoning(item));
        break;
      case 'function_call':
        if (!current || current.results.length > 0) current = startGroup('assistant', []);
        current.thoughts.push(...thoughts.splice(0));
        current.calls.push({ id: item.call_id, name: toText(item.name), arguments: toText(item.arguments) });
        groupsByCallId.set(item.call_id, current);
        break;
      case 'function_call_output':
        groupsByCallId
          .get(item.call_id)
          ?.results.push({ role: 'tool', toolCallId: item.call_id, content: decodeContent(item.output) });
        break;
      case 'server_call': {
        if (!current || current.results.length > 0) current = startGroup('assistant', []);
        current.thoughts.push(...thoughts.splice(0));
        // The item's own id differs each time it is sent, but the same history must produce the same prompt.
        const id = `${item.wireType}_${index}`;
        current.calls.push({ id, name: item.name, arguments: item.arguments });
        current.results.push({ role: 'tool', toolCallId: id, content: [{ type: 'text', text: item.result }] });
        break;
      }
      case 'compaction':
        thoughts = [];
        current = undefined;
        startGroup('assistant', [{ type: 'text', text: toSummaryText(toText(item.summary)) }]);
        break;
      case 'item_reference':
      case 'other':
    }
  }
  return groups.flatMap((group) => [groupToMessage(group), ...group.results]);
}

/** Decodes system and developer messages in order; a list of file references becomes the documents it names. */
export const decodeSystemParts = (items: readonly WireItem[]): readonly (readonly ContentPart[])[] =>
  items.filter(isSystemItem).map(({ content }) => decodeContent(content).flatMap(expandFileReferences));

/** Replaces a text that is a list of file references by the documents. A deleted file does not cause an error. */
export function expandFileReferences(part: ContentPart): readonly ContentPart[] {
  const ids = part.type === 'text' ? parseFileReferences(part.text) : undefined;
  return ids ? createDocumentParts(ids, { isOptional: true }) : [part];
}

export const isSystemItem = (item: WireItem): item is MessageItem =>
  item.type === 'message' && (item.role === 'system' || item.role === 'developer');

const groupToMessage = ({ role, content, thoughts, calls }: MessageGroup): Message => ({
  role,
  content,
  ...(thoughts.length > 0 ? { reasoning: thoughts.join('\n\n') } : {}),
  ...(calls.length > 0 ? { toolCalls: calls } : {}),
});

/** Returns the reasoning text if present, otherwise its summary. */
function decodeReasoning({ summary, content }: ReasoningItem): readonly string[] {
  const parts = content && content.length > 0 ? content : (summary ?? []);
  const thought = parts.map((part) => toText(part.text)).join('\n\n');
  return thought === '' ? [] : [thought];
}

function decodeContent(content: WireContent): readonly ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: toText(content) }];
  return content.flatMap(decodePart);
}

function decodePart(part: WireItemPart): readonly ContentPart[] {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
    case 'reasoning_text':
      return [{ type: 'text', text: toText(part.text) }];
    case 'refusal':
      return [{ type: 'text', text: toText(part.refusal) }];
    case 'input_image':
      return [{ type: 'image', url: part.image_url }];
    case 'input_file':
      return [decodeFile(part)];
    case 'input_audio':
    case 'output_audio':
    case 'computer_screenshot':
      return []; // rejected when the item was created
  }
}

/** Replaces half a surrogate pair by U+FFFD, as every tokenizer would. */
const toText = (value: string): string => value.toWellFormed();
