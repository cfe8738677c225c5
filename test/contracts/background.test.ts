import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { RunRecord, RunStep } from '../../src/store/background.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

/** A time that no 32-bit column holds. */
const NOW = 1_790_000_000_123;
const PLACE = { region: 'cn-beijing', workspace: 'primary' } as const;
const STRANGERS = [
  { ...PLACE, workspace: 'other' },
  { ...PLACE, region: 'ap-southeast-1' },
] as const;

const run = (id: string, change: Partial<RunRecord> = {}): RunRecord => ({
  ...PLACE,
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

for (const { name, dialect } of DIALECTS) {
  describe(`responses that nobody waits for, in the store on ${name}`, () => {
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

    const made = async (id: string, change: Partial<RunRecord> = {}) => {
      const record = run(id, change);
      await store.background.insert(record);
      return record;
    };
    const step = (id: string, change: Partial<RunStep>) =>
      store.background.advance(id, { state: 'in_progress', ...change });

    it('gives one back as it was put in, to its owner only', async () => {
      const full = { conversation: 'conv_1', previous: 'resp_0', endedAt: NOW + 1, eventsUntil: NOW + 2 };
      for (const record of [await made('resp_a'), await made('resp_b', full)]) {
        assert.deepEqual(await store.background.find(PLACE, record.id), record);
        assert.deepEqual(await store.background.findAnywhere(record.id), record);
        const { json: _, body: __, ...link } = record;
        assert.deepEqual(await store.background.findState(record.id), link);
        for (const stranger of STRANGERS) {
          assert.equal(await store.background.find(stranger, record.id), undefined);
          assert.equal(await store.background.remove(stranger, record.id), false);
        }
      }
      assert.equal(await store.background.remove(PLACE, 'resp_a'), true);
      assert.equal(await store.background.find(PLACE, 'resp_a'), undefined);
    });

    it('changes one for its newest attempt only, and not behind its end', async () => {
      await made('resp_fence');
      assert.equal(await step('resp_fence', { attempt: 1, isBegin: true }), true);
      assert.equal(await step('resp_fence', { attempt: 2, isBegin: true }), true);
      assert.equal(await step('resp_fence', { attempt: 1 }), false);
      assert.equal(await step('resp_fence', { attempt: 1, isBegin: true }), false);
      assert.equal(await step('resp_fence', { attempt: 2 }), true);
      assert.equal(await step('resp_fence', { state: 'cancelled', json: '{}', end: END }), true);
      assert.equal(await step('resp_fence', { attempt: 2, state: 'completed', end: END }), false);
      assert.equal(await step('resp_none', {}), false);
      const { state, json, body, endedAt, eventsUntil } = (await store.background.find(PLACE, 'resp_fence')) ?? run('');
      assert.deepEqual(
        [state, json, body, endedAt, eventsUntil],
        ['cancelled', '{}', undefined, END.at, END.eventsUntil],
      );
    });

    it('tells no answer twice: what completed has its object elsewhere', async () => {
      for (const state of ['completed', 'incomplete'] as const) {
        await made(`resp_${state}`);
        assert.equal(await step(`resp_${state}`, { state, end: END }), true);
        assert.equal((await store.background.find(PLACE, `resp_${state}`))?.json, undefined);
      }
    });

    it('takes events right behind the last one, and none elsewhere', async () => {
      await made('resp_events');
      const events = (first: number, count: number) => ({ events: { first, count, chars: 7 } });
      for (const first of [0, 1, 3]) assert.equal(await step('resp_events', events(first, 2)), false);
      assert.equal(await step('resp_events', events(2, 2)), true);
      assert.equal(await step('resp_events', events(2, 2)), false);
      assert.equal(await step('resp_events', events(4, 1)), true);
      const { lastSequence, eventChars } = (await store.background.find(PLACE, 'resp_events')) ?? run('');
      assert.deepEqual([lastSequence, eventChars], [4, 24]);
    });

    it('reads events from the chunk on that has the one asked for', async () => {
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
      await store.responseEvents.clear([]);
      await store.responseEvents.clear(['resp_chunks', 'resp_none']);
      assert.deepEqual(await read(0), []);
      assert.equal((await store.responseEvents.read('resp_other', { from: 0, chunksMax: 1 })).length, 1);
    });

    it('counts those of a key that have not ended', async () => {
      await made('resp_k1', { keyId: 'key_many' });
      await made('resp_k2', { keyId: 'key_many', state: 'in_progress' });
      await made('resp_k3', { keyId: 'key_many', state: 'failed', endedAt: NOW });
      assert.equal(await store.background.countUnfinished('key_many'), 2);
      assert.equal(await store.background.countUnfinished('key_none'), 0);
    });

    it('gives out once whose events are kept no longer', async () => {
      await made('resp_past1', { endedAt: NOW, eventsUntil: 100 });
      await made('resp_past2', { endedAt: NOW, eventsUntil: 101 });
      await made('resp_kept', { endedAt: NOW, eventsUntil: 102 });
      const take = (limit: number) => store.background.takePastEvents({ now: 102, limit });
      assert.equal((await take(1)).length, 1);
      assert.equal((await take(9)).length, 1);
      assert.deepEqual(await take(9), []);
      assert.equal((await store.background.find(PLACE, 'resp_kept'))?.eventsUntil, 102);
      assert.equal((await store.background.find(PLACE, 'resp_past1'))?.eventsUntil, undefined);
    });

    it('lists by conversation, by place and by age, page by page', async () => {
      const own = { workspace: 'listed' };
      for (const [at, id] of ['resp_l3', 'resp_l1', 'resp_l2'].entries())
        await made(id, { ...own, conversation: 'conv_l', createdAt: at + 1 });
      const ids = (links: readonly { readonly id: string }[]) => links.map(({ id }) => id);
      const { background } = store;
      assert.deepEqual(ids(await background.listOfConversation('conv_l', { limit: 2 })), ['resp_l1', 'resp_l2']);
      assert.deepEqual(ids(await background.listOfConversation('conv_l', { limit: 2, after: 'resp_l2' })), ['resp_l3']);
      assert.deepEqual(ids(await background.list({ ...own, limit: 9, after: 'resp_l1' })), ['resp_l2', 'resp_l3']);
      assert.deepEqual(ids(await background.list({ ...own, region: 'ap-southeast-1', limit: 9 })), []);
      assert.deepEqual(ids(await background.listOlder({ before: 3, limit: 9 })), ['resp_l3', 'resp_l1']);
    });
  });
}
