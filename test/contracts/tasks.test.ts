import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import type { TaskRecord } from '../../src/store/tasks.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

/** A timestamp that does not fit into 32 bits. */
const NOW = 1_790_000_000_123;
const SCOPE = { region: 'cn-beijing', workspace: 'primary' } as const;
const STRANGERS = [
  { ...SCOPE, workspace: 'other' },
  { ...SCOPE, region: 'ap-southeast-1' },
] as const;

const createTask = (id: string, change: Partial<TaskRecord> = {}): TaskRecord => ({
  ...SCOPE,
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
  requestJson: '{"text":"O\'Brien 密钥 🔑"}',
  ...change,
});

describeOnDialects('tasks in the store', ({ onOpen }) => {
  let store: Store;
  onOpen((opened) => void ({ store } = opened));

  const insertTask = async (id: string, change: Partial<TaskRecord> = {}) => {
    const record = createTask(id, change);
    await store.tasks.insert(record);
    return record;
  };

  it('returns a task unchanged, to its owner only', async () => {
    for (const record of [
      await insertTask('a'),
      await insertTask('b', { status: 'failed', startedAt: NOW + 1, endedAt: NOW + 2, error: '{}' }),
    ]) {
      assert.deepEqual(await store.tasks.find(SCOPE, record.id), record);
      assert.deepEqual(await store.tasks.findInAnyTenant(record.id), record);
      for (const stranger of STRANGERS) assert.equal(await store.tasks.find(stranger, record.id), undefined);
    }
    await store.tasks.remove('a');
    assert.equal(await store.tasks.findInAnyTenant('a'), undefined);
  });

  it('starts and finishes a task once', async () => {
    await insertTask('once');
    assert.equal(await store.tasks.start('once', NOW + 1), true);
    assert.equal(await store.tasks.start('once', NOW + 9), true);
    assert.equal((await store.tasks.findInAnyTenant('once'))?.startedAt, NOW + 1);
    assert.equal(await store.tasks.cancel(SCOPE, 'once', NOW + 2), false);
    assert.equal(await store.tasks.finish('once', { status: 'succeeded', at: NOW + 3 }), true);
    assert.equal(await store.tasks.finish('once', { status: 'failed', at: NOW + 4, error: '{}' }), false);
    assert.equal(await store.tasks.start('once', NOW + 5), false);
    const { status, endedAt } = (await store.tasks.findInAnyTenant('once')) ?? assert.fail();
    assert.deepEqual([status, endedAt], ['succeeded', NOW + 3]);
    assert.equal(await store.tasks.start('nobody', NOW), false);
  });

  it('cancels a task that has not started, for its owner only', async () => {
    await insertTask('cancel');
    for (const stranger of STRANGERS) assert.equal(await store.tasks.cancel(stranger, 'cancel', NOW), false);
    assert.equal(await store.tasks.cancel(SCOPE, 'cancel', NOW + 1), true);
    assert.equal(await store.tasks.cancel(SCOPE, 'cancel', NOW + 2), false);
    assert.equal(await store.tasks.start('cancel', NOW + 3), false);
  });

  it('lists the tasks of an owner, newest first, by page and filter', async () => {
    const owner = { ...SCOPE, workspace: 'lists' };
    for (const [at, id] of ['l1', 'l2', 'l3', 'l4'].entries()) {
      await insertTask(id, {
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

  it('lists tasks that finished before a time, and no unfinished ones', async () => {
    await insertTask('old', { endedAt: 100, status: 'failed' });
    await insertTask('older', { endedAt: 50, status: 'failed' });
    assert.deepEqual(await store.tasks.listFinishedBefore({ before: 101, limit: 9 }), ['older', 'old']);
    assert.deepEqual(await store.tasks.listFinishedBefore({ before: 100, limit: 9 }), ['older']);
    assert.deepEqual(await store.tasks.listFinishedBefore({ before: 101, limit: 1 }), ['older']);
  });

  it('stores the transcribed windows of each audio in order, and the first text of a window', async () => {
    await store.transcriptions.insert('t', ['https://a.test/ä', 'fileid://b']);
    const window = { taskId: 't', part: 1, channel: 0 };
    await store.transcriptions.addWindow(window, { number: 1, endSample: 20, text: '["second"]' });
    await store.transcriptions.addWindow(window, { number: 0, endSample: 10, text: '["first"]' });
    await store.transcriptions.addWindow(window, { number: 0, endSample: 11, text: '["late"]' });
    assert.deepEqual(await store.transcriptions.listWindows(window), [
      { endSample: 10, text: '["first"]' },
      { endSample: 20, text: '["second"]' },
    ]);
    assert.deepEqual(await store.transcriptions.listWindows({ ...window, channel: 1 }), []);
    assert.deepEqual(await store.transcriptions.listWindows({ ...window, part: 0 }), []);
  });

  it('finishes an audio once', async () => {
    await store.transcriptions.insert('e', ['x', 'y']);
    await store.transcriptions.setSource('e', 0, { blob: 'audio_1' });
    assert.deepEqual([...(await store.transcriptions.filterReferenced(['audio_1', 'audio_2']))], ['audio_1']);
    await store.transcriptions.setSource('e', 1, { blob: 'audio_2', bytes: 3_000_000_000 });
    assert.equal((await store.transcriptions.listParts('e'))[1]?.sourceBytes, 3_000_000_000);
    await store.transcriptions.setSource('e', 1, undefined);
    assert.equal(await store.transcriptions.finishPart('e', 0, { state: 'succeeded', metadata: '{}' }), true);
    const failure = { state: 'failed', code: 'DECODE_ERROR', message: 'm' } as const;
    assert.equal(await store.transcriptions.finishPart('e', 0, failure), false);
    assert.equal(await store.transcriptions.finishPart('e', 1, failure), true);
    await store.transcriptions.setSource('e', 0, undefined);
    const none = {
      sourceBlob: undefined,
      sourceBytes: undefined,
      metadata: undefined,
      code: undefined,
      message: undefined,
    };
    assert.deepEqual(await store.transcriptions.listParts('e'), [
      { ...none, number: 0, source: 'x', state: 'succeeded', metadata: '{}' },
      { ...none, number: 1, source: 'y', state: 'failed', code: 'DECODE_ERROR', message: 'm' },
    ]);
    await store.transcriptions.addWindow({ taskId: 'e', part: 0, channel: 0 }, { number: 0, endSample: 1, text: '[]' });
    await store.transcriptions.remove('e');
    assert.deepEqual(await store.transcriptions.listParts('e'), []);
    assert.deepEqual(await store.transcriptions.listWindows({ taskId: 'e', part: 0, channel: 0 }), []);
  });
});
