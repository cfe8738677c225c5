import { ServiceError } from '../../core/error.ts';
import { getMessageText, type Message } from '../../core/message.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';

/** @param includesReasoning Sends the reasoning of earlier turns. */
export const encodeMessages = (messages: readonly Message[], includesReasoning: boolean): object[] =>
  messages.map((message) => encodeMessage(message, includesReasoning));

function encodeMessage(message: Message, includesReasoning: boolean): object {
  return {
    // Every server supports `system`; only OpenAI supports `developer`.
    role: message.role === 'developer' ? 'system' : message.role,
    content: encodeContent(message),
    ...omitNullish({
      name: message.name,
      tool_call_id: message.toolCallId,
      reasoning_content: includesReasoning ? message.reasoning : undefined,
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

/**
 * Refuses the URL of an image that Parley has not fetched: the server would fetch any URL, also one of its own network.
 * @throws ServiceError `unsupported`.
 */
function requireDataUrl(url: string): string {
  if (/^data:/i.test(url)) return url;
  throw new ServiceError('unsupported', 'An image by URL has no number of tokens here. Send it as a data: URL.', {
    param: 'messages',
  });
}

/** Sends text alone as a string, for servers that do not support content parts. */
function encodeContent(message: Message): unknown {
  if (message.content.length === 0 && message.toolCalls && message.toolCalls.length > 0) return null;
  if (message.content.every((part) => part.type === 'text')) return getMessageText(message);
  return message.content.flatMap((part): readonly object[] => {
    switch (part.type) {
      case 'text':
        return [{ type: 'text', text: part.text }];
      case 'image':
        return [{ type: 'image_url', image_url: { url: requireDataUrl(part.url) } }];
      case 'document':
        return []; // converted to text earlier
    }
  });
}
