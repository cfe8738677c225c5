import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { BackgroundRunRecord, BackgroundRunUpdate } from '../../src/store/background.ts';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

/** A timestamp that does not fit into 32 bits. */
const NOW = 1_790_000_000_123;
const SCOPE = { region: 'cn-beijing', workspace: 'primary' } as const;
const STRANGERS = [
  { ...SCOPE, workspace: 'other' },
  { ...SCOPE, region: 'ap-southeast-1' },
] as const;

const createRun = (id: string, change: Partial<BackgroundRunRecord> = {}): BackgroundRunRecord => ({
  ...SCOPE,
  id,
  keyId: 'key_1',
  state: 'queued',
  attempt: 0,
  isStreamed: true,
  lastSequence: 1,
  eventChars: 10,
  eventsUntil: undefined,
  conversation: undefined,
  previous: undefined,
  createdAt: NOW,
  endedAt: undefined,
  json: '{"text":"O\'Brien 密钥 🔑"}',
  body: '{"input":"\\u0000"}',
  ...change,
});
const END = { at: NOW + 5, eventsUntil: NOW + 10 };

describeOnDialects('background runs in the store', ({ onOpen }) => {
  let store: Store;
  onOpen((opened) => void ({ store } = opened));

  const insertRun = async (id: string, change: Partial<BackgroundRunRecord> = {}) => {
    const record = createRun(id, change);
    await store.background.insert(record);
    return record;
  };
  const updateRun = (id: string, change: Partial<BackgroundRunUpdate>) =>
    store.background.update(id, { state: 'in_progress', ...change });

  it('returns a run unchanged, to its owner only', async () => {
    const full = { conversation: 'conv_1', previous: 'resp_0', endedAt: NOW + 1, eventsUntil: NOW + 2 };
    for (const record of [await insertRun('resp_a'), await insertRun('resp_b', full)]) {
      assert.deepEqual(await store.background.find(SCOPE, record.id), record);
      assert.deepEqual(await store.background.findInAnyTenant(record.id), record);
      const { json: _, body: __, ...summary } = record;
      assert.deepEqual(await store.background.findSummary(record.id), summary);
      for (const stranger of STRANGERS) {
        assert.equal(await store.background.find(stranger, record.id), undefined);
        assert.equal(await store.background.remove(stranger, record.id), false);
      }
    }
    assert.equal(await store.background.remove(SCOPE, 'resp_a'), true);
    assert.equal(await store.background.find(SCOPE, 'resp_a'), undefined);
  });

  it('updates a run for its newest attempt only, and not after its completion', async () => {
    await insertRun('resp_fence');
    assert.equal(await updateRun('resp_fence', { attempt: 1, isStart: true }), true);
    assert.equal(await updateRun('resp_fence', { attempt: 2, isStart: true }), true);
    assert.equal(await updateRun('resp_fence', { attempt: 1 }), false);
    assert.equal(await updateRun('resp_fence', { attempt: 1, isStart: true }), false);
    assert.equal(await updateRun('resp_fence', { attempt: 2 }), true);
    assert.equal(await updateRun('resp_fence', { state: 'cancelled', json: '{}', completion: END }), true);
    assert.equal(await updateRun('resp_fence', { attempt: 2, state: 'completed', completion: END }), false);
    assert.equal(await updateRun('resp_none', {}), false);
    const { state, json, body, endedAt, eventsUntil } =
      (await store.background.find(SCOPE, 'resp_fence')) ?? createRun('');
    assert.deepEqual(
      [state, json, body, endedAt, eventsUntil],
      ['cancelled', '{}', undefined, END.at, END.eventsUntil],
    );
  });

  it('drops the object of a completed run, because the response is stored elsewhere', async () => {
    for (const state of ['completed', 'incomplete'] as const) {
      await insertRun(`resp_${state}`);
      assert.equal(await updateRun(`resp_${state}`, { state, completion: END }), true);
      assert.equal((await store.background.find(SCOPE, `resp_${state}`))?.json, undefined);
    }
  });

  it('accepts only events that directly follow the last one', async () => {
    await insertRun('resp_events');
    const events = (first: number, count: number) => ({ events: { first, count, chars: 7 } });
    for (const first of [0, 1, 3]) assert.equal(await updateRun('resp_events', events(first, 2)), false);
    assert.equal(await updateRun('resp_events', events(2, 2)), true);
    assert.equal(await updateRun('resp_events', events(2, 2)), false);
    assert.equal(await updateRun('resp_events', events(4, 1)), true);
    const { lastSequence, eventChars } = (await store.background.find(SCOPE, 'resp_events')) ?? createRun('');
    assert.deepEqual([lastSequence, eventChars], [4, 24]);
  });

  it('reads events from the chunk that contains the requested event', async () => {
    const chunks = [
      { first: 0, texts: ['a\n\n', '"b"\u2028\n\n'] },
      { first: 2, texts: ['c'] },
      { first: 3, texts: ['d', 'e', '🔑'] },
    ];
    for (const chunk of chunks) await store.responseEvents.insert('resp_chunks', chunk);
    await store.responseEvents.insert('resp_other', { first: 0, texts: ['x'] });
    const read = (from: number, chunksMax = 9) => store.responseEvents.read('resp_chunks', { from, chunksMax });
    assert.deepEqual(await read(0), chunks);
    assert.deepEqual(await read(1), chunks);
    assert.deepEqual(await read(2), chunks.slice(1));
    assert.deepEqual(await read(4), chunks.slice(2));
    assert.deepEqual(await read(0, 2), chunks.slice(0, 2));
    await assert.rejects(store.responseEvents.insert('resp_chunks', { first: 2, texts: ['again'] }), {
      kind: 'internal',
    });
    await store.responseEvents.removeAll([]);
    await store.responseEvents.removeAll(['resp_chunks', 'resp_none']);
    assert.deepEqual(await read(0), []);
    assert.equal((await store.responseEvents.read('resp_other', { from: 0, chunksMax: 1 })).length, 1);
  });

  it('counts the unfinished runs of a key', async () => {
    await insertRun('resp_k1', { keyId: 'key_many' });
    await insertRun('resp_k2', { keyId: 'key_many', state: 'in_progress' });
    await insertRun('resp_k3', { keyId: 'key_many', state: 'failed', endedAt: NOW });
    assert.equal(await store.background.countUnfinished('key_many'), 2);
    assert.equal(await store.background.countUnfinished('key_none'), 0);
  });

  it('returns each run with expired events once', async () => {
    await insertRun('resp_past1', { endedAt: NOW, eventsUntil: 100 });
    await insertRun('resp_past2', { endedAt: NOW, eventsUntil: 101 });
    await insertRun('resp_kept', { endedAt: NOW, eventsUntil: 102 });
    const takeExpired = (limit: number) => store.background.takeRunsWithExpiredEvents({ now: 102, limit });
    assert.equal((await takeExpired(1)).length, 1);
    assert.equal((await takeExpired(9)).length, 1);
    assert.deepEqual(await takeExpired(9), []);
    assert.equal((await store.background.find(SCOPE, 'resp_kept'))?.eventsUntil, 102);
    assert.equal((await store.background.find(SCOPE, 'resp_past1'))?.eventsUntil, undefined);
  });

  it('lists by conversation, by tenant scope and by age, page by page', async () => {
    const listScope = { workspace: 'listed' };
    for (const [at, id] of ['resp_l3', 'resp_l1', 'resp_l2'].entries())
      await insertRun(id, { ...listScope, conversation: 'conv_l', createdAt: at + 1 });
    const ids = (links: readonly { readonly id: string }[]) => links.map(({ id }) => id);
    const { background } = store;
    assert.deepEqual(ids(await background.listByConversation('conv_l', { limit: 2 })), ['resp_l1', 'resp_l2']);
    assert.deepEqual(ids(await background.listByConversation('conv_l', { limit: 2, after: 'resp_l2' })), ['resp_l3']);
    assert.deepEqual(ids(await background.list({ ...listScope, limit: 9, after: 'resp_l1' })), ['resp_l2', 'resp_l3']);
    assert.deepEqual(ids(await background.list({ ...listScope, region: 'ap-southeast-1', limit: 9 })), []);
    assert.deepEqual(ids(await background.listUnneededBefore({ before: 3, limit: 9 })), ['resp_l3', 'resp_l1']);
    // A run with an answer is removed with the response.
    const answer = { ...SCOPE, ...listScope, id: 'resp_l3', createdAt: 1, itemCount: 0, itemBytes: 0, json: '{}' };
    await store.responses.insert(answer);
    assert.deepEqual(ids(await background.listUnneededBefore({ before: 3, limit: 9 })), ['resp_l1']);
  });
});
