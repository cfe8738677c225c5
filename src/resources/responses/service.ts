import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Item } from '../../core/item.ts';
import { ITEM_PAGE_BYTES_MAX } from '../limits.ts';
import { REFERENCED_ITEM_BYTES_MAX } from './limits.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { startInterval as startSystemInterval, type StartInterval } from '../../lib/start-interval.ts';
import { countItemBytes } from '../../store/items.ts';
import type { Store, Tables } from '../../store/store.ts';
import { throwResponseNotFound, throwInvalidCursor } from '../conversations/not-found.ts';
import { removeResponse } from '../conversations/remove.ts';
import { readHistory } from './history.ts';
import { createEndedRunError, finishRun } from './run-transition.ts';
import { acquireTurnLease } from './turn-lease.ts';
import type { Responses, TurnResult, TurnRequest } from './response.ts';
import type { RunNotifier } from './run-notifier.ts';

export interface ResponsesDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Notified when a turn ends a background run, and when a response is deleted. */
  readonly notifier?: Pick<RunNotifier, 'notify'>;
  readonly startInterval?: StartInterval;
}

export function createResponses({
  store,
  clock,
  notifier,
  startInterval = startSystemInterval,
}: ResponsesDeps): Responses {
  const findStored = async (owner: Owner, id: string) => await store.responses.find(owner, id);
  /** Reads the run first: a response that ends between the two reads is then found among the answers. */
  const findLatestJson = async (owner: Owner, id: string): Promise<string> =>
    (await store.background.find(owner, id))?.json ?? (await findStored(owner, id))?.json ?? throwResponseNotFound(id);

  return {
    async startTurn(owner, request) {
      const { id, conversation, previous } = request;
      assert(
        conversation === undefined || previous === undefined,
        'a turn continues either a conversation or a response',
      );
      const leaseDeps = { conversations: store.conversations, clock, startInterval };
      const lease =
        conversation === undefined ? undefined : await acquireTurnLease(leaseDeps, owner, { conversation, turn: id });
      try {
        const { history, olderItems } = await readHistory(store, owner, request);
        let isFinished = false;
        return {
          history,
          olderItems,
          async complete(result) {
            assert(!isFinished, 'a turn is completed once');
            isFinished = true;
            lease?.stop();
            try {
              await store.transaction((tables) => saveTurn(tables, owner, request, result, clock.now()));
              if (result.run) notifier?.notify(id, 'updated');
            } catch (error) {
              await lease?.release();
              throw error;
            }
          },
          async abandon() {
            if (isFinished) return;
            isFinished = true;
            await lease?.release();
          },
        };
      } catch (error) {
        await lease?.release();
        throw error;
      }
    },

    readHistory: (owner, request) => readHistory(store, owner, request),

    async find(owner, id) {
      return { id, json: await findLatestJson(owner, id) };
    },

    async delete(owner, id) {
      if (!(await removeResponse(store, { ...owner, id }))) throwResponseNotFound(id);
      notifier?.notify(id, 'ended');
    },

    async listInput(owner, id, query) {
      if (!(await findStored(owner, id))) {
        await findLatestJson(owner, id);
        throw new ServiceError('invalid-request', 'The input items of a response can be listed once it has an answer.');
      }
      const bounds = { ...query, side: 'input', bytesMax: ITEM_PAGE_BYTES_MAX } as const;
      return (await store.items.readPage({ ...owner, container: id }, bounds)) ?? throwInvalidCursor(query.after ?? '');
    },

    async findItems(owner, ids) {
      const sizes = await store.items.findSizes(owner, ids);
      if (ids.reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0) > REFERENCED_ITEM_BYTES_MAX) {
        throw new ServiceError(
          'too-large',
          `The referenced items have more than ${REFERENCED_ITEM_BYTES_MAX} bytes in total.`,
        );
      }
      return store.items.findMany(owner, ids);
    },
  };
}

/** Stores a finished turn in its conversation and as a response. */
async function saveTurn(
  tables: Tables,
  owner: Owner,
  { id, conversation, previous }: TurnRequest,
  { json, input, output, isStored, run }: TurnResult,
  now: number,
): Promise<void> {
  const { region, workspace } = owner;
  if (run && !(await finishRun(tables, id, { ...run, at: now }))) {
    throw createEndedRunError(id);
  }
  const { conversations, items, responses } = tables;
  const all: readonly Item[] = [...input, ...output];
  let firstPosition: number | undefined;
  if (conversation !== undefined) {
    const extended = await conversations.finishTurn(owner, conversation, { turn: id, count: all.length, at: now });
    firstPosition = extended?.first;
    if (firstPosition !== undefined) {
      await items.insert({ region, workspace, container: conversation }, all, { position: firstPosition });
    } else if (await conversations.find(owner, conversation)) {
      throw new ServiceError(
        'conflict',
        `Conversation '${conversation}' was taken over by another request because the lock of this one expired.`,
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
    conversation: conversation === undefined ? undefined : { id: conversation, from: firstPosition },
    previous,
    itemCount: all.length,
    itemBytes: all.reduce((sum, item) => sum + countItemBytes(item), 0),
    json,
  });
  const responseItems = { region, workspace, container: id };
  await items.insert(responseItems, input, { position: 0, side: 'input' });
  await items.insert(responseItems, output, { position: input.length, side: 'output' });
}
