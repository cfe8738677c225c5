import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GenerationEvent, TokenLogprob } from '../../../core/event.ts';
import { CUMULATIVE_CHARS_PER_SECOND_MAX, LOGPROB_CHARS } from '../limits.ts';
import { createBatchQueue } from '../../../lib/batch-queue.ts';
import { coalesceBatches } from './coalesce-batches.ts';

const createDelta = (text: string): GenerationEvent => ({ type: 'block-delta', choice: 0, index: 0, text });
const END: GenerationEvent = { type: 'end', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 } };

/** Creates a reader whose source and clock the test controls. */
function createTestReader() {
  let now = 0;
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  let isReturned = false;
  const queue = createBatchQueue<GenerationEvent>({ waitingMax: 1_000, onReaderLeft: () => (isReturned = true) });
  const startTimer = (ms: number, run: () => void): (() => void) => {
    const timer = { at: now + ms, run };
    timers.push(timer);
    return () => (timers = timers.filter((each) => each !== timer));
  };
  const reader = coalesceBatches(queue, { clock: { monotonic: () => now }, startTimer })[Symbol.asyncIterator]();
  return {
    queue,
    reader,
    isReturned: () => isReturned,
    /** Settles pending work before and after moving the clock. */
    async advance(ms: number) {
      await yieldToEventLoop();
      now += ms;
      for (const { run } of timers.filter(({ at }) => at <= now)) run();
      await yieldToEventLoop();
    },
    async readTexts(step = reader.next()): Promise<string> {
      const { value, done } = await step;
      assert.notEqual(done, true);
      return (value as readonly GenerationEvent[]).map((event) => ('text' in event ? event.text : '.')).join('|');
    },
  };
}

const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('emits the first batch at once, and later batches within 100 ms together at the end of the interval', async () => {
  const { queue, reader, advance, readTexts } = createTestReader();
  queue.push(createDelta('a'));
  assert.equal(await readTexts(), 'a');
  const next = reader.next();
  queue.push(createDelta('b'));
  await advance(60);
  queue.push(createDelta('c'));
  await advance(39);
  queue.push(createDelta('d'));
  await advance(1);
  assert.equal(await readTexts(next), 'b|c|d');
});

test('emits a batch at once after a pause', async () => {
  const { queue, advance, readTexts } = createTestReader();
  queue.push(createDelta('a'));
  assert.equal(await readTexts(), 'a');
  await advance(101);
  queue.push(createDelta('b'));
  assert.equal(await readTexts(), 'b');
});

test('emits the end of a run at once, together with waiting events', async () => {
  const { queue, reader, readTexts, advance } = createTestReader();
  queue.push(createDelta('a'));
  assert.equal(await readTexts(), 'a');
  const next = reader.next();
  queue.push(createDelta('b'));
  await advance(10);
  queue.push(END);
  queue.end();
  assert.equal(await readTexts(next), 'b|.');
  assert.equal((await reader.next()).done, true);
});

test('emits waiting events before a failure', async () => {
  const { queue, reader, readTexts, advance } = createTestReader();
  queue.push(createDelta('a'));
  assert.equal(await readTexts(), 'a');
  const next = reader.next();
  queue.push(createDelta('b'));
  await advance(10);
  queue.fail(new Error('broken'));
  assert.equal(await readTexts(next), 'b');
  await assert.rejects(reader.next(), /broken/);
});

test('throws a failure that occurs between reads at the next read', async () => {
  const { queue, reader, readTexts, advance } = createTestReader();
  queue.push(createDelta('a'));
  assert.equal(await readTexts(), 'a');
  const next = reader.next();
  queue.push(createDelta('b'));
  await advance(100);
  assert.equal(await readTexts(next), 'b');
  queue.fail(new Error('broken'));
  await advance(0);
  await assert.rejects(reader.next(), /broken/);
});

test('repeats a longer answer less often', async () => {
  const { queue, reader, readTexts, advance } = createTestReader();
  const long = 'x'.repeat(CUMULATIVE_CHARS_PER_SECOND_MAX / 2);
  queue.push(createDelta(long));
  assert.equal(await readTexts(), long);
  const next = reader.next();
  queue.push(createDelta('b'));
  await advance(499);
  queue.push(createDelta('c'));
  await advance(1);
  assert.equal(await readTexts(next), 'b|c');
});

test('counts log probabilities as a part of the answer', async () => {
  const { queue, reader, readTexts, advance } = createTestReader();
  const one = { token: 'a', bytes: [97], logprob: -1 };
  const tokens = Math.ceil(CUMULATIVE_CHARS_PER_SECOND_MAX / (2 * LOGPROB_CHARS) / 2);
  const logprobs = Array<TokenLogprob>(tokens).fill({ ...one, top: [one] });
  queue.push({ type: 'block-delta', choice: 0, index: 0, text: 'a', logprobs });
  assert.equal(await readTexts(), 'a');
  const next = reader.next();
  queue.push(createDelta('b'));
  await advance(499);
  queue.push(createDelta('c'));
  await advance(2);
  assert.equal(await readTexts(next), 'b|c');
});

test('returns the source at once when the reader returns, even during a read', async () => {
  const { reader, isReturned } = createTestReader();
  const next = reader.next();
  await reader.return?.();
  assert.ok(isReturned());
  assert.equal((await next).done, true);
});
