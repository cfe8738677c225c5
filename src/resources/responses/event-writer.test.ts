import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BACKGROUND_EVENT_CHARS_MAX, BACKGROUND_WRITE_CHARS_MAX } from './limits.ts';
import type { ResponseEventChunk } from '../../store/response-events.ts';
import { createEventWriter } from './event-writer.ts';

const event = (text: string): string => `id:1\ndata:${text}\n\n`;

/** A writer that records its chunks, with a manual interval. */
function createTestWriter({ first = 0, charsBefore = 0 } = {}) {
  const written: ResponseEventChunk[] = [];
  const failures: unknown[] = [];
  let blocked = Promise.resolve();
  let failWith: Error | undefined;
  let tick = () => undefined as void;
  let isClosed = false;
  let writing = 0;
  const writer = createEventWriter({
    firstNumber: first,
    charsBefore,
    startInterval(_, run) {
      tick = run;
      return () => void (isClosed = true);
    },
    async write(chunk) {
      assert.equal(++writing, 1, 'writes overlap');
      await blocked;
      writing -= 1;
      if (failWith) throw failWith;
      written.push(chunk);
    },
    onFailure: (error) => void failures.push(error),
  });
  return {
    writer,
    written,
    failures,
    isClosed: () => isClosed,
    tick: async () => {
      tick();
      await yieldToEventLoop();
    },
    block() {
      const { promise, resolve } = Promise.withResolvers<void>();
      blocked = promise;
      return resolve;
    },
    failNext: (error: Error) => void (failWith = error),
  };
}

const yieldToEventLoop = () => new Promise((resolve) => setImmediate(resolve));

describe('event writer', () => {
  it('writes the first event after a pause at once and later ones together', async () => {
    const { writer, written, tick } = createTestWriter({ first: 3 });
    void writer.push(event('a') + event('b'));
    await yieldToEventLoop();
    void writer.push(event('c'));
    void writer.push(event('d'));
    await yieldToEventLoop();
    assert.deepEqual(written, [{ first: 3, texts: [event('a'), event('b')] }]);
    await tick();
    assert.deepEqual(written[1], { first: 5, texts: [event('c'), event('d')] });
    await tick();
    void writer.push(event('e'));
    await yieldToEventLoop();
    assert.deepEqual(written[2], { first: 7, texts: [event('e')] });
  });

  it('returns unwritten events at the end, after the running write', async () => {
    const { writer, written, block, isClosed } = createTestWriter();
    const unblock = block();
    void writer.push(event('a'));
    void writer.push(event('b'));
    let isFinished = false;
    const lastChunk = writer.finish(event('c')).finally(() => (isFinished = true));
    await yieldToEventLoop();
    assert.equal(isFinished, false);
    unblock();
    assert.deepEqual(await lastChunk, { first: 1, texts: [event('b'), event('c')] });
    assert.deepEqual(written, [{ first: 0, texts: [event('a')] }]);
    assert.ok(isClosed());
  });

  it('makes the caller wait while the buffer is full', async () => {
    const { writer, written, block } = createTestWriter();
    const unblock = block();
    void writer.push(event('a'));
    const much = event('x'.repeat(BACKGROUND_WRITE_CHARS_MAX));
    let isAccepted = false;
    const accepted = writer.push(much)?.then(() => (isAccepted = true));
    assert.ok(accepted);
    await yieldToEventLoop();
    assert.equal(isAccepted, false);
    unblock();
    await accepted;
    assert.deepEqual(
      written.map(({ first }) => first),
      [0, 1],
    );
  });

  it('never overlaps writes', async () => {
    const { writer, written, failures, block, tick } = createTestWriter();
    const unblock = block();
    void writer.push(event('a'));
    for (const text of ['b', 'c']) {
      void writer.push(event(text) + event('x'.repeat(BACKGROUND_WRITE_CHARS_MAX)));
      await tick();
    }
    unblock();
    await yieldToEventLoop();
    await tick();
    assert.deepEqual(failures, []);
    assert.equal(written.flatMap(({ texts }) => texts).length, 5);
  });

  it('stops at the first failure and reports it once', async () => {
    const { writer, written, failures, failNext, tick } = createTestWriter();
    failNext(new Error('disk'));
    void writer.push(event('a'));
    await yieldToEventLoop();
    void writer.push(event('b'));
    await tick();
    assert.deepEqual([written, failures.length], [[], 1]);
    await assert.rejects(writer.finish(event('c')), { kind: 'internal' });
  });

  it('limits the total size of events, earlier ones included', async () => {
    const { writer, failures } = createTestWriter({ charsBefore: BACKGROUND_EVENT_CHARS_MAX - event('').length });
    void writer.push(event(''));
    assert.deepEqual(failures, []);
    void writer.push(event(''));
    assert.equal(Reflect.get(Object(failures[0]), 'kind'), 'too-large');
    await assert.rejects(writer.finish(event('c')), { kind: 'too-large' });
  });
});
