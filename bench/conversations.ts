import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ITEM_PAGE_DEFAULT } from '../src/core/limits.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createConversations } from '../src/resources/conversations/service.ts';
import { sqliteDialect } from '../src/store/dialects/sqlite.ts';
import { openStore } from '../src/store/store.ts';
import { alternate, ratioOf } from './pairs.ts';
import type { Row } from './table.ts';

const MANY = 100_000;
const FEW = 100;
const ROUNDS = 9;
const PAGES = 200;

const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

/** What a page of a long conversation costs, beside one of a short one: the first page, and the last. */
export async function conversationPages(note: (text: string) => void): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const store = await openStore({ dialect: sqliteDialect({ file: join(folder, 'parley.db') }) });
  const conversations = createConversations({ store, clock: systemClock });
  const idOf = (name: string, at: number): string => `msg_${name}_${String(at).padStart(6, '0')}`;
  const fill = async (name: string, count: number): Promise<string> => {
    note(`${count} items`);
    const { id } = await conversations.create(OWNER, { items: [], metadata: new Map() });
    const items = Array.from({ length: count }, (_, at) => ({
      id: idOf(name, at),
      json: JSON.stringify({
        type: 'message',
        id: idOf(name, at),
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
  /** Microseconds of one page, over many. */
  const pages = (id: string, after: string | undefined) => async (): Promise<number> => {
    const startedAt = performance.now();
    for (let at = 0; at < PAGES; at++) {
      const { items } = await conversations.listItems(OWNER, id, { limit: ITEM_PAGE_DEFAULT, order: 'asc', after });
      if (items.length !== ITEM_PAGE_DEFAULT) throw new Error(`a page of ${items.length} items`);
    }
    return ((performance.now() - startedAt) * 1000) / PAGES;
  };
  try {
    const many = await fill('many', MANY);
    const few = await fill('few', FEW);
    const row = async (what: string, afterMany: string | undefined, afterFew: string | undefined): Promise<Row> => {
      note(what);
      const pairs = await alternate(ROUNDS, pages(many, afterMany), pages(few, afterFew), note);
      return { what, unit: 'µs', ...pairs, peer: `of ${FEW} items`, ratio: ratioOf(pairs), goal: '≤ 1.3' };
    };
    const before = (name: string, count: number): string => idOf(name, count - ITEM_PAGE_DEFAULT - 1);
    return [
      await row(`first page of ${MANY} items`, undefined, undefined),
      await row(`last page of ${MANY} items`, before('many', MANY), before('few', FEW)),
    ];
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
