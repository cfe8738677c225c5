import type { Owner } from '../../core/context.ts';
import type { Item, ItemPage, ItemPageQuery, Metadata } from '../../core/item.ts';

export interface Conversation {
  readonly id: string;
  /** UTC milliseconds. */
  readonly createdAt: number;
  readonly metadata: Metadata;
}

/**
 * Conversations of one workspace in one region; an id of another workspace or region is not found. Changes are durable
 * when the promise resolves.
 *
 * Every method that takes an id throws ServiceError `not-found` if the conversation, or the item in it, does not exist,
 * and `invalid-request` if `after` names no item of the conversation.
 */
export interface Conversations {
  create(owner: Owner, draft: { readonly items: readonly Item[]; readonly metadata: Metadata }): Promise<Conversation>;
  find(owner: Owner, id: string): Promise<Conversation>;
  /** Replaces all metadata. */
  update(owner: Owner, id: string, metadata: Metadata): Promise<Conversation>;
  /** Deletes the conversation with its items. Responses that were created in it stay. */
  delete(owner: Owner, id: string): Promise<void>;
  /** Appends all items in the given order, or none. */
  addItems(owner: Owner, id: string, items: readonly Item[]): Promise<void>;
  listItems(owner: Owner, id: string, page: ItemPageQuery): Promise<ItemPage>;
  findItem(owner: Owner, id: string, item: string): Promise<Item>;
  /** @returns the conversation without the item. */
  deleteItem(owner: Owner, id: string, item: string): Promise<Conversation>;
}
