import type { ModelEntry } from '../../../catalogue/model.ts';
import type { WireMessage, WirePart } from '../../fields/message-schema.ts';
import { CONTENT_NOT_STRING, CONTENT_MISSING } from '../../fields/parameter-texts.ts';
import { createFieldError } from '../../parse.ts';
import { toNativePath } from './to-native-path.ts';
import { UNSUPPORTED_BLOCKS, type InputWire, type NativeMessage, type NativePart } from './schema.ts';

/**
 * Converts the input to messages of the shared format: the messages, then the prompt as a user message, in the order
 * that client libraries use. An empty prompt counts as not set. `history` is the older form of messages, valid with a
 * prompt only.
 *
 * @throws ServiceError `invalid-request` naming a content type that the model does not accept, or an empty input.
 */
export function decodeConversation(input: InputWire, entry: ModelEntry): WireMessage[] {
  const { messages, prompt, history } = input;
  if (!messages && !prompt)
    // Vendor text (docs/wire/dashscope-native.md#errors).
    throw createFieldError('input', 'Either "prompt" or "messages" must exist and cannot both be none');
  return [
    ...(messages?.map((message, index) => toWireMessage(message, toNativePath(`messages[${index}]`), entry)) ??
      history?.flatMap(historyTurnToMessages) ??
      []),
    ...(prompt ? [{ role: 'user' as const, content: prompt }] : []),
  ];
}

/** Converts one turn of `history`; either half may be missing. */
function historyTurnToMessages({ user, bot }: NonNullable<InputWire['history']>[number]): WireMessage[] {
  return [
    ...(user ? [{ role: 'user' as const, content: user }] : []),
    ...(bot ? [{ role: 'assistant' as const, content: bot }] : []),
  ];
}

function toWireMessage(message: NativeMessage, path: string, entry: ModelEntry): WireMessage {
  const content = toContent(message.content, `${path}.content`, entry);
  if (message.role === 'assistant') return { ...message, content };
  if (content === null) throw createFieldError(`${path}.content`, CONTENT_MISSING);
  return { ...message, content };
}

/** Converts content; null for empty content. Parley's own answers have an empty list beside tool calls. */
function toContent(content: NativeMessage['content'], path: string, entry: ModelEntry): string | WirePart[] | null {
  if (typeof content === 'string') return content;
  if (!content || content.length === 0) return null;
  return content.map((part, index) => toPart(part, `${path}[${index}]`, entry));
}

function toPart(part: NativePart, path: string, entry: ModelEntry): WirePart {
  const { type, text, image, image_url: imageUrl, cache_control } = part;
  // Vision support is undefined until the engine has reported it; generation checks it then.
  const acceptsImages = entry.abilities.vision !== false;
  const rule = `The model ${entry.name} accepts ${acceptsImages ? 'text and images' : 'text'} only`;
  const unsupportedBlock = UNSUPPORTED_BLOCKS.find((block) => part[block] !== undefined && part[block] !== null);
  if (unsupportedBlock !== undefined)
    throw createFieldError(`${path}.${unsupportedBlock}`, `${CONTENT_NOT_STRING} ${rule}`);
  const url = image ?? imageUrl?.url;
  const isText = typeof text === 'string' && url === undefined && (type ?? 'text') === 'text';
  if (isText) return { type: 'text', text, cache_control };
  const isImage = typeof url === 'string' && typeof text !== 'string' && (!type || type.startsWith('image'));
  if (isImage && acceptsImages) return { type: 'image_url', image_url: { url } };
  throw createFieldError(path, `${CONTENT_NOT_STRING} ${rule}`);
}
