import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createExtractionWaiter } from './extraction-waiter.ts';
import { EXTRACT_WAIT_BYTES_MAX, EXTRACT_WAIT_MS_MAX } from './limits.ts';

function createTestWaiter() {
  const timers: { readonly run: () => void; readonly ms: number; isStopped: boolean }[] = [];
  const waiter = createExtractionWaiter((run, ms) => {
    const timer = { run, ms, isStopped: false };
    timers.push(timer);
    return () => void (timer.isStopped = true);
  });
  return { waiter, timers };
}

const SMALL = [
  { id: 'a', sizeBytes: 1 },
  { id: 'b', sizeBytes: 2 },
];

test('waits until the extraction of each file has ended', async () => {
  const { waiter, timers } = createTestWaiter();
  let isOver = false;
  const waiting = waiter.wait(SMALL).then(() => void (isOver = true));
  waiter.reportEnd('a');
  waiter.reportEnd('another');
  await new Promise(setImmediate);
  assert.equal(isOver, false);
  waiter.reportEnd('b');
  await waiting;
  assert.deepEqual([timers[0]?.ms, timers[0]?.isStopped], [EXTRACT_WAIT_MS_MAX, true]);
});

test('waits no longer than its limit', async () => {
  const { waiter, timers } = createTestWaiter();
  const waiting = waiter.wait(SMALL);
  timers[0]?.run();
  await waiting;
  waiter.reportEnd('a');
});

test('does not wait for large files', async () => {
  const { waiter, timers } = createTestWaiter();
  await waiter.wait([{ id: 'a', sizeBytes: EXTRACT_WAIT_BYTES_MAX }, ...SMALL]);
  assert.equal(timers.length, 0);
});
