import type { Owner } from '../../../core/context.ts';
import type { FindDocument } from '../../../core/document.ts';
import type { IdGenerator } from '../../../core/id.ts';
import type { Item } from '../../../core/item.ts';
import { CONVERSATION_ITEMS_MAX } from '../../../core/limits.ts';
import { isDefined } from '../../../lib/omit-nullish.ts';
import type { Conversations } from '../../../resources/conversations/conversation.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { createMissingParameterError, parseBody } from '../../parse.ts';
import { encodeItem, encodeItemList, decodeItemPageQuery } from '../items/item-list.ts';
import { createItems } from '../items/create-items.ts';
import { checkFileReferences } from '../items/check-file-references.ts';
import { parseStoredItem } from '../items/stored-item.ts';
import { listIgnoredParts } from '../items/list-ignored-parts.ts';
import { resolveReferences } from '../items/resolve-references.ts';
import { decodeMetadata, decodeRequiredMetadata } from '../metadata.ts';
import { encodeConversation, encodeConversationDeleted, encodeItemDeleted } from './encode.ts';
import { AddBody, CreateBody, UpdateBody } from './schema.ts';

export interface ConversationsEndpointDeps {
  readonly conversations: Conversations;
  /** Finds the items that a reference may name. */
  readonly responses: Pick<Responses, 'findItems'>;
  readonly ids: IdGenerator;
  readonly findDocument: FindDocument;
  /** Returns whether any model that reads conversations can see pictures. */
  readonly canSee: () => boolean;
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

/** Creates the endpoints of conversations and their items (docs/wire/openai-compatible.md#conversations). */
export function createConversationEndpoints(deps: ConversationsEndpointDeps): readonly Endpoint[] {
  return [...createConversationRoutes(deps), ...createItemRoutes(deps)];
}

function createConversationRoutes({
  conversations,
  findDocument,
  ids,
  canSee,
  strict = false,
}: ConversationsEndpointDeps): readonly Endpoint[] {
  return [
    {
      ...writes,
      operation: 'conversations.create',
      path: ALL,
      async handle({ body = {} }, { owner }) {
        const { wire, unknown } = parseBody(CreateBody, body, { strict });
        const rules = { ids, field: 'items', kinds: 'messages', max: CONVERSATION_ITEMS_MAX } as const;
        const items = isDefined(wire.items) ? createItems(wire.items, rules) : [];
        await checkFiles(items, owner, findDocument);
        const metadata = decodeMetadata(wire.metadata, 'metadata');
        const conversation = await conversations.create(owner, { items, metadata });
        const ignored = listIgnoredParts(items, { field: 'items', canSee: canSee() });
        return createJsonReply(encodeConversation(conversation), encodeIgnoredHeader([...unknown, ...ignored]));
      },
    },
    {
      ...reads,
      operation: 'conversations.get',
      path: ONE,
      handle: async ({ params: { id = '' } }, { owner }) =>
        createJsonReply(encodeConversation(await conversations.find(owner, id))),
    },
    {
      ...writes,
      operation: 'conversations.update',
      path: ONE,
      async handle({ body = {}, params: { id = '' } }, { owner }) {
        const { wire, unknown } = parseBody(UpdateBody, body, { strict });
        const metadata = decodeRequiredMetadata(wire.metadata, 'metadata');
        return createJsonReply(
          encodeConversation(await conversations.update(owner, id, metadata)),
          encodeIgnoredHeader(unknown),
        );
      },
    },
    {
      ...removes,
      operation: 'conversations.delete',
      path: ONE,
      async handle({ params: { id = '' } }, { owner }) {
        await conversations.delete(owner, id);
        return createJsonReply(encodeConversationDeleted(id));
      },
    },
  ];
}

function createItemRoutes({
  conversations,
  findDocument,
  responses,
  ids,
  canSee,
  strict = false,
}: ConversationsEndpointDeps): readonly Endpoint[] {
  return [
    {
      ...writes,
      operation: 'conversations.items.create',
      path: ITEMS,
      async handle({ body = {}, params: { id = '' } }, { owner }) {
        const { wire, unknown } = parseBody(AddBody, body, { strict });
        if (!isDefined(wire.items)) throw createMissingParameterError('items');
        const find = (names: readonly string[]) => responses.findItems(owner, names);
        const list = { field: 'items', max: CONVERSATION_ITEMS_MAX } as const;
        const items = createItems(await resolveReferences(wire.items, { ...list, find }), {
          ...list,
          ids,
          kinds: 'all',
        });
        await checkFiles(items, owner, findDocument);
        await conversations.addItems(owner, id, items);
        const ignored = listIgnoredParts(items, { field: 'items', canSee: canSee() });
        const headers = encodeIgnoredHeader([...unknown, ...ignored]);
        return createJsonReply(encodeItemList(items, { hasMore: false }), headers);
      },
    },
    {
      ...reads,
      operation: 'conversations.items.list',
      path: ITEMS,
      async handle({ params: { id = '' }, query }, { owner }) {
        const { pageQuery, unknown } = decodeItemPageQuery(query, { strict });
        const { items, hasMore } = await conversations.listItems(owner, id, pageQuery);
        return createJsonReply(encodeItemList(items, { hasMore }), encodeIgnoredHeader(unknown));
      },
    },
    {
      ...reads,
      operation: 'conversations.items.get',
      path: ITEM,
      handle: async ({ params: { id = '', item = '' } }, { owner }) =>
        createJsonReply(encodeItem(await conversations.findItem(owner, id, item))),
    },
    {
      ...removes,
      operation: 'conversations.items.delete',
      path: ITEM,
      handle: async ({ params: { id = '', item = '' } }, { owner }) =>
        createJsonReply(encodeItemDeleted(await conversations.deleteItem(owner, id, item))),
    },
  ];
}

/** @throws ServiceError `invalid-request` naming a file that does not exist. */
const checkFiles = (items: readonly Item[], owner: Owner, findDocument: FindDocument): Promise<void> =>
  checkFileReferences(
    { instructions: '', items: items.map(parseStoredItem), field: 'items' },
    { owner, findDocument, isForLater: true },
  );
