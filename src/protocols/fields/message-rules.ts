import { CACHE_MARKS_MAX } from '../../core/limits.ts';
import { refuse } from '../parse.ts';
import type { WireMessage } from './message-schema.ts';
import type { Place } from './place.ts';
import { CONTENT_MISSING } from './texts.ts';

/**
 * What messages must be to each other, with the texts of wire.md 1.7 where it has them.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkMessages(messages: readonly WireMessage[], place: Place): void {
  // Calls of the assistant message before, while nothing but their results has come since.
  let open: ReadonlySet<string> = NO_CALLS;
  for (const [index, message] of messages.entries()) {
    const at = place(`messages[${index}]`);
    switch (message.role) {
      case 'tool':
        if (open === NO_CALLS) throw refuse(at, ORPHAN);
        if (!open.has(message.tool_call_id)) throw refuse(`${at}.tool_call_id`, `${ORPHAN} that has its id`);
        break;
      case 'assistant':
        checkAssistant(message, at, index === messages.length - 1);
        open = message.tool_calls?.length ? new Set(message.tool_calls.map(({ id }) => id)) : NO_CALLS;
        break;
      case 'system':
      case 'developer':
      case 'user':
        open = NO_CALLS;
    }
  }
  checkCacheMarks(messages, place);
}

const NO_CALLS: ReadonlySet<string> = new Set();

/** wire.md 1.7. */
const ORPHAN = 'messages with role "tool" must be a response to a preceding message with "tool_calls"';

function checkAssistant(
  { content, tool_calls: calls, partial }: Extract<WireMessage, { readonly role: 'assistant' }>,
  at: string,
  isLast: boolean,
): void {
  if (!calls?.length && (content === undefined || content === null)) throw refuse(`${at}.content`, CONTENT_MISSING);
  if (partial && calls?.length) throw refuse(`${at}.partial`, 'A message with tool_calls cannot be partial');
  if (partial && !isLast) throw refuse(`${at}.partial`, 'Only the last message may be partial');
}

function checkCacheMarks(messages: readonly WireMessage[], place: Place): void {
  let marks = 0;
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [position, part] of content.entries()) {
      if (part.type !== 'text' || !part.cache_control || ++marks <= CACHE_MARKS_MAX) continue;
      throw refuse(
        place(`messages[${index}].content[${position}].cache_control`),
        `cache_control must stand on at most ${CACHE_MARKS_MAX} parts of a request`,
      );
    }
  }
}
