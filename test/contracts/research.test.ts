import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ResearchRecord } from '../../src/store/research.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

/** A time that no 32-bit column holds. */
const NOW = 1_790_000_000_123;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

const run = (id: string, change: Partial<ResearchRecord> = {}): ResearchRecord => ({
  ...OWNER,
  id,
  likeness: id,
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

for (const { name, dialect } of DIALECTS) {
  describe(`runs of deep research, in the store on ${name}`, () => {
    let folder = '';
    let store: Store;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-store-'));
      store = await openStore({ dialect: dialect(folder) });
    });
    after(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });

    const made = async (id: string, change: Partial<ResearchRecord> = {}) => {
      const record = run(id, change);
      assert.equal(await store.research.insert(record), true);
      return record;
    };
    const append = (id: string, attempt: number, number: number) =>
      store.transaction(({ research }) => research.append(id, { attempt, number, json: `{"at":${number}}` }));
    const steps = (id: string, from = 0, limit = 9) => store.research.steps(id, { from, limit });

    it('gives one back as it was put in', async () => {
      const full = {
        state: 'failed',
        attempt: 3,
        lastStep: 7,
        startedAt: NOW + 1,
        isDelivered: true,
        endedAt: NOW + 2,
        error: '{}',
      } as const;
      for (const record of [await made('research_a'), await made('research_b', full)]) {
        assert.deepEqual(await store.research.find(record.id), record);
        const { body: _, ...link } = record;
        assert.deepEqual(await store.research.findState(record.id), link);
      }
      assert.equal(await store.research.find('research_none'), undefined);
    });

    it('has one unfinished run of a key for what is alike, and finds that one', async () => {
      const like = { likeness: 'alike' };
      await made('research_old', { ...like, state: 'done', createdAt: NOW + 9, endedAt: NOW + 9 });
      assert.equal((await store.research.findLike(OWNER, 'alike'))?.id, 'research_old');
      await made('research_new', like);
      assert.equal(await store.research.insert(run('research_double', like)), false);
      assert.equal(await store.research.find('research_double'), undefined);
      assert.equal((await store.research.findLike(OWNER, 'alike'))?.id, 'research_new');
      for (const stranger of [{ keyId: 'key_2' }, { workspace: 'other' }, { region: 'us-east-1' }] as const) {
        const theirs = { ...OWNER, ...stranger };
        assert.equal(await store.research.findLike(theirs, 'alike'), undefined);
        await made(`research_${Object.values(stranger)[0]}`, { ...like, ...stranger });
      }
      await store.research.end('research_new', { state: 'cancelled', at: NOW + 20 });
      await made('research_newer', { ...like, createdAt: NOW + 30 });
      await store.research.end('research_newer', { state: 'done', at: NOW + 40 });
      assert.equal((await store.research.findLike(OWNER, 'alike'))?.id, 'research_newer');
    });

    it('begins with its newest attempt only, and keeps the moment of the first', async () => {
      await made('research_begin');
      const begin = (attempt: number) => store.research.begin('research_begin', { attempt, at: NOW + attempt });
      assert.deepEqual([await begin(2), await begin(2), await begin(1), await begin(3)], [true, false, false, true]);
      const { state, attempt, startedAt } = (await store.research.findState('research_begin')) ?? run('');
      assert.deepEqual([state, attempt, startedAt], ['running', 3, NOW + 2]);
      assert.equal(await store.research.begin('research_none', { attempt: 1, at: NOW }), false);
    });

    it('takes a step right behind the last one, from the newest attempt, before the end', async () => {
      await made('research_steps');
      await store.research.begin('research_steps', { attempt: 2, at: NOW });
      assert.equal(await append('research_steps', 2, 1), false);
      assert.equal(await append('research_steps', 2, 0), true);
      assert.equal(await append('research_steps', 2, 0), false);
      assert.equal(await append('research_steps', 1, 1), false);
      assert.equal(await append('research_steps', 2, 1), true);
      assert.equal(await append('research_steps', 2, 2), true);
      assert.deepEqual(await steps('research_steps', 1), ['{"at":1}', '{"at":2}']);
      assert.deepEqual(await steps('research_steps', 0, 2), ['{"at":0}', '{"at":1}']);
      assert.equal((await store.research.findState('research_steps'))?.lastStep, 2);
      assert.equal(await store.research.end('research_steps', { state: 'done', at: NOW + 1, attempt: 1 }), false);
      assert.equal(await store.research.end('research_steps', { state: 'done', at: NOW + 1, attempt: 2 }), true);
      assert.equal(await append('research_steps', 2, 3), false);
      assert.equal(await store.research.begin('research_steps', { attempt: 3, at: NOW }), false);
      assert.equal(await store.research.end('research_steps', { state: 'failed', at: NOW + 2, error: '{}' }), false);
      const { state, endedAt, error } = (await store.research.findState('research_steps')) ?? run('');
      assert.deepEqual([state, endedAt, error], ['done', NOW + 1, undefined]);
    });

    it('ends for want of readers only where none was there since', async () => {
      await made('research_read');
      await store.research.sign('research_read', NOW + 50);
      await store.research.sign('research_read', NOW + 40);
      assert.equal((await store.research.findState('research_read'))?.readAt, NOW + 50);
      const end = (unreadSince: number) =>
        store.research.end('research_read', { state: 'cancelled', at: NOW + 99, unreadSince });
      assert.deepEqual([await end(NOW + 50), await end(NOW + 51)], [false, true]);
      await store.research.deliver('research_read');
      assert.equal((await store.research.findState('research_read'))?.isDelivered, true);
    });

    it('counts those of a key and of a workspace that have not ended', async () => {
      const { research } = store;
      const place = { region: 'cn-hongkong', workspace: 'counted' } as const;
      await made('research_k1', { ...place, keyId: 'key_k' });
      await made('research_k2', { ...place, keyId: 'key_k', state: 'running' });
      await made('research_k3', { ...place, keyId: 'key_l' });
      await made('research_k4', { ...place, keyId: 'key_l', state: 'failed', endedAt: NOW });
      assert.deepEqual(
        [
          await research.countUnfinished({ keyId: 'key_k' }),
          await research.countUnfinished({ keyId: 'key_l' }),
          await research.countUnfinished(place),
          await research.countUnfinished({ ...place, region: 'us-east-1' }),
        ],
        [2, 1, 3, 0],
      );
    });

    it('lists those without a reader and those that are past, and removes one with its steps', async () => {
      const { research } = store;
      await made('research_u1', { readAt: 20 });
      await made('research_u2', { readAt: 10 });
      await made('research_p1', { readAt: 10, endedAt: 10 });
      await made('research_p2', { readAt: 30, endedAt: 10 });
      const unread = (before: number, limit = 9) => research.listUnread({ before, limit });
      assert.deepEqual(await unread(21), ['research_u2', 'research_u1']);
      assert.deepEqual(await unread(20), ['research_u2']);
      assert.deepEqual(await unread(21, 1), ['research_u2']);
      const past = (before: number) => research.listPast({ before, limit: 9 });
      assert.deepEqual(
        [await past(10), await past(30), await past(31)],
        [[], ['research_p1'], ['research_p1', 'research_p2']],
      );
      await research.begin('research_u1', { attempt: 1, at: NOW });
      await append('research_u1', 1, 0);
      await store.transaction(({ research: own }) => own.remove('research_u1'));
      assert.deepEqual([await steps('research_u1'), await research.find('research_u1')], [[], undefined]);
    });
  });
}
