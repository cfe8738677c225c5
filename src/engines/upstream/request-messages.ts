import type { Message } from '../../core/message.ts';
import { textOf } from '../../core/message.ts';
import { present } from '../../lib/present.ts';

/** @param withThought Earlier thoughts are told. */
export const toMessages = (messages: readonly Message[], withThought: boolean): object[] =>
  messages.map((message) => toMessage(message, withThought));

function toMessage(message: Message, withThought: boolean): object {
  return {
    // Every server knows `system`; `developer` is a word of one.
    role: message.role === 'developer' ? 'system' : message.role,
    content: toContent(message),
    ...present({
      name: message.name,
      tool_call_id: message.toolCallId,
      reasoning_content: withThought ? message.reasoning : undefined,
    }),
    ...(message.toolCalls && message.toolCalls.length > 0
      ? {
          tool_calls: message.toolCalls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: call.arguments },
          })),
        }
      : {}),
  };
}

/** Text alone goes as a string, which also the servers take that know no parts. */
function toContent(message: Message): unknown {
  if (message.content.length === 0 && message.toolCalls && message.toolCalls.length > 0) return null;
  if (message.content.every((part) => part.type === 'text')) return textOf(message);
  return message.content.flatMap((part): readonly object[] => {
    switch (part.type) {
      case 'text':
        return [{ type: 'text', text: part.text }];
      case 'image':
        return [{ type: 'image_url', image_url: { url: part.url } }];
      case 'document':
        return []; // became text before
    }
  });
}
