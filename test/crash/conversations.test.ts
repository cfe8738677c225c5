import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TURN_LEASE_MS } from '../../src/core/limits.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createConversations } from '../../src/resources/conversations/service.ts';
import { createResponses } from '../../src/resources/responses/service.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const CHILD = fileURLToPath(new URL('conversations-child.ts', import.meta.url));
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

interface Acknowledged {
  readonly created?: string;
  readonly added?: boolean;
  readonly completed?: boolean;
  readonly steps?: number;
}

describe('a conversation whose process is killed', () => {
  let folder = '';
  let file = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    file = join(folder, 'parley.db');
  });
  after(() => rm(folder, { recursive: true }));

  /** Runs a child until it is killed before its step, or to its end; what it was told is done. */
  async function run(name: string, step?: number): Promise<Acknowledged> {
    const args = [
      '--disable-warning=ExperimentalWarning',
      CHILD,
      file,
      name,
      ...(step === undefined ? [] : [String(step)]),
    ];
    const child = spawn(process.execPath, args);
    const [said, complaint, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null, string | null]>,
    ]);
    assert.deepEqual([code, signal], step === undefined ? [0, null] : [null, 'SIGKILL'], complaint);
    const lines = said.split('\n').filter((line) => line !== '');
    return Object.assign({}, ...lines.map((line) => JSON.parse(line) as Acknowledged)) as Acknowledged;
  }

  it('has what was acknowledged, no half of anything, and takes the next answer after the lease', async () => {
    const { steps = 0 } = await run('whole');
    assert.ok(steps > 12, `the child takes ${steps} steps`);
    for (let step = 1; step <= steps; step++) {
      const name = `step${step}`;
      const told = await run(name, step);
      await using store = Object.assign(await openStore({ dialect: sqliteDialect({ file }) }), {
        [Symbol.asyncDispose]: () => store.close(),
      });
      const where = `killed before step ${step} of ${steps}, told ${JSON.stringify(told)}`;
      const conversations = createConversations({ store, clock: systemClock });
      const found = await store.items.findMany(
        OWNER,
        ['a1', 'b1', 'd2'].map((id) => `${name}_${id}`),
      );
      const records = await store.conversations.list({ limit: 100 });
      const containers = await Promise.all(
        records.map(async ({ id }) => {
          const { items } = await conversations.listItems(OWNER, id, { limit: 100, order: 'asc' });
          return { id, items: items.map((each) => each.id) };
        }),
      );
      const own = containers.filter(({ items }) => items.some((id) => id.startsWith(`${name}_`)));
      assert.equal(own.length, found.has(`${name}_a1`) ? 1 : 0, where);
      const [conversation] = own;
      const all = ['a1', 'a2', 'b1', 'b2', 'c1', 'c2', 'd1', 'd2'].map((id) => `${name}_${id}`);
      const count = conversation?.items.length ?? 0;
      assert.ok([0, 2, 4, 8].includes(count), `${where}: half of something is there: ${String(conversation?.items)}`);
      assert.deepEqual(conversation?.items ?? [], all.slice(0, count), where);
      assert.ok(count >= (told.completed ? 8 : told.added ? 4 : told.created ? 2 : 0), `${where}: it lacks something`);
      if (told.created !== undefined) assert.equal(conversation?.id, told.created, where);
      // The turn is in its conversation and as a response, or in neither.
      const isKept = (await store.responses.find(OWNER, `resp_${name}`)) !== undefined;
      assert.equal(isKept, count === 8, where);
      assert.equal(found.has(`${name}_d2`), isKept, where);
      if (!conversation) continue;
      const later = { ...systemClock, now: () => Date.now() + TURN_LEASE_MS };
      const turn = await createResponses({ store, clock: later }).begin(OWNER, {
        id: `resp_next_${name}`,
        conversation: conversation.id,
      });
      assert.deepEqual(
        turn.history.map(({ id }) => id),
        all.slice(0, count),
        where,
      );
      await turn.abandon();
    }
  });
});
