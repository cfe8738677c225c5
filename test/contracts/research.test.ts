import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ResearchRunRecord } from '../../src/store/research.ts';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

/** A timestamp that does not fit into 32 bits. */
const NOW = 1_790_000_000_123;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

const createRun = (id: string, change: Partial<ResearchRunRecord> = {}): ResearchRunRecord => ({
  ...OWNER,
  id,
  requestFingerprint: id,
  state: 'queued',
  attempt: 0,
  lastStep: -1,
  createdAt: NOW,
  startedAt: undefined,
  readAt: NOW,
  isDelivered: false,
  endedAt: undefined,
  error: undefined,
  body: '{"text":"O\'Brien 密钥 🔑 \\u0000"}',
  ...change,
});

describeOnDialects('research runs in the store', ({ onOpen }) => {
  let store: Store;
  onOpen((opened) => void ({ store } = opened));

  const insertRun = async (id: string, change: Partial<ResearchRunRecord> = {}) => {
    const record = createRun(id, change);
    assert.equal(await store.research.insert(record), true);
    return record;
  };
  const append = (id: string, attempt: number, number: number) =>
    store.transaction(({ research }) => research.appendStep(id, { attempt, number, json: `{"at":${number}}` }));
  const listSteps = (id: string, from = 0, limit = 9) => store.research.listSteps(id, { from, limit });

  it('returns a run unchanged', async () => {
    const full = {
      state: 'failed',
      attempt: 3,
      lastStep: 7,
      startedAt: NOW + 1,
      isDelivered: true,
      endedAt: NOW + 2,
      error: '{}',
    } as const;
    for (const record of [await insertRun('research_a'), await insertRun('research_b', full)]) {
      assert.deepEqual(await store.research.find(record.id), record);
      const { body: _, ...summary } = record;
      assert.deepEqual(await store.research.findSummary(record.id), summary);
    }
    assert.equal(await store.research.find('research_none'), undefined);
  });

  it('allows one unfinished run per key and fingerprint, and finds that run', async () => {
    const sameRequest = { requestFingerprint: 'alike' };
    await insertRun('research_old', { ...sameRequest, state: 'done', createdAt: NOW + 9, endedAt: NOW + 9 });
    assert.equal((await store.research.findByFingerprint(OWNER, 'alike'))?.id, 'research_old');
    await insertRun('research_new', sameRequest);
    assert.equal(await store.research.insert(createRun('research_double', sameRequest)), false);
    assert.equal(await store.research.find('research_double'), undefined);
    assert.equal((await store.research.findByFingerprint(OWNER, 'alike'))?.id, 'research_new');
    for (const stranger of [{ keyId: 'key_2' }, { workspace: 'other' }, { region: 'us-east-1' }] as const) {
      const otherOwner = { ...OWNER, ...stranger };
      assert.equal(await store.research.findByFingerprint(otherOwner, 'alike'), undefined);
      await insertRun(`research_${Object.values(stranger)[0]}`, { ...sameRequest, ...stranger });
    }
    await store.research.finish('research_new', { state: 'cancelled', at: NOW + 20 });
    await insertRun('research_newer', { ...sameRequest, createdAt: NOW + 30 });
    await store.research.finish('research_newer', { state: 'done', at: NOW + 40 });
    assert.equal((await store.research.findByFingerprint(OWNER, 'alike'))?.id, 'research_newer');
  });

  it('starts only with a newer attempt, and keeps the start time of the first', async () => {
    await insertRun('research_begin');
    const start = (attempt: number) => store.research.start('research_begin', { attempt, at: NOW + attempt });
    assert.deepEqual([await start(2), await start(2), await start(1), await start(3)], [true, false, false, true]);
    const { state, attempt, startedAt } = (await store.research.findSummary('research_begin')) ?? createRun('');
    assert.deepEqual([state, attempt, startedAt], ['running', 3, NOW + 2]);
    assert.equal(await store.research.start('research_none', { attempt: 1, at: NOW }), false);
  });

  it('appends a step only directly after the last one, from the newest attempt, before the run is finished', async () => {
    await insertRun('research_steps');
    await store.research.start('research_steps', { attempt: 2, at: NOW });
    assert.equal(await append('research_steps', 2, 1), false);
    assert.equal(await append('research_steps', 2, 0), true);
    assert.equal(await append('research_steps', 2, 0), false);
    assert.equal(await append('research_steps', 1, 1), false);
    assert.equal(await append('research_steps', 2, 1), true);
    assert.equal(await append('research_steps', 2, 2), true);
    assert.deepEqual(await listSteps('research_steps', 1), ['{"at":1}', '{"at":2}']);
    assert.deepEqual(await listSteps('research_steps', 0, 2), ['{"at":0}', '{"at":1}']);
    assert.equal((await store.research.findSummary('research_steps'))?.lastStep, 2);
    assert.equal(await store.research.finish('research_steps', { state: 'done', at: NOW + 1, attempt: 1 }), false);
    assert.equal(await store.research.finish('research_steps', { state: 'done', at: NOW + 1, attempt: 2 }), true);
    assert.equal(await append('research_steps', 2, 3), false);
    assert.equal(await store.research.start('research_steps', { attempt: 3, at: NOW }), false);
    assert.equal(await store.research.finish('research_steps', { state: 'failed', at: NOW + 2, error: '{}' }), false);
    const { state, endedAt, error } = (await store.research.findSummary('research_steps')) ?? createRun('');
    assert.deepEqual([state, endedAt, error], ['done', NOW + 1, undefined]);
  });

  it('finishes an unread run only when nobody has read it since the given time', async () => {
    await insertRun('research_read');
    await store.research.recordRead('research_read', NOW + 50);
    await store.research.recordRead('research_read', NOW + 40);
    assert.equal((await store.research.findSummary('research_read'))?.readAt, NOW + 50);
    const finishUnread = (unreadSince: number) =>
      store.research.finish('research_read', { state: 'cancelled', at: NOW + 99, unreadSince });
    assert.deepEqual([await finishUnread(NOW + 50), await finishUnread(NOW + 51)], [false, true]);
    await store.research.markDelivered('research_read');
    assert.equal((await store.research.findSummary('research_read'))?.isDelivered, true);
  });

  it('counts unfinished runs of a key and of a workspace', async () => {
    const { research } = store;
    const scope = { region: 'cn-hongkong', workspace: 'counted' } as const;
    await insertRun('research_k1', { ...scope, keyId: 'key_k' });
    await insertRun('research_k2', { ...scope, keyId: 'key_k', state: 'running' });
    await insertRun('research_k3', { ...scope, keyId: 'key_l' });
    await insertRun('research_k4', { ...scope, keyId: 'key_l', state: 'failed', endedAt: NOW });
    assert.deepEqual(
      [
        await research.countUnfinished({ keyId: 'key_k' }),
        await research.countUnfinished({ keyId: 'key_l' }),
        await research.countUnfinished(scope),
        await research.countUnfinished({ ...scope, region: 'us-east-1' }),
      ],
      [2, 1, 3, 0],
    );
  });

  it('lists unread runs and finished runs, and removes a run with its steps', async () => {
    const { research } = store;
    await insertRun('research_u1', { readAt: 20 });
    await insertRun('research_u2', { readAt: 10 });
    await insertRun('research_p1', { readAt: 10, endedAt: 10 });
    await insertRun('research_p2', { readAt: 30, endedAt: 10 });
    const listUnread = (before: number, limit = 9) => research.listUnread({ before, limit });
    assert.deepEqual(await listUnread(21), ['research_u2', 'research_u1']);
    assert.deepEqual(await listUnread(20), ['research_u2']);
    assert.deepEqual(await listUnread(21, 1), ['research_u2']);
    const listFinished = (before: number) => research.listFinishedBefore({ before, limit: 9 });
    assert.deepEqual(
      [await listFinished(10), await listFinished(30), await listFinished(31)],
      [[], ['research_p1'], ['research_p1', 'research_p2']],
    );
    await research.start('research_u1', { attempt: 1, at: NOW });
    await append('research_u1', 1, 0);
    await store.transaction(({ research: table }) => table.remove('research_u1'));
    assert.deepEqual([await listSteps('research_u1'), await research.find('research_u1')], [[], undefined]);
  });
});
