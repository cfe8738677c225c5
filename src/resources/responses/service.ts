import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Item } from '../../core/item.ts';
import { ITEM_PAGE_BYTES_MAX } from '../../core/limits.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import { bytesOf } from '../../store/items.ts';
import type { Store, Tables } from '../../store/store.ts';
import { noResponse, notInList } from '../conversations/not-there.ts';
import { readHistory } from './history.ts';
import { takeLease } from './lease.ts';
import type { Responses, TurnRecord, TurnWish } from './response.ts';

export interface ResponsesNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly every?: Every;
}

export function createResponses({ store, clock, every = systemEvery }: ResponsesNeeds): Responses {
  const find = async (owner: Owner, id: string) => (await store.responses.find(owner, id)) ?? noResponse(id);

  return {
    async begin(owner, wish) {
      const { id, conversation, previous } = wish;
      assert(conversation === undefined || previous === undefined, 'a turn goes on from one thing');
      const leases = { conversations: store.conversations, clock, every };
      const lease = conversation === undefined ? undefined : await takeLease(leases, owner, { conversation, turn: id });
      try {
        const { history, olderItems } = await readHistory(store, owner, wish);
        let isOver = false;
        return {
          history,
          olderItems,
          async complete(record) {
            assert(!isOver, 'a turn ends once');
            isOver = true;
            lease?.stop();
            try {
              await store.transaction((tables) => keep(tables, owner, wish, record, clock.now()));
            } catch (error) {
              await lease?.release();
              throw error;
            }
          },
          async abandon() {
            if (isOver) return;
            isOver = true;
            await lease?.release();
          },
        };
      } catch (error) {
        await lease?.release();
        throw error;
      }
    },

    history: (owner, wish) => readHistory(store, owner, wish),

    async find(owner, id) {
      const { json } = await find(owner, id);
      return { id, json };
    },

    delete: (owner, id) =>
      store.transaction(async ({ responses, items }) => {
        if (!(await responses.remove(owner, id))) noResponse(id);
        await items.clear({ ...owner, container: id });
      }),

    async listInput(owner, id, wish) {
      await find(owner, id);
      const bounds = { ...wish, side: 'input', bytesMax: ITEM_PAGE_BYTES_MAX } as const;
      return (await store.items.page({ ...owner, container: id }, bounds)) ?? notInList(wish.after ?? '');
    },

    findItems: (owner, ids) => store.items.findMany(owner, ids),
  };
}

/** What a turn leaves behind: in its conversation, and as a response. */
async function keep(
  { conversations, items, responses }: Tables,
  owner: Owner,
  { id, conversation, previous }: TurnWish,
  { json, input, output, isStored }: TurnRecord,
  now: number,
): Promise<void> {
  const { region, workspace } = owner;
  const all: readonly Item[] = [...input, ...output];
  let from: number | undefined;
  if (conversation !== undefined) {
    const extended = await conversations.finishTurn(owner, conversation, { turn: id, count: all.length, at: now });
    from = extended?.first;
    if (from !== undefined) {
      await items.insert({ region, workspace, container: conversation }, all, { position: from });
    } else if (await conversations.find(owner, conversation)) {
      throw new ServiceError(
        'conflict',
        `Conversation '${conversation}' was taken over by another request, because this one seemed dead.`,
        { param: 'conversation' },
      );
    }
  }
  if (!isStored) return;
  await responses.insert({
    id,
    region,
    workspace,
    createdAt: now,
    conversation: conversation === undefined ? undefined : { id: conversation, from },
    previous,
    itemCount: all.length,
    itemBytes: all.reduce((sum, item) => sum + bytesOf(item), 0),
    json,
  });
  const own = { region, workspace, container: id };
  await items.insert(own, input, { position: 0, side: 'input' });
  await items.insert(own, output, { position: input.length, side: 'output' });
}
