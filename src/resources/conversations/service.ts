import type { Owner } from '../../core/context.ts';
import { type Ids, systemIds } from '../../core/id.ts';
import { ITEM_PAGE_BYTES_MAX } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ConversationRecord } from '../../store/conversations.ts';
import type { Container } from '../../store/items.ts';
import type { Store } from '../../store/store.ts';
import type { Conversation, Conversations } from './conversation.ts';
import { noConversation, noItem, notInList } from './not-there.ts';
import { checkItems, checkMetadata } from './rules.ts';

export interface ConversationsNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids?: Ids;
}

export function createConversations({ store, clock, ids = systemIds }: ConversationsNeeds): Conversations {
  const find = async (owner: Owner, id: string): Promise<Conversation> =>
    toConversation((await store.conversations.find(owner, id)) ?? noConversation(id));

  return {
    find,

    async create({ region, workspace }, { items, metadata }) {
      checkItems(items);
      checkMetadata(metadata);
      const id = ids.sortable('conv_');
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
      return toConversation(record ?? noConversation(id));
    },

    delete: (owner, id) =>
      store.transaction(async ({ conversations, items }) => {
        if (!(await conversations.remove(owner, id))) noConversation(id);
        await items.clear(containerOf(owner, id));
      }),

    async addItems(owner, id, items) {
      checkItems(items);
      await store.transaction(async (tables) => {
        const { first } =
          (await tables.conversations.extend(owner, id, items.length, clock.now())) ?? noConversation(id);
        await tables.items.insert(containerOf(owner, id), items, { position: first });
      });
    },

    async listItems(owner, id, wish) {
      await find(owner, id);
      const page = await store.items.page(containerOf(owner, id), { ...wish, bytesMax: ITEM_PAGE_BYTES_MAX });
      return page ?? notInList(wish.after ?? '');
    },

    async findItem(owner, id, item) {
      await find(owner, id);
      return (await store.items.find(containerOf(owner, id), item)) ?? noItem(item, id);
    },

    deleteItem: (owner, id, item) =>
      store.transaction(async ({ conversations, items }) => {
        const { record } = (await conversations.extend(owner, id, 0, clock.now())) ?? noConversation(id);
        if (!(await items.remove(containerOf(owner, id), item))) noItem(item, id);
        return toConversation(record);
      }),
  };
}

const containerOf = ({ region, workspace }: Owner, container: string): Container => ({ region, workspace, container });

const toConversation = ({ id, createdAt, metadata }: ConversationRecord): Conversation => ({
  id,
  createdAt,
  metadata,
});
