import type { Owner } from '../../core/context.ts';
import type { Item, ItemPage, ItemPageWish, Metadata } from '../../core/item.ts';

export interface Conversation {
  readonly id: string;
  /** UTC milliseconds. */
  readonly createdAt: number;
  readonly metadata: Metadata;
}

/**
 * Conversations of one workspace in one region; anybody else's are not there.
 *
 * Every method that takes an id throws ServiceError `not-found` when there is no such conversation, or no such item in it;
 * `invalid-request` when `after` names no item of it. What was answered is on the disk.
 */
export interface Conversations {
  create(
    owner: Owner,
    draft: { readonly items: readonly Item[]; readonly metadata: Metadata },
  ): Promise<Conversation>;
  find(owner: Owner, id: string): Promise<Conversation>;
  /** The new metadata takes the place of all there was. */
  update(owner: Owner, id: string, metadata: Metadata): Promise<Conversation>;
  /** With its items. Responses made in it stay. */
  delete(owner: Owner, id: string): Promise<void>;
  /** Behind what is there, in their order, all or none. */
  addItems(owner: Owner, id: string, items: readonly Item[]): Promise<void>;
  listItems(owner: Owner, id: string, page: ItemPageWish): Promise<ItemPage>;
  findItem(owner: Owner, id: string, item: string): Promise<Item>;
  /** @returns the conversation, which is what stays. */
  deleteItem(owner: Owner, id: string, item: string): Promise<Conversation>;
}
