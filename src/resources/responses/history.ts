import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Item } from '../../core/item.ts';
import { HISTORY_BYTES_MAX, HISTORY_ITEMS_MAX, HISTORY_LINKS_MAX } from './limits.ts';
import type { ResponseSummary } from '../../store/responses.ts';
import type { Tables } from '../../store/store.ts';
import { throwConversationNotFound, throwResponseNotFound } from '../conversations/not-found.ts';
import type { Turn, TurnRequest } from './response.ts';

type History = Pick<Turn, 'history' | 'olderItems'>;

/**
 * Reads the earlier items of a conversation or a response chain, from the newest backwards, as many as a prompt could
 * hold.
 * @throws ServiceError `not-found` that names the missing conversation or response.
 */
export async function readHistory(
  tables: Tables,
  owner: Owner,
  { conversation, previous }: Pick<TurnRequest, 'conversation' | 'previous'>,
): Promise<History> {
  if (conversation !== undefined) {
    if (!(await tables.conversations.find(owner, conversation))) throwConversationNotFound(conversation);
    return readConversation(tables, owner, conversation, {
      itemsLeft: HISTORY_ITEMS_MAX,
      bytesLeft: HISTORY_BYTES_MAX,
    });
  }
  return previous === undefined ? { history: [], olderItems: 0 } : readChain(tables, owner, previous);
}

interface HistoryBudget {
  readonly itemsLeft: number;
  readonly bytesLeft: number;
}

async function readConversation(
  { items }: Tables,
  owner: Owner,
  container: string,
  { itemsLeft, bytesLeft, before }: HistoryBudget & { readonly before?: number | undefined },
): Promise<History> {
  const bounds = { itemsMax: itemsLeft, bytesMax: bytesLeft, before };
  const { items: history, older } = await items.readTail({ ...owner, container }, bounds);
  return { history, olderItems: older };
}

async function readChain(tables: Tables, owner: Owner, newest: string): Promise<History> {
  const readLinks = () => tables.responses.listChain(owner, newest, HISTORY_LINKS_MAX);
  const links = await readLinks();
  if (links.length === 0) await throwIfUnfinished(tables, owner, newest);
  throwIfMissing(links, newest);
  /** A response's items are deleted with it: if some are missing, it was deleted during the read. */
  const checkComplete = async (read: number, expected: number): Promise<void> => {
    if (read !== expected) throwIfMissing(await readLinks(), newest);
  };

  let itemsLeft = HISTORY_ITEMS_MAX;
  let bytesLeft = HISTORY_BYTES_MAX;
  const completeIds: string[] = [];
  for (const { id, itemCount, itemBytes } of links) {
    if (itemCount > itemsLeft || itemBytes > bytesLeft) break;
    itemsLeft -= itemCount;
    bytesLeft -= itemBytes;
    completeIds.unshift(id);
  }
  const newerItems = await tables.items.listAll(owner, completeIds);
  await checkComplete(newerItems.length, HISTORY_ITEMS_MAX - itemsLeft);
  const [partial, ...unreadLinks] = links.slice(completeIds.length);
  const root = links.at(-1);
  if (partial) {
    const { history, olderItems } = await readConversation(tables, owner, partial.id, { itemsLeft, bytesLeft });
    await checkComplete(history.length + olderItems, partial.itemCount);
    const unread = olderItems + unreadLinks.reduce((sum, { itemCount }) => sum + itemCount, 0);
    return { history: [...history, ...newerItems], olderItems: unread + (await countBefore(tables, owner, root)) };
  }
  // The chain continues with the conversation in which its first response was created.
  const { history, olderItems } = await readBefore(tables, owner, root, { itemsLeft, bytesLeft });
  return { history: [...history, ...newerItems], olderItems };
}

async function throwIfUnfinished({ background }: Tables, owner: Owner, id: string): Promise<void> {
  const run = await background.find(owner, id);
  if (!run) return;
  const why = run.endedAt === undefined ? 'has no answer yet' : 'ended without an answer';
  throw new ServiceError(
    'invalid-request',
    `Response '${id}' ${why} (${run.state}): only a response with an answer can be continued.`,
    {
      param: 'previous_response_id',
    },
  );
}

/** Checks that a chain reaches its first response, or stops because it is longer than HISTORY_LINKS_MAX. */
function throwIfMissing(links: readonly ResponseSummary[], newest: string): void {
  const oldest = links.at(-1);
  if (!oldest) throwResponseNotFound(newest);
  else if (oldest.previous !== undefined && links.length < HISTORY_LINKS_MAX) throwResponseNotFound(oldest.previous);
}

const EMPTY_HISTORY: { readonly history: readonly Item[]; readonly olderItems: number } = {
  history: [],
  olderItems: 0,
};

async function readBefore(
  tables: Tables,
  owner: Owner,
  root: ResponseSummary | undefined,
  budget: HistoryBudget,
): Promise<History> {
  const { conversation } = root ?? {};
  if (conversation?.from === undefined) return EMPTY_HISTORY;
  return readConversation(tables, owner, conversation.id, { ...budget, before: conversation.from });
}

async function countBefore({ items }: Tables, owner: Owner, root: ResponseSummary | undefined): Promise<number> {
  const { conversation } = root ?? {};
  if (conversation?.from === undefined) return 0;
  return items.countBefore({ ...owner, container: conversation.id }, conversation.from);
}
