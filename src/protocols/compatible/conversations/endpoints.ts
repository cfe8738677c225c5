import { ServiceError } from '../../../core/error.ts';
import type { Ids } from '../../../core/id.ts';
import { CONVERSATION_ITEMS_MAX } from '../../../core/limits.ts';
import type { Conversations } from '../../../resources/conversations/conversation.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { missing, parseBody } from '../../parse.ts';
import { encodeItem, encodeItemList, itemPageOf } from '../items/item-list.ts';
import { itemsOf } from '../items/items-of.ts';
import { resolveReferences } from '../items/resolve-references.ts';
import { metadataOf, requiredMetadataOf } from '../metadata-of.ts';
import { encodeConversation, encodeDeleted, encodeItemDeleted } from './encode.ts';
import { AddBody, CreateBody, UpdateBody } from './schema.ts';

export interface ConversationsEndpointNeeds {
  readonly conversations: Conversations;
  /** Items that a reference may name. */
  readonly responses: Pick<Responses, 'findItems'>;
  readonly ids: Ids;
  readonly strict?: boolean;
}

const shared = { family: 'compatible', regions: INTERFACES.conversations.regions } as const;
const reads = { ...shared, method: 'GET', onDisconnect: 'cancel' } as const;
const writes = { ...shared, method: 'POST', onDisconnect: 'finish' } as const;
const removes = { ...shared, method: 'DELETE', onDisconnect: 'finish' } as const;

const ALL = '/compatible-mode/v1/conversations';
const ONE = `${ALL}/:id`;
const ITEMS = `${ONE}/items`;
const ITEM = `${ITEMS}/:item`;

/** Specification, E6, and wire.md E6.1: conversations and their items. */
export function conversationEndpoints(needs: ConversationsEndpointNeeds): readonly Endpoint[] {
  return [...ofConversations(needs), ...ofItems(needs)];
}

function ofConversations({ conversations, ids, strict = false }: ConversationsEndpointNeeds): readonly Endpoint[] {
  return [
    {
      ...writes,
      operation: 'conversations.create',
      path: ALL,
      async handle({ body = {} }, { owner }) {
        const { wire, unknown } = parseBody(CreateBody, body, { strict });
        const rules = { ids, at: 'items', kinds: 'messages', max: CONVERSATION_ITEMS_MAX } as const;
        const items = isSet(wire.items) ? itemsOf(wire.items, rules) : [];
        const metadata = metadataOf(wire.metadata, 'metadata');
        const conversation = await conversations.create(owner, { items, metadata });
        return json(encodeConversation(conversation), ignoredHeader(unknown));
      },
    },
    {
      ...reads,
      operation: 'conversations.get',
      path: ONE,
      handle: async ({ params: { id = '' } }, { owner }) =>
        json(encodeConversation(await conversations.find(owner, id))),
    },
    {
      ...writes,
      operation: 'conversations.update',
      path: ONE,
      async handle({ body = {}, params: { id = '' } }, { owner }) {
        const { wire, unknown } = parseBody(UpdateBody, body, { strict });
        const metadata = requiredMetadataOf(wire.metadata, 'metadata');
        return json(encodeConversation(await conversations.update(owner, id, metadata)), ignoredHeader(unknown));
      },
    },
    {
      ...removes,
      operation: 'conversations.delete',
      path: ONE,
      async handle({ params: { id = '' } }, { owner }) {
        await conversations.delete(owner, id);
        return json(encodeDeleted(id));
      },
    },
  ];
}

function ofItems({ conversations, responses, ids, strict = false }: ConversationsEndpointNeeds): readonly Endpoint[] {
  return [
    {
      ...writes,
      operation: 'conversations.items.create',
      path: ITEMS,
      async handle({ body = {}, params: { id = '' } }, { owner }) {
        const { wire, unknown } = parseBody(AddBody, body, { strict });
        if (!isSet(wire.items)) throw new ServiceError('invalid-request', missing('items'), { param: 'items' });
        const find = (names: readonly string[]) => responses.findItems(owner, names);
        // What is refused for its length is not looked up before.
        const isShort = Array.isArray(wire.items) && wire.items.length <= CONVERSATION_ITEMS_MAX;
        const given = isShort ? await resolveReferences(wire.items, { at: 'items', find }) : wire.items;
        const items = itemsOf(given, { ids, at: 'items', kinds: 'all', max: CONVERSATION_ITEMS_MAX });
        await conversations.addItems(owner, id, items);
        return json(encodeItemList(items, { hasMore: false }), ignoredHeader(unknown));
      },
    },
    {
      ...reads,
      operation: 'conversations.items.list',
      path: ITEMS,
      async handle({ params: { id = '' }, query }, { owner }) {
        const { wish, unknown } = itemPageOf(query, { strict });
        const { items, hasMore } = await conversations.listItems(owner, id, wish);
        return json(encodeItemList(items, { hasMore }), ignoredHeader(unknown));
      },
    },
    {
      ...reads,
      operation: 'conversations.items.get',
      path: ITEM,
      handle: async ({ params: { id = '', item = '' } }, { owner }) =>
        json(encodeItem(await conversations.findItem(owner, id, item))),
    },
    {
      ...removes,
      operation: 'conversations.items.delete',
      path: ITEM,
      handle: async ({ params: { id = '', item = '' } }, { owner }) =>
        json(encodeItemDeleted(await conversations.deleteItem(owner, id, item))),
    },
  ];
}

const isSet = (wire: unknown): boolean => wire !== undefined && wire !== null;
