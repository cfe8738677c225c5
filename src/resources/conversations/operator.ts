import type { Item } from '../../core/item.ts';
import { ITEM_PAGE_MAX } from '../../core/limits.ts';
import { ITEM_PAGE_BYTES_MAX, OPERATOR_PAGE_MAX } from '../limits.ts';
import type { RegionId } from '../../core/region.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ConversationRecord } from '../../store/conversations.ts';
import type { BackgroundRunSummary } from '../../store/background.ts';
import { iterateItemPages } from '../../store/items.ts';
import type { ResponseSummary, ResponseRecord } from '../../store/responses.ts';
import type { Store } from '../../store/store.ts';
import { throwConversationNotFound } from './not-found.ts';
import { removeConversation, removeResponse } from './remove.ts';

/** Selects conversations by id, or everything in a region, a workspace, or both. */
export type ConversationSelection =
  | { readonly ids: readonly string[] }
  | { readonly region?: RegionId | undefined; readonly workspace?: string | undefined };

/** One exported record. Records that follow a conversation or a response, up to the next one, belong to it. */
export type ConversationEntry =
  | { readonly type: 'conversation'; readonly conversation: ConversationRecord }
  | { readonly type: 'item'; readonly conversation: string; readonly item: Item }
  | { readonly type: 'response'; readonly response: ResponseRecord }
  | { readonly type: 'input'; readonly response: string; readonly item: Item };

export interface EraseResult {
  readonly conversations: number;
  readonly responses: number;
  /**
   * Ids of erased conversations that were generating an answer; that answer is still saved as a response when it ends.
   */
  readonly running: readonly string[];
}

/** The operator's access to all tenants' conversations, safe while the service handles requests. */
export interface ConversationsOperator {
  /**
   * Reads all selected records page by page. Concurrent changes may or may not be included.
   * @throws ServiceError `not-found`, before the first page, for an id that has no records.
   */
  read(selection: ConversationSelection): AsyncIterable<readonly ConversationEntry[]>;
  /**
   * Erases the selected conversations and the responses created in them, even if the conversation itself was deleted
   * earlier. Selecting a region or a workspace erases all its responses.
   * @throws ServiceError `not-found` as for `read`; then nothing is erased.
   */
  erase(selection: ConversationSelection): Promise<EraseResult>;
}

const PAGE_BOUNDS = { limit: ITEM_PAGE_MAX, bytesMax: ITEM_PAGE_BYTES_MAX } as const;

export function createConversationsOperator({ store, clock }: { store: Store; clock: Clock }): ConversationsOperator {
  const listResponses = (conversation: string): AsyncIterable<readonly ResponseSummary[]> =>
    paginate((after) => store.responses.listByConversation(conversation, { after, limit: OPERATOR_PAGE_MAX }));
  const listRuns = (conversation: string): AsyncIterable<readonly BackgroundRunSummary[]> =>
    paginate((after) => store.background.listByConversation(conversation, { after, limit: OPERATOR_PAGE_MAX }));

  /** @returns the existing conversations, the responses and the background runs that match the selection. */
  async function select(selection: ConversationSelection) {
    if ('ids' in selection) {
      const found = new Map<string, ConversationRecord | undefined>();
      for (const id of selection.ids) {
        const record = await store.conversations.findInAnyTenant(id);
        const [response] = await store.responses.listByConversation(id, { limit: 1 });
        const [run] = await store.background.listByConversation(id, { limit: 1 });
        if (!record && !response && !run) throwConversationNotFound(id);
        found.set(id, record);
      }
      return {
        conversations: yieldPage([...found.values()].filter((record) => record !== undefined)),
        responses: concatPages([...found.keys()].map(listResponses)),
        runs: concatPages([...found.keys()].map(listRuns)),
      };
    }
    const { conversations, responses, background } = store;
    return {
      conversations: paginate((after) => conversations.list({ ...selection, after, limit: OPERATOR_PAGE_MAX })),
      responses: paginate((after) => responses.list({ ...selection, after, limit: OPERATOR_PAGE_MAX })),
      runs: paginate((after) => background.list({ ...selection, after, limit: OPERATOR_PAGE_MAX })),
    };
  }

  const readItems = ({ id, region, workspace }: ConversationRecord | ResponseSummary): AsyncIterable<readonly Item[]> =>
    iterateItemPages(store.items, { region, workspace, container: id }, PAGE_BOUNDS);
  const readInput = ({ id, region, workspace }: ResponseSummary): AsyncIterable<readonly Item[]> =>
    iterateItemPages(store.items, { region, workspace, container: id }, { ...PAGE_BOUNDS, side: 'input' });

  return {
    async *read(selection) {
      const { conversations, responses, runs } = await select(selection);
      for await (const page of conversations) {
        for (const conversation of page) {
          yield [{ type: 'conversation', conversation }];
          for await (const items of readItems(conversation)) {
            yield items.map((item) => ({ type: 'item', conversation: conversation.id, item }));
          }
        }
      }
      for await (const page of responses) {
        for (const link of page) {
          const response = await store.responses.find(link, link.id);
          if (!response) continue;
          yield [{ type: 'response', response }];
          for await (const items of readInput(response)) {
            yield items.map((item) => ({ type: 'input', response: link.id, item }));
          }
        }
      }
      for await (const page of runs) {
        for (const link of page) {
          // A run that has an answer is among the responses.
          const run = await store.background.find(link, link.id);
          if (run?.json !== undefined) yield [{ type: 'response', response: runToResponse(run, run.json) }];
        }
      }
    },

    async erase(selection) {
      const selected = await select(selection);
      const running: string[] = [];
      let conversations = 0;
      let responses = 0;
      // Conversations first: no new answer can start in an erased conversation.
      for await (const page of selected.conversations) {
        for (const record of page) {
          const turnUntil = await store.conversations.getTurnLeaseUntil(record, record.id);
          if (turnUntil !== undefined && turnUntil > clock.now()) running.push(record.id);
          if (await removeConversation(store, record)) conversations += 1;
        }
      }
      for await (const page of selected.responses) {
        for (const link of page) if (await removeResponse(store, link)) responses += 1;
      }
      for await (const page of selected.runs) {
        for (const link of page) if (await removeResponse(store, link)) responses += 1;
      }
      return { conversations, responses, running };
    },
  };
}

/** Presents a background run without an answer as a response record without items. */
const runToResponse = (
  { id, region, workspace, createdAt, conversation, previous }: BackgroundRunSummary,
  json: string,
): ResponseRecord => ({
  id,
  region,
  workspace,
  createdAt,
  conversation: conversation === undefined ? undefined : { id: conversation, from: undefined },
  previous,
  itemCount: 0,
  itemBytes: 0,
  json,
});

/** Reads pages by id, so that records removed during the iteration cause no gaps. */
async function* paginate<T extends { readonly id: string }>(
  list: (after: string | undefined) => Promise<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  let after: string | undefined;
  for (;;) {
    const page = await list(after);
    if (page.length === 0) return;
    yield page;
    after = page.at(-1)?.id;
  }
}

async function* yieldPage<T>(page: readonly T[]): AsyncGenerator<readonly T[]> {
  yield page;
}

async function* concatPages<T>(lists: readonly AsyncIterable<readonly T[]>[]): AsyncGenerator<readonly T[]> {
  for (const list of lists) yield* list;
}
