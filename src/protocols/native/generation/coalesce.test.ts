import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GenerationEvent, TokenLogprob } from '../../../core/event.ts';
import { CUMULATIVE_CHARS_PER_SECOND_MAX, LOGPROB_CHARS } from '../../../core/limits.ts';
import { createBatchQueue } from '../../../lib/batch-queue.ts';
import { coalesced } from './coalesce.ts';

const say = (text: string): GenerationEvent => ({ type: 'block-delta', choice: 0, index: 0, text });
const END: GenerationEvent = { type: 'end', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 } };

/** A source that is fed by hand, and a clock that is moved by hand. */
function createRoom() {
  let now = 0;
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  let isReturned = false;
  const queue = createBatchQueue<GenerationEvent>({ waitingMax: 1_000, onReturn: () => (isReturned = true) });
  const after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: now + ms, run };
    timers.push(timer);
    return () => (timers = timers.filter((each) => each !== timer));
  };
  const reader = coalesced(queue, { clock: { monotonic: () => now }, after })[Symbol.asyncIterator]();
  return {
    queue,
    reader,
    isReturned: () => isReturned,
    /** What is waiting runs first: nothing of this room takes time by itself. */
    async pass(ms: number) {
      await settled();
      now += ms;
      for (const { run } of timers.filter(({ at }) => at <= now)) run();
      await settled();
    },
    async texts(step = reader.next()): Promise<string> {
      const { value, done } = await step;
      assert.notEqual(done, true);
      return (value as readonly GenerationEvent[]).map((event) => ('text' in event ? event.text : '.')).join('|');
    },
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the first batch goes out at once, what follows within 100 ms goes out together, after them', async () => {
  const { queue, reader, pass, texts } = createRoom();
  queue.push(say('a'));
  assert.equal(await texts(), 'a');
  const next = reader.next();
  queue.push(say('b'));
  await pass(60);
  queue.push(say('c'));
  await pass(39);
  queue.push(say('d'));
  await pass(1);
  assert.equal(await texts(next), 'b|c|d');
});

test('after a silence nothing waits', async () => {
  const { queue, pass, texts } = createRoom();
  queue.push(say('a'));
  assert.equal(await texts(), 'a');
  await pass(101);
  queue.push(say('b'));
  assert.equal(await texts(), 'b');
});

test('the end of a run does not wait, and takes along what waited', async () => {
  const { queue, reader, texts, pass } = createRoom();
  queue.push(say('a'));
  assert.equal(await texts(), 'a');
  const next = reader.next();
  queue.push(say('b'));
  await pass(10);
  queue.push(END);
  queue.end();
  assert.equal(await texts(next), 'b|.');
  assert.equal((await reader.next()).done, true);
});

test('a failure comes after what was said before it', async () => {
  const { queue, reader, texts, pass } = createRoom();
  queue.push(say('a'));
  assert.equal(await texts(), 'a');
  const next = reader.next();
  queue.push(say('b'));
  await pass(10);
  queue.fail(new Error('broken'));
  assert.equal(await texts(next), 'b');
  await assert.rejects(reader.next(), /broken/);
});

test('a failure that comes while nobody asks is told when somebody does', async () => {
  const { queue, reader, texts, pass } = createRoom();
  queue.push(say('a'));
  assert.equal(await texts(), 'a');
  const next = reader.next();
  queue.push(say('b'));
  await pass(100);
  assert.equal(await texts(next), 'b');
  queue.fail(new Error('broken'));
  await pass(0);
  await assert.rejects(reader.next(), /broken/);
});

test('the longer the answer, the further apart it is repeated', async () => {
  const { queue, reader, texts, pass } = createRoom();
  const long = 'x'.repeat(CUMULATIVE_CHARS_PER_SECOND_MAX / 2);
  queue.push(say(long));
  assert.equal(await texts(), long);
  const next = reader.next();
  queue.push(say('b'));
  await pass(499);
  queue.push(say('c'));
  await pass(1);
  assert.equal(await texts(next), 'b|c');
});

test('log probabilities are part of what is repeated', async () => {
  const { queue, reader, texts, pass } = createRoom();
  const one = { token: 'a', bytes: [97], logprob: -1 };
  const tokens = Math.ceil(CUMULATIVE_CHARS_PER_SECOND_MAX / (2 * LOGPROB_CHARS) / 2);
  const logprobs = Array<TokenLogprob>(tokens).fill({ ...one, top: [one] });
  queue.push({ type: 'block-delta', choice: 0, index: 0, text: 'a', logprobs });
  assert.equal(await texts(), 'a');
  const next = reader.next();
  queue.push(say('b'));
  await pass(499);
  queue.push(say('c'));
  await pass(2);
  assert.equal(await texts(next), 'b|c');
});

test('a reader that leaves ends the source at once, also while a step is waited for', async () => {
  const { reader, isReturned } = createRoom();
  const next = reader.next();
  await reader.return?.();
  assert.ok(isReturned());
  assert.equal((await next).done, true);
});
