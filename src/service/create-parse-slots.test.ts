import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { createParseSlots } from './create-parse-slots.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Slots whose clock and timers the test controls. */
function createTestSlots() {
  let now = 0;
  const pendingWork: (() => void)[] = [];
  const timers: { readonly callback: () => void; readonly ms: number }[] = [];
  const acquire = createParseSlots({
    clock: { monotonic: () => now },
    afterPendingWork: (callback) => pendingWork.push(callback),
    startTimer: (callback, ms) => timers.push({ callback, ms }),
  });
  const order: string[] = [];
  return {
    order,
    acquire: async (keyId: string, signal = new AbortController().signal): Promise<() => void> => {
      const release = await acquire({ workspace: keyId, keyId, region: 'cn-beijing' }, signal);
      order.push(keyId);
      return release;
    },
    /** Lets the endpoint block the event loop for this long. */
    work(ms: number) {
      now += ms;
      for (const callback of pendingWork.splice(0)) callback();
    },
    /** Ends the pause, and returns its length in ms. */
    endPause(): number | undefined {
      const timer = timers.shift();
      timer?.callback();
      return timer?.ms;
    },
  };
}

test('parses one body at a time, and pauses as long as each took', async () => {
  const { acquire, order, work, endPause } = createTestSlots();
  const release = await acquire('a');
  const second = acquire('b');
  await nextTurn();
  assert.deepEqual(order, ['a']);
  release();
  work(80);
  await nextTurn();
  assert.deepEqual(order, ['a'], 'the event loop is left to other requests');
  assert.equal(endPause(), 80);
  (await second)();
  assert.deepEqual(order, ['a', 'b']);
});

test('alternates between workspaces, however many bodies of one wait', async () => {
  const { acquire, order, work, endPause } = createTestSlots();
  const parse = async (workspace: string): Promise<void> => {
    const release = await acquire(workspace);
    release();
    work(10);
  };
  const all = ['attacker', 'attacker', 'attacker', 'attacker', 'other'].map(parse);
  do await nextTurn();
  while (endPause() !== undefined);
  await Promise.all(all);
  assert.deepEqual(order, ['attacker', 'attacker', 'other', 'attacker', 'attacker']);
});

test('refuses more bodies of a key than half of the queue with 429, and accepts one of another key', async () => {
  const { acquire } = createTestSlots();
  await acquire('attacker');
  const clients = new AbortController();
  const waiting = Array.from({ length: 128 }, () => acquire('attacker', clients.signal));
  await assert.rejects(acquire('attacker'), { kind: 'rate-limited', retryAfterSeconds: 2 });
  const other = acquire('other', clients.signal);
  clients.abort();
  for (const result of await Promise.allSettled([...waiting, other]))
    assert.ok(
      result.status === 'rejected' && result.reason instanceof ServiceError && result.reason.kind === 'cancelled',
    );
});
