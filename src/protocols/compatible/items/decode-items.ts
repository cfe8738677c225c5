import type { Message, Part, ToolCall } from '../../../core/message.ts';
import { documentParts, fileIdsIn } from '../../../core/document.ts';
import { decodeFile } from './file-part.ts';
import type { WireContent, WireItem, WirePart } from './item-schema.ts';

type MessageItem = Extract<WireItem, { readonly type: 'message' }>;
type ThoughtItem = Extract<WireItem, { readonly type: 'reasoning' }>;

/** One message with the results that answer its calls. */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: Part[];
  readonly thoughts: string[];
  readonly calls: ToolCall[];
  readonly results: Message[];
}

/**
 * A history in the words of generation, without what system and developer say (`systemParts`). A call joins the assistant's
 * message before it, a thought what follows it; results stand right behind their calls, wherever they were sent. Work on our
 * side is a call with its result. Results of
 * calls that are not there any more, thoughts that nothing follows, and items of other kinds are left out.
 */
export function decodeItems(items: readonly WireItem[]): readonly Message[] {
  const turns: Turn[] = [];
  const called = new Map<string, Turn>();
  /** What the assistant is saying. */
  let open: Turn | undefined;
  let thoughts: string[] = [];

  const say = (role: Turn['role'], content: readonly Part[]): Turn => {
    const turn = { role, content: [...content], thoughts, calls: [], results: [] };
    thoughts = [];
    turns.push(turn);
    return turn;
  };

  for (const [index, item] of items.entries()) {
    switch (item.type) {
      case 'message':
        if (item.role === 'assistant') {
          const content = decodeContent(item.content);
          // What is said beside calls is of one message with them, also behind them.
          if (open && open.results.length === 0 && (open.calls.length > 0 || open.content.length === 0))
            open.content.push(...content);
          else open = say('assistant', content);
          open.thoughts.push(...thoughts.splice(0));
        } else if (item.role === 'user') {
          thoughts = [];
          open = undefined;
          say('user', decodeContent(item.content));
        }
        break;
      case 'reasoning':
        thoughts.push(...thoughtOf(item));
        break;
      case 'function_call':
        if (!open || open.results.length > 0) open = say('assistant', []);
        open.thoughts.push(...thoughts.splice(0));
        open.calls.push({ id: item.call_id, name: text(item.name), arguments: text(item.arguments) });
        called.set(item.call_id, open);
        break;
      case 'function_call_output':
        called
          .get(item.call_id)
          ?.results.push({ role: 'tool', toolCallId: item.call_id, content: decodeContent(item.output) });
        break;
      case 'server_call': {
        if (!open || open.results.length > 0) open = say('assistant', []);
        open.thoughts.push(...thoughts.splice(0));
        // The item's own id is another one each time it is sent: the same history is to make the same prompt.
        const id = `${item.of}_${index}`;
        open.calls.push({ id, name: item.name, arguments: item.arguments });
        open.results.push({ role: 'tool', toolCallId: id, content: [{ type: 'text', text: item.result }] });
        break;
      }
      case 'item_reference':
      case 'other':
    }
  }
  return turns.flatMap((turn) => [messageOf(turn), ...turn.results]);
}

/** What system and developer say, in their order, with a list of references as the documents it names. */
export const systemParts = (items: readonly WireItem[]): readonly (readonly Part[])[] =>
  items.filter(isSystemItem).map(({ content }) => decodeContent(content).flatMap(withReferences));

/** One that was deleted since it was named is missing, and the rest is not. */
export function withReferences(part: Part): readonly Part[] {
  const ids = part.type === 'text' ? fileIdsIn(part.text) : undefined;
  return ids ? documentParts(ids, { isOptional: true }) : [part];
}

export const isSystemItem = (item: WireItem): item is MessageItem =>
  item.type === 'message' && (item.role === 'system' || item.role === 'developer');

const messageOf = ({ role, content, thoughts, calls }: Turn): Message => ({
  role,
  content,
  ...(thoughts.length > 0 ? { reasoning: thoughts.join('\n\n') } : {}),
  ...(calls.length > 0 ? { toolCalls: calls } : {}),
});

/** The thought itself where it was told, else its summary. */
function thoughtOf({ summary, content }: ThoughtItem): readonly string[] {
  const told = content && content.length > 0 ? content : (summary ?? []);
  const thought = told.map((part) => text(part.text)).join('\n\n');
  return thought === '' ? [] : [thought];
}

function decodeContent(content: WireContent): readonly Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: text(content) }];
  return content.flatMap(decodePart);
}

function decodePart(part: WirePart): readonly Part[] {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
    case 'reasoning_text':
      return [{ type: 'text', text: text(part.text) }];
    case 'refusal':
      return [{ type: 'text', text: text(part.refusal) }];
    case 'input_image':
      return [{ type: 'image', url: part.image_url }];
    case 'input_file':
      return [decodeFile(part)];
    case 'input_audio':
    case 'output_audio':
    case 'computer_screenshot':
      return []; // refused when they came
  }
}

/** Half a surrogate pair is no text: it becomes U+FFFD here, as it would on its way into any tokenizer. */
const text = (value: string): string => value.toWellFormed();
