import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openStore, type Store } from '../../src/store/store.ts';
import type { TaskRecord } from '../../src/store/tasks.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

/** A time that no 32-bit column holds. */
const NOW = 1_790_000_000_123;
const PLACE = { region: 'cn-beijing', workspace: 'primary' } as const;
const STRANGERS = [
  { ...PLACE, workspace: 'other' },
  { ...PLACE, region: 'ap-southeast-1' },
] as const;

const task = (id: string, change: Partial<TaskRecord> = {}): TaskRecord => ({
  ...PLACE,
  id,
  keyId: 'key_1',
  requestId: `r_${id}`,
  model: 'paraformer-v2',
  service: 'audio/asr/transcription',
  status: 'pending',
  submittedAt: NOW,
  startedAt: undefined,
  endedAt: undefined,
  error: undefined,
  wish: '{"text":"O\'Brien 密钥 🔑"}',
  ...change,
});

for (const { name, dialect } of DIALECTS) {
  describe(`tasks in the store on ${name}`, () => {
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

    const made = async (id: string, change: Partial<TaskRecord> = {}) => {
      const record = task(id, change);
      await store.tasks.insert(record);
      return record;
    };

    it('gives one back as it was put in, to its owner only', async () => {
      for (const record of [
        await made('a'),
        await made('b', { status: 'failed', startedAt: NOW + 1, endedAt: NOW + 2, error: '{}' }),
      ]) {
        assert.deepEqual(await store.tasks.find(PLACE, record.id), record);
        assert.deepEqual(await store.tasks.findAnywhere(record.id), record);
        for (const stranger of STRANGERS) assert.equal(await store.tasks.find(stranger, record.id), undefined);
      }
      await store.tasks.remove('a');
      assert.equal(await store.tasks.findAnywhere('a'), undefined);
    });

    it('begins and ends one once', async () => {
      await made('once');
      assert.equal(await store.tasks.start('once', NOW + 1), true);
      assert.equal(await store.tasks.start('once', NOW + 9), true);
      assert.equal((await store.tasks.findAnywhere('once'))?.startedAt, NOW + 1);
      assert.equal(await store.tasks.cancel(PLACE, 'once', NOW + 2), false);
      assert.equal(await store.tasks.end('once', { status: 'succeeded', at: NOW + 3 }), true);
      assert.equal(await store.tasks.end('once', { status: 'failed', at: NOW + 4, error: '{}' }), false);
      assert.equal(await store.tasks.start('once', NOW + 5), false);
      const { status, endedAt } = (await store.tasks.findAnywhere('once')) ?? assert.fail();
      assert.deepEqual([status, endedAt], ['succeeded', NOW + 3]);
      assert.equal(await store.tasks.start('nobody', NOW), false);
    });

    it('cancels what has not begun, for its owner only', async () => {
      await made('cancel');
      for (const stranger of STRANGERS) assert.equal(await store.tasks.cancel(stranger, 'cancel', NOW), false);
      assert.equal(await store.tasks.cancel(PLACE, 'cancel', NOW + 1), true);
      assert.equal(await store.tasks.cancel(PLACE, 'cancel', NOW + 2), false);
      assert.equal(await store.tasks.start('cancel', NOW + 3), false);
    });

    it('lists those of an owner, the newest first, by page and filter', async () => {
      const owner = { ...PLACE, workspace: 'lists' };
      for (const [at, id] of ['l1', 'l2', 'l3', 'l4'].entries()) {
        await made(id, {
          workspace: 'lists',
          submittedAt: NOW + at,
          model: id === 'l2' ? 'other' : 'm',
          keyId: id === 'l3' ? 'key_2' : 'key_1',
          status: id === 'l4' ? 'running' : 'pending',
        });
      }
      const list = async (filter: Parameters<Store['tasks']['list']>[1], page = { skip: 0, take: 9 }) => {
        const { total, records } = await store.tasks.list(owner, filter, page);
        return [total, ...records.map(({ id }) => id)];
      };
      assert.deepEqual(await list({}), [4, 'l4', 'l3', 'l2', 'l1']);
      assert.deepEqual(await list({}, { skip: 1, take: 2 }), [4, 'l3', 'l2']);
      assert.deepEqual(await list({ model: 'other' }), [1, 'l2']);
      assert.deepEqual(await list({ keyId: 'key_2' }), [1, 'l3']);
      assert.deepEqual(await list({ status: 'running' }), [1, 'l4']);
      assert.deepEqual(await list({ id: 'l1' }), [1, 'l1']);
      assert.deepEqual(await list({ from: NOW + 1, to: NOW + 2 }), [2, 'l3', 'l2']);
    });

    it('knows those that ended long ago, and not those that go on', async () => {
      await made('old', { endedAt: 100, status: 'failed' });
      await made('older', { endedAt: 50, status: 'failed' });
      assert.deepEqual(await store.tasks.listEnded({ before: 101, limit: 9 }), ['older', 'old']);
      assert.deepEqual(await store.tasks.listEnded({ before: 100, limit: 9 }), ['older']);
      assert.deepEqual(await store.tasks.listEnded({ before: 101, limit: 1 }), ['older']);
    });

    it('keeps what was heard of each audio in its order, the first who said it', async () => {
      await store.transcriptions.insert('t', ['https://a.test/ä', 'fileid://b']);
      const place = { taskId: 't', part: 1, channel: 0 };
      await store.transcriptions.addWindow(place, { number: 1, endSample: 20, text: '["second"]' });
      await store.transcriptions.addWindow(place, { number: 0, endSample: 10, text: '["first"]' });
      await store.transcriptions.addWindow(place, { number: 0, endSample: 11, text: '["late"]' });
      assert.deepEqual(await store.transcriptions.windows(place), [
        { endSample: 10, text: '["first"]' },
        { endSample: 20, text: '["second"]' },
      ]);
      assert.deepEqual(await store.transcriptions.windows({ ...place, channel: 1 }), []);
      assert.deepEqual(await store.transcriptions.windows({ ...place, part: 0 }), []);
    });

    it('ends an audio once', async () => {
      await store.transcriptions.insert('e', ['x', 'y']);
      await store.transcriptions.setSource('e', 0, { blob: 'audio_1' });
      assert.deepEqual([...(await store.transcriptions.known(['audio_1', 'audio_2']))], ['audio_1']);
      await store.transcriptions.setSource('e', 1, { blob: 'audio_2', bytes: 3_000_000_000 });
      assert.equal((await store.transcriptions.parts('e'))[1]?.sourceBytes, 3_000_000_000);
      await store.transcriptions.setSource('e', 1, undefined);
      assert.equal(await store.transcriptions.endPart('e', 0, { state: 'succeeded', facts: '{}' }), true);
      const late = { state: 'failed', code: 'DECODE_ERROR', message: 'm' } as const;
      assert.equal(await store.transcriptions.endPart('e', 0, late), false);
      assert.equal(await store.transcriptions.endPart('e', 1, late), true);
      await store.transcriptions.setSource('e', 0, undefined);
      const none = {
        sourceBlob: undefined,
        sourceBytes: undefined,
        facts: undefined,
        code: undefined,
        message: undefined,
      };
      assert.deepEqual(await store.transcriptions.parts('e'), [
        { ...none, number: 0, source: 'x', state: 'succeeded', facts: '{}' },
        { ...none, number: 1, source: 'y', state: 'failed', code: 'DECODE_ERROR', message: 'm' },
      ]);
      await store.transcriptions.addWindow(
        { taskId: 'e', part: 0, channel: 0 },
        { number: 0, endSample: 1, text: '[]' },
      );
      await store.transcriptions.remove('e');
      assert.deepEqual(await store.transcriptions.parts('e'), []);
      assert.deepEqual(await store.transcriptions.windows({ taskId: 'e', part: 0, channel: 0 }), []);
    });
  });
}
