import type { Message } from '../core/message.ts';

/**
 * Converts later system messages to user text, for templates that allow system text only at the beginning. Agents send
 * such messages. The text is joined with a neighboring user message, so that roles still alternate.
 *
 * @returns undefined when there is no later system message.
 */
export function moveLateSystemToUser(messages: readonly Message[]): readonly Message[] | undefined {
  const firstOtherIndex = messages.findIndex(({ role }) => !isSystem(role));
  const isLate = ({ role }: Message, index: number): boolean => index > firstOtherIndex && isSystem(role);
  if (firstOtherIndex < 0 || !messages.some(isLate)) return undefined;
  const merged: Message[] = [];
  let isAppended = false;
  for (const [index, message] of messages.entries()) {
    const wasLate = isAppended;
    isAppended = isLate(message, index);
    const last = merged.at(-1);
    if (!isAppended && !(wasLate && message.role === 'user')) merged.push(message);
    else if (last?.role === 'user')
      merged[merged.length - 1] = { ...last, content: [...last.content, PARAGRAPH_BREAK, ...message.content] };
    else merged.push({ role: 'user', content: message.content });
  }
  return merged;
}

/**
 * Moves the system text at the beginning to the start of the first user message, for templates without system messages
 * (Gemma 2).
 *
 * @returns undefined when there is no system message, when one comes later, or when there is no user message.
 */
export function moveSystemToUser(messages: readonly Message[]): readonly Message[] | undefined {
  const system = messages.filter(({ role }) => isSystem(role));
  const others = messages.filter(({ role }) => !isSystem(role));
  const at = others.findIndex(({ role }) => role === 'user');
  const user = others[at];
  if (system.length === 0 || !user || moveLateSystemToUser(messages)) return undefined;
  const content = [...system.flatMap((message) => [...message.content, PARAGRAPH_BREAK]), ...user.content];
  return others.with(at, { ...user, content });
}

const isSystem = (role: Message['role']): boolean => role === 'system' || role === 'developer';

const PARAGRAPH_BREAK = { type: 'text', text: '\n\n' } as const;
