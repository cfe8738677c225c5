import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Item } from '../../core/item.ts';
import { HISTORY_BYTES_MAX, HISTORY_ITEMS_MAX, HISTORY_LINKS_MAX } from '../../core/limits.ts';
import type { ResponseLink } from '../../store/responses.ts';
import type { Tables } from '../../store/store.ts';
import { noConversation, noResponse } from '../conversations/not-there.ts';
import type { Turn, TurnWish } from './response.ts';

type History = Pick<Turn, 'history' | 'olderItems'>;

/**
 * Everything that was said before, from the newest backwards as far as a prompt could hold it.
 * @throws ServiceError `not-found` naming what is not there.
 */
export async function readHistory(
  tables: Tables,
  owner: Owner,
  { conversation, previous }: Pick<TurnWish, 'conversation' | 'previous'>,
): Promise<History> {
  if (conversation !== undefined) {
    if (!(await tables.conversations.find(owner, conversation))) noConversation(conversation);
    return readConversation(tables, owner, conversation, {
      itemsLeft: HISTORY_ITEMS_MAX,
      bytesLeft: HISTORY_BYTES_MAX,
    });
  }
  return previous === undefined ? { history: [], olderItems: 0 } : readChain(tables, owner, previous);
}

interface Room {
  readonly itemsLeft: number;
  readonly bytesLeft: number;
}

async function readConversation(
  { items }: Tables,
  owner: Owner,
  container: string,
  { itemsLeft, bytesLeft, before }: Room & { readonly before?: number | undefined },
): Promise<History> {
  const bounds = { itemsMax: itemsLeft, bytesMax: bytesLeft, before };
  const { items: history, older } = await items.tail({ ...owner, container }, bounds);
  return { history, olderItems: older };
}

async function readChain(tables: Tables, owner: Owner, newest: string): Promise<History> {
  const follow = () => tables.responses.chain(owner, newest, HISTORY_LINKS_MAX);
  const links = await follow();
  if (links.length === 0) await refuseRun(tables, owner, newest);
  refuseGap(links, newest);
  /** Items of a response go with it and never alone: where some are missing, it was deleted while they were read. */
  const refuseLoss = async (read: number, expected: number): Promise<void> => {
    if (read !== expected) refuseGap(await follow(), newest);
  };

  let itemsLeft = HISTORY_ITEMS_MAX;
  let bytesLeft = HISTORY_BYTES_MAX;
  const whole: string[] = [];
  for (const { id, itemCount, itemBytes } of links) {
    if (itemCount > itemsLeft || itemBytes > bytesLeft) break;
    itemsLeft -= itemCount;
    bytesLeft -= itemBytes;
    whole.unshift(id);
  }
  const newer = await tables.items.all(owner, whole);
  await refuseLoss(newer.length, HISTORY_ITEMS_MAX - itemsLeft);
  const [edge, ...beyond] = links.slice(whole.length);
  const root = links.at(-1);
  if (edge) {
    const { history, olderItems } = await readConversation(tables, owner, edge.id, { itemsLeft, bytesLeft });
    await refuseLoss(history.length + olderItems, edge.itemCount);
    const unread = olderItems + beyond.reduce((sum, { itemCount }) => sum + itemCount, 0);
    return { history: [...history, ...newer], olderItems: unread + (await countBefore(tables, owner, root)) };
  }
  // What a response was made in a conversation with is part of what it goes on from.
  const { history, olderItems } = await readBefore(tables, owner, root, { itemsLeft, bytesLeft });
  return { history: [...history, ...newer], olderItems };
}

async function refuseRun({ background }: Tables, owner: Owner, id: string): Promise<void> {
  const run = await background.find(owner, id);
  if (!run) return;
  const why = run.endedAt === undefined ? 'has no answer yet' : 'ended without an answer';
  throw new ServiceError('invalid-request', `Response '${id}' ${why} (${run.state}): there is nothing to go on from.`, {
    param: 'previous_response_id',
  });
}

/** A chain ends with a response that goes on from none, or where it is too long to be followed. */
function refuseGap(links: readonly ResponseLink[], newest: string): void {
  const oldest = links.at(-1);
  if (!oldest) noResponse(newest);
  else if (oldest.previous !== undefined && links.length < HISTORY_LINKS_MAX) noResponse(oldest.previous);
}

const NOTHING: { readonly history: readonly Item[]; readonly olderItems: number } = { history: [], olderItems: 0 };

async function readBefore(tables: Tables, owner: Owner, root: ResponseLink | undefined, room: Room): Promise<History> {
  const { conversation } = root ?? {};
  if (conversation?.from === undefined) return NOTHING;
  return readConversation(tables, owner, conversation.id, { ...room, before: conversation.from });
}

async function countBefore({ items }: Tables, owner: Owner, root: ResponseLink | undefined): Promise<number> {
  const { conversation } = root ?? {};
  if (conversation?.from === undefined) return 0;
  return items.count({ ...owner, container: conversation.id }, conversation.from);
}
