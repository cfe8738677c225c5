import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Item } from '../core/item.ts';
import type { Conversations } from '../resources/conversations/conversation.ts';
import { createConversationsOperator } from '../resources/conversations/operator.ts';
import { createConversations } from '../resources/conversations/service.ts';
import type { Responses } from '../resources/responses/response.ts';
import { insertTestRun } from '../resources/responses/__fixtures__/insert-test-run.ts';
import { createResponses } from '../resources/responses/service.ts';
import { createSqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore, type Store } from '../store/store.ts';
import { createConversationsCommand } from './conversations-command.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const clock = { now: () => NOW, monotonic: () => 0 };
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const TEAM = { ...OWNER, workspace: 'team-7' } as const;
const ABROAD = { ...TEAM, region: 'ap-southeast-1' } as const;

describe('parley conversations', () => {
  let folder = '';
  /** Connection of the running server. Each command opens and closes a connection of its own. */
  let server: Store;
  let conversations: Conversations;
  let responses: Responses;
  let opened = 0;
  let warnings = '';
  /** The texts of the individual writes. */
  let writes: string[];

  beforeEach(async () => {
    opened = 0;
    folder = await mkdtemp(join(tmpdir(), 'parley-conversations-'));
    server = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
    conversations = createConversations({ store: server, clock });
    responses = createResponses({ store: server, clock });
  });
  afterEach(async () => {
    assert.equal(opened, 0, 'a command has left the database open');
    await server.close();
    await rm(folder, { recursive: true });
  });

  async function run(...args: readonly string[]): Promise<string> {
    warnings = '';
    writes = [];
    const command = createConversationsCommand({
      stdout: {
        write(text, done) {
          writes.push(text);
          setImmediate(done);
        },
      },
      stderr: { write: (text) => (warnings += text) },
      open: async () => {
        const store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
        opened += 1;
        const close = async () => {
          opened -= 1;
          await store.close();
        };
        return { conversations: createConversationsOperator({ store, clock }), close };
      },
    });
    await command.parseAsync(args, { from: 'user' });
    return writes.join('');
  }
  const lines = async (...args: readonly string[]) =>
    (await run(...args))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  const item = (id: string, text = ''): Item => ({ id, json: JSON.stringify({ id, text }) });
  const made = async (owner: typeof OWNER | typeof TEAM | typeof ABROAD = OWNER, items: readonly Item[] = []) =>
    (await conversations.create(owner, { items, metadata: new Map([['__proto__', 'a']]) })).id;
  const answered = async (owner: typeof OWNER | typeof TEAM | typeof ABROAD, id: string, conversation?: string) => {
    const turn = await responses.startTurn(owner, { id, conversation });
    const json = `{"id":"${id}"}`;
    await turn.complete({ json, input: [item(`${id}_in`)], output: [item(`${id}_out`)], isStored: true });
  };
  const left = async () => ({
    conversations: (await server.conversations.list({ limit: 99 })).map(({ id }) => id),
    responses: (await server.responses.list({ limit: 99 })).map(({ id }) => id),
  });

  it('exports a conversation, its items and its responses, one per line', async () => {
    const id = await made(OWNER, [item('msg_1')]);
    await answered(OWNER, 'resp_1', id);
    await made();
    const exported = await lines('export', id);
    const place = { region: 'cn-beijing', workspace: 'primary', createdAt: '2026-07-01T12:00:00.000Z' };
    assert.deepEqual(exported.slice(1), [
      ...['msg_1', 'resp_1_in', 'resp_1_out'].map((each) => ({
        type: 'item',
        conversation: id,
        item: { id: each, text: '' },
      })),
      { type: 'response', id: 'resp_1', ...place, conversation: id, previous: null, response: { id: 'resp_1' } },
      { type: 'input', response: 'resp_1', item: { id: 'resp_1_in', text: '' } },
    ]);
    const metadata: unknown = JSON.parse('{"__proto__":"a"}');
    assert.deepEqual(exported[0], { type: 'conversation', id, ...place, metadata });
  });

  it('exports page by page and waits until each page is written', async () => {
    const id = await made();
    for (let at = 0; at < 12; at++) {
      await conversations.addItems(
        OWNER,
        id,
        Array.from({ length: 20 }, (_, n) => item(`msg_${at}_${n}`)),
      );
    }
    assert.equal((await lines('export', id)).length, 241);
    assert.deepEqual(
      writes.map((text) => text.split('\n').length - 1),
      [1, 100, 100, 40],
    );
  });

  it('exports by workspace and region, including responses without a conversation', async () => {
    const ids = [await made(), await made(TEAM), await made(ABROAD)] as const;
    await answered(TEAM, 'resp_alone');
    // Sorted by id: the order of conversations created in the same millisecond is arbitrary.
    const inOrder = (...some: readonly string[]) => [...some.toSorted(), 'resp_alone'];
    const exportIds = async (...args: readonly string[]) =>
      (await lines('export', ...args)).filter(({ type }) => type !== 'input').map(({ id }) => id);
    assert.deepEqual(await exportIds('--workspace', 'team-7'), inOrder(ids[1], ids[2]));
    assert.deepEqual(await exportIds('--workspace', 'team-7', '--region', 'ap-southeast-1'), [ids[2]]);
    assert.deepEqual(await exportIds('--region', 'cn-beijing'), inOrder(ids[0], ids[1]));
    assert.equal((await exportIds()).length, 4);
  });

  it('erases a conversation with its items and responses, also after it was deleted', async () => {
    const id = await made(OWNER, [item('msg_1')]);
    const other = await made();
    await answered(OWNER, 'resp_1', id);
    await answered(OWNER, 'resp_2', other);
    await answered(OWNER, 'resp_alone');
    assert.equal(await run('erase', id), 'erased 1 conversations and 1 responses\n');
    assert.deepEqual(await left(), { conversations: [other], responses: ['resp_2', 'resp_alone'] });
    assert.deepEqual(await server.items.findMany(OWNER, ['msg_1', 'resp_1_in', 'resp_1_out']), new Map());
    await conversations.delete(OWNER, other);
    assert.deepEqual(await lines('erase', other, '--json'), [{ conversations: 0, responses: 1 }]);
    assert.deepEqual(await left(), { conversations: [], responses: ['resp_alone'] });
    await assert.rejects(run('erase', other), { kind: 'not-found' });
  });

  it('exports and erases background responses that are pending or failed', async () => {
    const id = await made();
    const other = await made(TEAM);
    const place = { region: 'cn-beijing', workspace: 'primary', createdAt: NOW } as const;
    await insertTestRun(server, { ...place, id: 'resp_waits', conversation: id });
    await insertTestRun(server, { ...place, id: 'resp_answered', conversation: id, json: undefined, endedAt: NOW });
    await answered(OWNER, 'resp_answered', id);
    await insertTestRun(server, {
      ...place,
      workspace: 'team-7',
      id: 'resp_failed',
      conversation: other,
      endedAt: NOW,
    });
    const exportIds = async (...args: readonly string[]) =>
      (await lines('export', ...args)).filter(({ type }) => type === 'response');
    assert.deepEqual(
      (await exportIds(id)).map((response) => response['id']),
      ['resp_answered', 'resp_waits'],
    );
    const [failed] = await exportIds('--workspace', 'team-7');
    assert.deepEqual([failed?.['conversation'], failed?.['response']], [other, { id: 'resp_failed' }]);
    assert.equal(await run('erase', id), 'erased 1 conversations and 2 responses\n');
    await conversations.delete(TEAM, other);
    assert.deepEqual(await lines('erase', other, '--json'), [{ conversations: 0, responses: 1 }]);
    assert.deepEqual(await server.background.list({ limit: 9 }), []);
    assert.deepEqual(await server.responseEvents.read('resp_failed', { from: 0, chunksMax: 1 }), []);
    await insertTestRun(server, { ...place, workspace: 'team-7', id: 'resp_alone' });
    assert.deepEqual(await lines('erase', '--workspace', 'team-7', '--yes', '--json'), [
      { conversations: 0, responses: 1 },
    ]);
  });

  it('erases a whole workspace only with --yes', async () => {
    const ids = [await made(), await made(TEAM), await made(ABROAD)] as const;
    await answered(TEAM, 'resp_alone');
    await answered(TEAM, 'resp_made', ids[1]);
    await assert.rejects(run('erase', '--workspace', 'team-7'), { kind: 'invalid-request', param: 'yes' });
    assert.equal((await left()).conversations.length, 3);
    assert.deepEqual(await lines('erase', '--workspace', 'team-7', '--region', 'cn-beijing', '--yes', '--json'), [
      { conversations: 1, responses: 2 },
    ]);
    assert.deepEqual((await left()).conversations, [ids[0], ids[2]].toSorted());
    await run('erase', '--workspace', 'team-7', '--yes');
    assert.deepEqual((await left()).conversations, [ids[0]]);
  });

  it('warns about responses in progress, which must be erased later', async () => {
    const id = await made();
    const turn = await responses.startTurn(OWNER, { id: 'resp_1', conversation: id });
    await run('erase', id);
    assert.match(warnings, new RegExp(`^parley: a response is in progress in ${id} and may still be stored`));
    await turn.complete({ json: '{}', input: [], output: [], isStored: true });
    assert.equal(await run('erase', id), 'erased 0 conversations and 1 responses\n');
    assert.equal(warnings, '');
    // A response whose process died is not in progress.
    const dead = await made();
    await server.conversations.acquireTurnLease(OWNER, dead, { turn: 'resp_2', until: NOW, now: NOW - 1 });
    await run('erase', dead);
    assert.equal(warnings, '');
  });

  it('rejects an ambiguous selection without erasing anything', async () => {
    const id = await made();
    for (const [args, kind, param] of [
      [['erase'], 'invalid-request', 'id'],
      [['erase', '--region', 'cn-beijing', '--yes'], 'invalid-request', 'id'],
      [['erase', id, '--workspace', 'primary', '--yes'], 'invalid-request', 'id'],
      [['erase', id, 'conv_nobody'], 'not-found', undefined],
      [['export', id, 'conv_nobody'], 'not-found', undefined],
      [['export', '--region', 'mars'], 'invalid-request', 'region'],
    ] as const) {
      await assert.rejects(run(...args), { kind, param });
      assert.deepEqual(writes, []);
    }
    assert.deepEqual((await left()).conversations, [id]);
  });
});
