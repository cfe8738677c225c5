import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KEY_USE_WRITE_IDS_MAX, KEY_USE_WRITE_MS } from '../limits.ts';
import { createKeyUseRecorder } from './key-use-recorder.ts';

const MINUTE = Date.parse('2026-07-01T12:00:00Z');

/** Creates a recorder whose writes are collected, and whose interval the test ends. */
function createTestRecorder() {
  const writes: { readonly ids: readonly string[]; readonly at: number }[] = [];
  const warnings: string[] = [];
  let now = MINUTE;
  let failure: Error | undefined;
  let isRunning = true;
  let runs: () => void = () => undefined;
  const recorder = createKeyUseRecorder({
    store: {
      async recordUses(ids, at) {
        if (failure) throw failure;
        writes.push({ ids, at });
      },
    },
    clock: { now: () => now },
    log: { warn: (message) => void warnings.push(message) },
    startInterval(ms, run) {
      assert.equal(ms, KEY_USE_WRITE_MS);
      runs = run;
      return () => void (isRunning = false);
    },
  });
  return {
    recorder,
    writes,
    warnings,
    isRunning: () => isRunning,
    setNow: (at: number) => void (now = at),
    setFailure: (error: Error | undefined) => void (failure = error),
    async endInterval() {
      runs();
      await new Promise(setImmediate);
    },
  };
}

describe('the recorder of key uses', () => {
  it('writes all keys of an interval at once, each with its last minute', async () => {
    const { recorder, writes, setNow, endInterval } = createTestRecorder();
    for (let use = 0; use < 1000; use++) recorder.record('key_a');
    recorder.record('key_b');
    setNow(MINUTE + 59_999);
    recorder.record('key_c');
    assert.deepEqual(writes, []);
    await endInterval();
    assert.deepEqual(writes, [{ ids: ['key_a', 'key_b', 'key_c'], at: MINUTE }]);
    await endInterval();
    assert.equal(writes.length, 1, 'nothing was used since');
    recorder.record('key_a');
    setNow(MINUTE + 60_000);
    recorder.record('key_b');
    recorder.record('key_a');
    await endInterval();
    assert.deepEqual(writes.at(-1), { ids: ['key_a', 'key_b'], at: MINUTE + 60_000 });
  });

  it('limits the keys of one write', async () => {
    const { recorder, writes, endInterval } = createTestRecorder();
    for (let key = 0; key <= KEY_USE_WRITE_IDS_MAX; key++) recorder.record(`key_${key}`);
    await endInterval();
    assert.deepEqual(
      writes.map(({ ids }) => ids.length),
      [KEY_USE_WRITE_IDS_MAX, 1],
    );
  });

  it('reports a failed write and repeats it', async () => {
    const { recorder, writes, warnings, setFailure, endInterval } = createTestRecorder();
    setFailure(new Error('disk full'));
    recorder.record('key_a');
    await endInterval();
    assert.deepEqual(warnings, ['last uses of keys not written']);
    setFailure(undefined);
    await endInterval();
    assert.deepEqual(writes, [{ ids: ['key_a'], at: MINUTE }], 'what failed is written with the next interval');
  });

  it('writes the last uses when it is closed', async () => {
    const { recorder, writes, isRunning } = createTestRecorder();
    recorder.record('key_a');
    await recorder.close();
    assert.equal(writes.length, 1);
    assert.equal(isRunning(), false);
  });
});
