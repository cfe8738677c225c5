import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineEvent } from '../core/event.ts';
import { UNREAD_ANSWER_CHARS_MAX } from './limits.ts';
import { readAhead } from './read-ahead.ts';

type Batch = readonly EngineEvent[];

/** Lets everything that is due run. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const createText = (text: string): EngineEvent => ({ type: 'text', choice: 0, text, tokens: 1, phase: 0 });

/** Creates an answer that counts how many of its events were read, and whether it was read to its end or left. */
function createSource(events: readonly EngineEvent[], { fails = false } = {}) {
  const state = { readCount: 0, isClosed: false };
  async function* generate(): AsyncGenerator<Batch, void> {
    try {
      for (const event of events) {
        state.readCount += 1;
        yield [event];
      }
      if (fails) throw new Error('broke off');
    } finally {
      state.isClosed = true;
    }
  }
  return { state, batches: readAhead(generate()) };
}

describe('readAhead', () => {
  it('reads an answer to its end before its reader takes anything', async () => {
    const events = Array.from({ length: 1000 }, (_, index) => createText(String(index)));
    const { state, batches } = createSource(events);
    while (!state.isClosed) await yieldToEventLoop();
    assert.deepEqual((await Array.fromAsync(batches)).flat(), events);
  });

  it('reads no more than its limit ahead, and the rest when the reader has taken that', async () => {
    const half = createText('x'.repeat(UNREAD_ANSWER_CHARS_MAX / 2));
    const { state, batches } = createSource(Array.from({ length: 5 }, () => half));
    for (let turn = 0; turn < 10; turn += 1) await yieldToEventLoop();
    assert.deepEqual([state.readCount, state.isClosed], [2, false]);
    assert.equal((await Array.fromAsync(batches)).flat().length, 5);
    assert.equal(state.isClosed, true);
  });

  it('counts alternative tokens', async () => {
    const top = Array.from({ length: 20 }, () => ({ token: 'x', bytes: [120], logprob: -1 }));
    const logprobs = [{ token: 'x', bytes: [120], logprob: -1, top }];
    const event: EngineEvent = { type: 'text', choice: 0, text: 'x', tokens: 1, phase: 0, logprobs };
    const { state, batches } = createSource(Array.from({ length: 1000 }, () => event));
    for (let turn = 0; turn < 1000; turn += 1) await yieldToEventLoop();
    assert.ok(state.readCount > 20 && state.readCount < 200, `${state.readCount} events`);
    await batches[Symbol.asyncIterator]().return?.();
  });

  it('passes a failure on after the events before it', async () => {
    const { state, batches } = createSource([createText('a'), createText('b')], { fails: true });
    while (!state.isClosed) await yieldToEventLoop();
    const read: EngineEvent[] = [];
    const readAll = async (): Promise<void> => {
      for await (const batch of batches) read.push(...batch);
    };
    await assert.rejects(readAll(), { message: 'broke off' });
    assert.equal(read.length, 2);
  });

  it('closes the answer when its reader leaves', async () => {
    const long = createText('x'.repeat(UNREAD_ANSWER_CHARS_MAX));
    const { state, batches } = createSource([long, long]);
    await yieldToEventLoop();
    await batches[Symbol.asyncIterator]().return?.();
    while (!state.isClosed) await yieldToEventLoop();
    assert.equal(state.readCount, 1);
  });
});
