import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Item } from '../../core/item.ts';
import { ITEM_PAGE_BYTES_MAX, REFERRED_BYTES_MAX } from '../../core/limits.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import { bytesOf } from '../../store/items.ts';
import type { Store, Tables } from '../../store/store.ts';
import { noResponse, notInList } from '../conversations/not-there.ts';
import { removeResponse } from '../conversations/remove.ts';
import { readHistory } from './history.ts';
import { endRun } from './end-run.ts';
import { takeLease } from './lease.ts';
import type { Responses, TurnRecord, TurnWish } from './response.ts';
import type { RunBell } from './run-bell.ts';

export interface ResponsesNeeds {
  readonly store: Store;
  readonly clock: Clock;
  /** Hears of what ends by the end of a turn, and of what is deleted. */
  readonly bell?: Pick<RunBell, 'ring'>;
  readonly every?: Every;
}

export function createResponses({ store, clock, bell, every = systemEvery }: ResponsesNeeds): Responses {
  const find = async (owner: Owner, id: string) => await store.responses.find(owner, id);
  /** The run first: a response that comes to its end between the two is found as an answer then. */
  const findTold = async (owner: Owner, id: string): Promise<string> =>
    (await store.background.find(owner, id))?.json ?? (await find(owner, id))?.json ?? noResponse(id);

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
              if (record.run) bell?.ring(id, 'told');
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
      return { id, json: await findTold(owner, id) };
    },

    async delete(owner, id) {
      if (!(await removeResponse(store, { ...owner, id }))) noResponse(id);
      bell?.ring(id, 'ended');
    },

    async listInput(owner, id, wish) {
      if (!(await find(owner, id))) {
        await findTold(owner, id);
        throw new ServiceError('invalid-request', 'Its input is listed when the response has its answer.');
      }
      const bounds = { ...wish, side: 'input', bytesMax: ITEM_PAGE_BYTES_MAX } as const;
      return (await store.items.page({ ...owner, container: id }, bounds)) ?? notInList(wish.after ?? '');
    },

    async findItems(owner, ids) {
      const sizes = await store.items.sizes(owner, ids);
      if (ids.reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0) > REFERRED_BYTES_MAX) {
        throw new ServiceError('too-large', `The items referred to have more than ${REFERRED_BYTES_MAX} bytes in all.`);
      }
      return store.items.findMany(owner, ids);
    },
  };
}

/** What a turn leaves behind: in its conversation, and as a response. */
async function keep(
  tables: Tables,
  owner: Owner,
  { id, conversation, previous }: TurnWish,
  { json, input, output, isStored, run }: TurnRecord,
  now: number,
): Promise<void> {
  const { region, workspace } = owner;
  if (run && !(await endRun(tables, id, { ...run, at: now }))) {
    throw new ServiceError('cancelled', `Response '${id}' was ended before its answer was.`);
  }
  const { conversations, items, responses } = tables;
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
