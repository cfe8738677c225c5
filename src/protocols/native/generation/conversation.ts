import type { ModelEntry } from '../../../catalogue/model.ts';
import type { WireMessage, WirePart } from '../../fields/message-schema.ts';
import { CONTENT, CONTENT_MISSING } from '../../fields/texts.ts';
import { refuse } from '../../parse.ts';
import { place } from './place.ts';
import { OTHER_BLOCKS } from './schema.ts';
import type { InputWire, NativeMessage, NativePart } from './schema.ts';

/**
 * What was said so far, in the shared form: messages, and behind them the prompt, as clients put the two together
 * themselves. An empty prompt is one that was not set. A history is the old form of messages and goes with a prompt alone.
 *
 * @throws ServiceError `invalid-request` naming what the model does not take, or that there is nothing.
 */
export function conversation(input: InputWire, entry: ModelEntry): WireMessage[] {
  const { messages, prompt, history } = input;
  if (!messages && !prompt)
    // wire.md 1.7.
    throw refuse('input', 'Either "prompt" or "messages" must exist and cannot both be none');
  return [
    ...(messages?.map((message, index) => toShared(message, place(`messages[${index}]`), entry)) ??
      history?.flatMap(turnMessages) ??
      []),
    ...(prompt ? [{ role: 'user' as const, content: prompt }] : []),
  ];
}

/** Either half of a turn may be missing. */
function turnMessages({ user, bot }: NonNullable<InputWire['history']>[number]): WireMessage[] {
  return [
    ...(user ? [{ role: 'user' as const, content: user }] : []),
    ...(bot ? [{ role: 'assistant' as const, content: bot }] : []),
  ];
}

function toShared(message: NativeMessage, at: string, entry: ModelEntry): WireMessage {
  const content = toContent(message.content, `${at}.content`, entry);
  if (message.role === 'assistant') return { ...message, content };
  if (content === null) throw refuse(`${at}.content`, CONTENT_MISSING);
  return { ...message, content };
}

/** Null where nothing is said: our own answers have an empty list beside calls. */
function toContent(content: NativeMessage['content'], at: string, entry: ModelEntry): string | WirePart[] | null {
  if (typeof content === 'string') return content;
  if (!content || content.length === 0) return null;
  return content.map((part, index) => toPart(part, `${at}[${index}]`, entry));
}

function toPart(part: NativePart, at: string, entry: ModelEntry): WirePart {
  const { type, text, image, image_url: imageUrl, cache_control } = part;
  // Where nobody has said yet whether it sees, generation decides when its engine has.
  const sees = entry.abilities.vision !== false;
  const takes = `The model ${entry.name} takes ${sees ? 'text and images' : 'text'} only`;
  const other = OTHER_BLOCKS.find((block) => part[block] !== undefined && part[block] !== null);
  if (other !== undefined) throw refuse(`${at}.${other}`, `${CONTENT} ${takes}`);
  const url = image ?? imageUrl?.url;
  const isText = typeof text === 'string' && url === undefined && (type ?? 'text') === 'text';
  if (isText) return { type: 'text', text, cache_control };
  const isImage = typeof url === 'string' && typeof text !== 'string' && (!type || type.startsWith('image'));
  if (isImage && sees) return { type: 'image_url', image_url: { url } };
  throw refuse(at, `${CONTENT} ${takes}`);
}
