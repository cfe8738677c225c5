import type { Conversation } from '../../../resources/conversations/conversation.ts';
import { encodeMetadata } from '../metadata.ts';

/**
 * Encodes a conversation. `created_at` is in milliseconds, unlike other compatible objects
 * (docs/wire/openai-compatible.md#conversations).
 */
export const encodeConversation = ({ id, createdAt, metadata }: Conversation): object => ({
  id,
  object: 'conversation',
  created_at: createdAt,
  metadata: encodeMetadata(metadata),
});

export const encodeConversationDeleted = (id: string): object => ({
  id,
  object: 'conversation.deleted',
  deleted: true,
});

/** Encodes a deleted item with both the documented fields and those of the official SDK's type. */
export const encodeItemDeleted = (conversation: Conversation): object => ({
  ...encodeConversation(conversation),
  object: 'conversation.item.deleted',
  deleted: true,
});
