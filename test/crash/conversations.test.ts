import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CONVERSATION_LEASE_MS } from '../../src/resources/responses/limits.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createConversations } from '../../src/resources/conversations/service.ts';
import { createResponses } from '../../src/resources/responses/service.ts';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const CHILD = fileURLToPath(new URL('conversations-child.ts', import.meta.url));
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

interface ChildReport {
  readonly created?: string;
  readonly added?: boolean;
  readonly completed?: boolean;
  readonly steps?: number;
}

describe('conversation in a process that is killed', () => {
  let folder = '';
  let file = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    file = join(folder, 'parley.db');
  });
  after(() => rm(folder, { recursive: true }));

  /** Runs a child until it is killed before `step`, or to its end. Returns what was acknowledged to the child. */
  async function runChild(name: string, step?: number): Promise<ChildReport> {
    const args = [
      '--disable-warning=ExperimentalWarning',
      CHILD,
      file,
      name,
      ...(step === undefined ? [] : [String(step)]),
    ];
    const child = spawn(process.execPath, args);
    const [output, errorOutput, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null, string | null]>,
    ]);
    assert.deepEqual([code, signal], step === undefined ? [0, null] : [null, 'SIGKILL'], errorOutput);
    const lines = output.split('\n').filter((line) => line !== '');
    return Object.assign({}, ...lines.map((line) => JSON.parse(line) as ChildReport)) as ChildReport;
  }

  it('keeps acknowledged changes, shows no partial change, and accepts the next turn after the lease expires', async () => {
    const { steps = 0 } = await runChild('whole');
    assert.ok(steps > 12, `the child has only ${steps} steps`);
    for (let step = 1; step <= steps; step++) {
      const name = `step${step}`;
      const report = await runChild(name, step);
      await using store = Object.assign(await openStore({ dialect: createSqliteDialect({ file }) }), {
        [Symbol.asyncDispose]: () => store.close(),
      });
      const description = `killed before step ${step} of ${steps}, acknowledged ${JSON.stringify(report)}`;
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
      const matching = containers.filter(({ items }) => items.some((id) => id.startsWith(`${name}_`)));
      assert.equal(matching.length, found.has(`${name}_a1`) ? 1 : 0, description);
      const [conversation] = matching;
      const allIds = ['a1', 'a2', 'b1', 'b2', 'c1', 'c2', 'd1', 'd2'].map((id) => `${name}_${id}`);
      const count = conversation?.items.length ?? 0;
      assert.ok([0, 2, 4, 8].includes(count), `${description}: partial change: ${String(conversation?.items)}`);
      assert.deepEqual(conversation?.items ?? [], allIds.slice(0, count), description);
      assert.ok(
        count >= (report.completed ? 8 : report.added ? 4 : report.created ? 2 : 0),
        `${description}: an acknowledged change is missing`,
      );
      if (report.created !== undefined) assert.equal(conversation?.id, report.created, description);
      // The turn is stored both in its conversation and as a response, or in neither.
      const isStored = (await store.responses.find(OWNER, `resp_${name}`)) !== undefined;
      assert.equal(isStored, count === 8, description);
      assert.equal(found.has(`${name}_d2`), isStored, description);
      if (!conversation) continue;
      const later = { ...systemClock, now: () => Date.now() + CONVERSATION_LEASE_MS };
      const turn = await createResponses({ store, clock: later }).startTurn(OWNER, {
        id: `resp_next_${name}`,
        conversation: conversation.id,
      });
      assert.deepEqual(
        turn.history.map(({ id }) => id),
        allIds.slice(0, count),
        description,
      );
      await turn.abandon();
    }
  });
});
