import { ServiceError } from '../../core/error.ts';

/** wire.md E6.1. An id may be anything a caller put into a path: its beginning says which it was. */
const shown = (id: string): string => id.slice(0, 80).toWellFormed();

export function noConversation(id: string): never {
  throw new ServiceError('not-found', `Conversation with id '${shown(id)}' not found.`);
}

export function noItem(id: string, conversation: string): never {
  throw new ServiceError(
    'not-found',
    `Item with id '${shown(id)}' not found in conversation '${shown(conversation)}'.`,
  );
}

export function noResponse(id: string): never {
  throw new ServiceError('not-found', `Response with id '${shown(id)}' not found.`);
}

/** Of a list: what `after` names is none of its items. */
export function notInList(after: string): never {
  throw new ServiceError('invalid-request', `after must be the id of an item of this list, got '${shown(after)}'.`, {
    param: 'after',
  });
}
