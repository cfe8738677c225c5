import assert from 'node:assert/strict';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { BlobStore } from './blob-store.ts';
import { postponeDeletions } from './postponed-deletions.ts';

function createTestStore(failing: ReadonlySet<string> = new Set()) {
  const deleted: string[] = [];
  const warnings: string[] = [];
  const intervals: (() => void)[] = [];
  let isHeld = false;
  const inner: BlobStore = {
    put: () => Promise.resolve({ sizeBytes: 0, md5: '' }),
    read: () => Promise.reject(new Error('unused')),
    async delete(name) {
      if (failing.has(name)) throw new Error('disk');
      deleted.push(name);
    },
    abortUpload: () => Promise.resolve(),
    list: () => assert.fail('unused'),
    removeStaleUploads: () => Promise.resolve(0),
    close: () => Promise.resolve(void deleted.push('closed')),
  };
  const blobs = postponeDeletions(inner, {
    isHeld: () => isHeld,
    log: { warn: (text) => void warnings.push(text) },
    startInterval(_ms, run) {
      intervals.push(run);
      return () => void intervals.splice(intervals.indexOf(run), 1);
    },
  });
  return {
    blobs,
    deleted,
    warnings,
    intervals,
    hold: (held: boolean) => void (isHeld = held),
    async tick() {
      for (const run of intervals) run();
      for (let turn = 0; turn < 20; turn += 1) await yieldToEventLoop();
    },
  };
}

describe('postponed deletions', () => {
  it('deletes at once while no backup runs', async () => {
    const { blobs, deleted, intervals } = createTestStore();
    await blobs.delete('a');
    assert.deepEqual([deleted, intervals], [['a'], []]);
  });

  it('deletes after the backup, and then stops polling', async () => {
    const { blobs, deleted, intervals, hold, tick } = createTestStore();
    hold(true);
    await blobs.delete('a');
    await blobs.delete('b');
    await tick();
    assert.deepEqual(deleted, []);
    hold(false);
    await tick();
    assert.deepEqual([deleted, intervals], [['a', 'b'], []]);
  });

  it('keeps a blob that is written again meanwhile', async () => {
    const { blobs, deleted, hold, tick } = createTestStore();
    hold(true);
    await blobs.delete('a');
    await blobs.put('a', (async function* () {})());
    hold(false);
    await tick();
    assert.deepEqual(deleted, []);
  });

  it('deletes at the close what no backup holds any more, and leaves the rest to garbage collection', async () => {
    for (const isHeldAtClose of [false, true]) {
      const { blobs, deleted, hold, intervals } = createTestStore();
      hold(true);
      await blobs.delete('a');
      hold(isHeldAtClose);
      await blobs.close();
      assert.deepEqual([deleted, intervals], [isHeldAtClose ? ['closed'] : ['a', 'closed'], []]);
    }
  });

  it('logs a deletion that fails, and makes the others', async () => {
    const { blobs, deleted, warnings, hold, tick } = createTestStore(new Set(['a']));
    hold(true);
    await blobs.delete('a');
    await blobs.delete('b');
    hold(false);
    await tick();
    assert.deepEqual([deleted, warnings.length], [['b'], 1]);
  });
});
