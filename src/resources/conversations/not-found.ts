import { ServiceError } from '../../core/error.ts';

/**
 * Limits and sanitizes an id from a request path, which may hold any text. Messages follow
 * docs/wire/openai-compatible.md#conversations.
 */
const shorten = (id: string): string => id.slice(0, 80).toWellFormed();

export function throwConversationNotFound(id: string): never {
  throw new ServiceError('not-found', `Conversation with id '${shorten(id)}' not found.`);
}

export function throwItemNotFound(id: string, conversation: string): never {
  throw new ServiceError(
    'not-found',
    `Item with id '${shorten(id)}' not found in conversation '${shorten(conversation)}'.`,
  );
}

export function throwResponseNotFound(id: string): never {
  throw new ServiceError('not-found', `Response with id '${shorten(id)}' not found.`);
}

/** Rejects a list cursor that names no item of the list. */
export function throwInvalidCursor(after: string): never {
  throw new ServiceError('invalid-request', `after must be the id of an item of this list, got '${shorten(after)}'.`, {
    param: 'after',
  });
}
