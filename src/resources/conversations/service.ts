import type { Owner } from '../../core/context.ts';
import { type IdGenerator, systemIdGenerator } from '../../core/id.ts';
import { ITEM_PAGE_BYTES_MAX } from '../limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ConversationRecord } from '../../store/conversations.ts';
import type { ItemContainer } from '../../store/items.ts';
import type { Store } from '../../store/store.ts';
import type { Conversation, Conversations } from './conversation.ts';
import { throwConversationNotFound, throwItemNotFound, throwInvalidCursor } from './not-found.ts';
import { removeConversation } from './remove.ts';
import { checkItems, checkMetadata } from './rules.ts';

export interface ConversationsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids?: IdGenerator;
}

export function createConversations({ store, clock, ids = systemIdGenerator }: ConversationsDeps): Conversations {
  const find = async (owner: Owner, id: string): Promise<Conversation> =>
    toConversation((await store.conversations.find(owner, id)) ?? throwConversationNotFound(id));

  return {
    find,

    async create({ region, workspace }, { items, metadata }) {
      checkItems(items);
      checkMetadata(metadata);
      const id = ids.createSortableId('conv_');
      const record = { id, region, workspace, createdAt: clock.now(), metadata };
      await store.transaction(async (tables) => {
        await tables.conversations.insert(record, { nextPosition: items.length });
        await tables.items.insert({ region, workspace, container: id }, items, { position: 0 });
      });
      return toConversation(record);
    },

    async update(owner, id, metadata) {
      checkMetadata(metadata);
      const record = await store.conversations.setMetadata(owner, id, metadata, clock.now());
      return toConversation(record ?? throwConversationNotFound(id));
    },

    async delete(owner, id) {
      if (!(await removeConversation(store, { ...owner, id }))) throwConversationNotFound(id);
    },

    async addItems(owner, id, items) {
      checkItems(items);
      await store.transaction(async (tables) => {
        const { first } =
          (await tables.conversations.extend(owner, id, items.length, clock.now())) ?? throwConversationNotFound(id);
        await tables.items.insert(getContainer(owner, id), items, { position: first });
      });
    },

    async listItems(owner, id, query) {
      await find(owner, id);
      const page = await store.items.readPage(getContainer(owner, id), { ...query, bytesMax: ITEM_PAGE_BYTES_MAX });
      return page ?? throwInvalidCursor(query.after ?? '');
    },

    async findItem(owner, id, item) {
      await find(owner, id);
      return (await store.items.find(getContainer(owner, id), item)) ?? throwItemNotFound(item, id);
    },

    deleteItem: (owner, id, item) =>
      store.transaction(
        async ({ conversations, items }) => {
          const { record } = (await conversations.extend(owner, id, 0, clock.now())) ?? throwConversationNotFound(id);
          if (!(await items.remove(getContainer(owner, id), item))) throwItemNotFound(item, id);
          return toConversation(record);
        },
        { usesReserve: true },
      ),
  };
}

const getContainer = ({ region, workspace }: Owner, container: string): ItemContainer => ({
  region,
  workspace,
  container,
});

const toConversation = ({ id, createdAt, metadata }: ConversationRecord): Conversation => ({
  id,
  createdAt,
  metadata,
});
