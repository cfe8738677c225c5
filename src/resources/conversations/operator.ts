import type { Item } from '../../core/item.ts';
import { ITEM_PAGE_BYTES_MAX, ITEM_PAGE_MAX, OPERATOR_PAGE_MAX } from '../../core/limits.ts';
import type { RegionId } from '../../core/region.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ConversationRecord } from '../../store/conversations.ts';
import type { RunLink } from '../../store/background.ts';
import type { ResponseLink, ResponseRecord } from '../../store/responses.ts';
import type { Store } from '../../store/store.ts';
import { noConversation } from './not-there.ts';
import { removeConversation, removeResponse } from './remove.ts';

/** Conversations by their ids; or all there is of a region, a workspace, or both. */
export type Selection =
  | { readonly ids: readonly string[] }
  | { readonly region?: RegionId | undefined; readonly workspace?: string | undefined };

/** Something that is kept. What follows a conversation or a response, up to the next one, is its own. */
export type Kept =
  | { readonly type: 'conversation'; readonly conversation: ConversationRecord }
  | { readonly type: 'item'; readonly conversation: string; readonly item: Item }
  | { readonly type: 'response'; readonly response: ResponseRecord }
  | { readonly type: 'input'; readonly response: string; readonly item: Item };

export interface Erased {
  readonly conversations: number;
  readonly responses: number;
  /** Those among them in which an answer was in the making: it leaves its response when it comes to its end. */
  readonly running: readonly string[];
}

/** What the operator may do with anybody's conversations, while callers work with them. */
export interface ConversationsOperator {
  /**
   * Everything there is of the selected, page by page. What changes meanwhile is there or not.
   * @throws ServiceError `not-found` for an id of which nothing is left, before anything is told.
   */
  read(selection: Selection): AsyncIterable<readonly Kept[]>;
  /**
   * With the responses that were made in them, also in one that is deleted already; of a region or a workspace, all
   * responses.
   * @throws ServiceError `not-found` as above; then nothing is erased.
   */
  erase(selection: Selection): Promise<Erased>;
}

const PAGE = { limit: ITEM_PAGE_MAX, bytesMax: ITEM_PAGE_BYTES_MAX } as const;

export function createConversationsOperator({ store, clock }: { store: Store; clock: Clock }): ConversationsOperator {
  const responsesOf = (conversation: string): AsyncIterable<readonly ResponseLink[]> =>
    pages((after) => store.responses.listOfConversation(conversation, { after, limit: OPERATOR_PAGE_MAX }));
  const runsOf = (conversation: string): AsyncIterable<readonly RunLink[]> =>
    pages((after) => store.background.listOfConversation(conversation, { after, limit: OPERATOR_PAGE_MAX }));

  /** The conversations that are there, all responses, and those made while nobody waits, of what was selected. */
  async function select(selection: Selection) {
    if ('ids' in selection) {
      const found = new Map<string, ConversationRecord | undefined>();
      for (const id of selection.ids) {
        const record = await store.conversations.findAnywhere(id);
        const [response] = await store.responses.listOfConversation(id, { limit: 1 });
        const [run] = await store.background.listOfConversation(id, { limit: 1 });
        if (!record && !response && !run) noConversation(id);
        found.set(id, record);
      }
      return {
        conversations: once([...found.values()].filter((record) => record !== undefined)),
        responses: joined([...found.keys()].map(responsesOf)),
        runs: joined([...found.keys()].map(runsOf)),
      };
    }
    const { conversations, responses, background } = store;
    return {
      conversations: pages((after) => conversations.list({ ...selection, after, limit: OPERATOR_PAGE_MAX })),
      responses: pages((after) => responses.list({ ...selection, after, limit: OPERATOR_PAGE_MAX })),
      runs: pages((after) => background.list({ ...selection, after, limit: OPERATOR_PAGE_MAX })),
    };
  }

  const itemsOf = ({ id, region, workspace }: ConversationRecord | ResponseLink): AsyncIterable<readonly Item[]> =>
    store.items.walk({ region, workspace, container: id }, PAGE);
  const inputOf = ({ id, region, workspace }: ResponseLink): AsyncIterable<readonly Item[]> =>
    store.items.walk({ region, workspace, container: id }, { ...PAGE, side: 'input' });

  return {
    async *read(selection) {
      const { conversations, responses, runs } = await select(selection);
      for await (const page of conversations) {
        for (const conversation of page) {
          yield [{ type: 'conversation', conversation }];
          for await (const items of itemsOf(conversation)) {
            yield items.map((item) => ({ type: 'item', conversation: conversation.id, item }));
          }
        }
      }
      for await (const page of responses) {
        for (const link of page) {
          const response = await store.responses.find(link, link.id);
          if (!response) continue;
          yield [{ type: 'response', response }];
          for await (const items of inputOf(response)) {
            yield items.map((item) => ({ type: 'input', response: link.id, item }));
          }
        }
      }
      for await (const page of runs) {
        for (const link of page) {
          // Those with an answer are among the responses.
          const run = await store.background.find(link, link.id);
          if (run?.json !== undefined) yield [{ type: 'response', response: withoutAnswer(run, run.json) }];
        }
      }
    },

    async erase(selection) {
      const selected = await select(selection);
      const running: string[] = [];
      let conversations = 0;
      let responses = 0;
      // Conversations first: no answer begins in one that is gone.
      for await (const page of selected.conversations) {
        for (const record of page) {
          const until = await store.conversations.turnUntil(record, record.id);
          if (until !== undefined && until > clock.now()) running.push(record.id);
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

/** A response as it is told, of which no items are kept. */
const withoutAnswer = (
  { id, region, workspace, createdAt, conversation, previous }: RunLink,
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

/** By key: what is removed while they are read makes no page miss anything. */
async function* pages<T extends { readonly id: string }>(
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

async function* once<T>(page: readonly T[]): AsyncGenerator<readonly T[]> {
  yield page;
}

async function* joined<T>(lists: readonly AsyncIterable<readonly T[]>[]): AsyncGenerator<readonly T[]> {
  for (const list of lists) yield* list;
}
