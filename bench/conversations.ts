import { join } from 'node:path';
import { ITEM_PAGE_DEFAULT } from '../src/core/limits.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createConversations } from '../src/resources/conversations/service.ts';
import { createSqliteDialect } from '../src/store/dialects/sqlite.ts';
import { openStore } from '../src/store/store.ts';
import { withTemporaryFolder } from './bench-service.ts';
import { measureRow } from './result-table.ts';
import type { ResultRow } from './result-table.ts';

const MANY = 100_000;
const FEW = 100;
const ROUNDS = 9;
const PAGES = 200;

const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

/** Compares the first and the last page of a long conversation with those of a short one. */
export const measureConversationPages = (logProgress: (text: string) => void): Promise<ResultRow[]> =>
  withTemporaryFolder((folder) => measureInFolder(folder, logProgress));

async function measureInFolder(folder: string, logProgress: (text: string) => void): Promise<ResultRow[]> {
  const store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
  const conversations = createConversations({ store, clock: systemClock });
  const createItemId = (name: string, at: number): string => `msg_${name}_${String(at).padStart(6, '0')}`;
  const createConversation = async (name: string, count: number): Promise<string> => {
    logProgress(`${count} items`);
    const { id } = await conversations.create(OWNER, { items: [], metadata: new Map() });
    const items = Array.from({ length: count }, (_, at) => ({
      id: createItemId(name, at),
      json: JSON.stringify({
        type: 'message',
        id: createItemId(name, at),
        status: 'completed',
        role: 'user',
        content: [{ type: 'input_text', text: `Sentence ${at}. ${'word '.repeat(30)}` }],
      }),
    }));
    await store.transaction(async (tables) => {
      const { first } = (await tables.conversations.extend(OWNER, id, count, systemClock.now())) ?? { first: NaN };
      await tables.items.insert({ ...OWNER, container: id }, items, { position: first });
    });
    return id;
  };
  /** Returns the microseconds of one page, averaged over many pages. */
  const measurePages = (id: string, after: string | undefined) => async (): Promise<number> => {
    const startedAt = performance.now();
    for (let at = 0; at < PAGES; at++) {
      const { items } = await conversations.listItems(OWNER, id, { limit: ITEM_PAGE_DEFAULT, order: 'asc', after });
      if (items.length !== ITEM_PAGE_DEFAULT)
        throw new Error(`expected a page of ${ITEM_PAGE_DEFAULT} items, got ${items.length}`);
    }
    return ((performance.now() - startedAt) * 1000) / PAGES;
  };
  try {
    const longConversation = await createConversation('many', MANY);
    const shortConversation = await createConversation('few', FEW);
    const row = (measurement: string, afterMany?: string, afterFew?: string): Promise<ResultRow> =>
      measureRow(
        { measurement, unit: 'µs', peer: `of ${FEW} items`, goal: '≤ 1.3', rounds: ROUNDS, logProgress },
        measurePages(longConversation, afterMany),
        measurePages(shortConversation, afterFew),
      );
    const findCursor = (name: string, count: number): string => createItemId(name, count - ITEM_PAGE_DEFAULT - 1);
    return [
      await row(`first page of ${MANY} items`),
      await row(`last page of ${MANY} items`, findCursor('many', MANY), findCursor('few', FEW)),
    ];
  } finally {
    await store.close();
  }
}
