import type { Conversation } from '../../../resources/conversations/conversation.ts';
import { encodeMetadata } from '../metadata-of.ts';

/** wire.md E6.1: milliseconds here, where the official service has seconds. */
export const encodeConversation = ({ id, createdAt, metadata }: Conversation): object => ({
  id,
  object: 'conversation',
  created_at: createdAt,
  metadata: encodeMetadata(metadata),
});

export const encodeDeleted = (id: string): object => ({ id, object: 'conversation.deleted', deleted: true });

/** wire.md E6.1: what the service's documentation says and what the official SDK's type says, in one object. */
export const encodeItemDeleted = (conversation: Conversation): object => ({
  ...encodeConversation(conversation),
  object: 'conversation.item.deleted',
  deleted: true,
});
