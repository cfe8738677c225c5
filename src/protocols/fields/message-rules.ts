import { CACHE_MARKS_MAX } from '../../core/limits.ts';
import { createFieldError } from '../parse.ts';
import type { WireMessage } from './message-schema.ts';
import type { FieldPathMapper } from './field-path-mapper.ts';
import { CONTENT_MISSING } from './parameter-texts.ts';

/**
 * Checks the order of messages and their tool calls. Prescribed texts: docs/wire/openai-compatible.md#errors.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkMessages(messages: readonly WireMessage[], toPath: FieldPathMapper): void {
  // Ids of the tool calls of the previous assistant message, while only tool messages have followed it.
  let pendingCallIds: ReadonlySet<string> = NO_CALLS;
  for (const [index, message] of messages.entries()) {
    const path = toPath(`messages[${index}]`);
    switch (message.role) {
      case 'tool':
        if (pendingCallIds === NO_CALLS) throw createFieldError(path, ORPHANED_RESULT);
        if (!pendingCallIds.has(message.tool_call_id))
          throw createFieldError(`${path}.tool_call_id`, `${ORPHANED_RESULT} that has its id`);
        break;
      case 'assistant':
        checkAssistant(message, path, index === messages.length - 1);
        pendingCallIds = message.tool_calls?.length ? new Set(message.tool_calls.map(({ id }) => id)) : NO_CALLS;
        break;
      case 'system':
      case 'developer':
      case 'user':
        pendingCallIds = NO_CALLS;
    }
  }
  checkCacheMarks(messages, toPath);
}

const NO_CALLS: ReadonlySet<string> = new Set();

/** Prescribed text: docs/wire/openai-compatible.md#errors. */
const ORPHANED_RESULT = 'messages with role "tool" must be a response to a preceding message with "tool_calls"';

function checkAssistant(
  { content, tool_calls: calls, partial }: Extract<WireMessage, { readonly role: 'assistant' }>,
  path: string,
  isLast: boolean,
): void {
  if (!calls?.length && (content === undefined || content === null))
    throw createFieldError(`${path}.content`, CONTENT_MISSING);
  if (partial && calls?.length)
    throw createFieldError(`${path}.partial`, 'A message with tool_calls cannot be partial');
  if (partial && !isLast) throw createFieldError(`${path}.partial`, 'Only the last message may be partial');
}

function checkCacheMarks(messages: readonly WireMessage[], toPath: FieldPathMapper): void {
  let marks = 0;
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [position, part] of content.entries()) {
      if (part.type !== 'text' || !part.cache_control || ++marks <= CACHE_MARKS_MAX) continue;
      throw createFieldError(
        toPath(`messages[${index}].content[${position}].cache_control`),
        `cache_control is allowed on at most ${CACHE_MARKS_MAX} parts of a request`,
      );
    }
  }
}
