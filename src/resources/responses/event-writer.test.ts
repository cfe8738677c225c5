import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BACKGROUND_EVENT_CHARS_MAX, BACKGROUND_WRITE_CHARS_MAX } from '../../core/limits.ts';
import type { EventChunk } from '../../store/response-events.ts';
import { createEventWriter } from './event-writer.ts';

const event = (text: string): string => `id:1\ndata:${text}\n\n`;

/** A writer, what it wrote, and a clock that ticks when the test says so. */
function room({ first = 0, charsBefore = 0 } = {}) {
  const written: EventChunk[] = [];
  const failures: unknown[] = [];
  let gate = Promise.resolve();
  let failWith: Error | undefined;
  let tick = () => undefined as void;
  let isClosed = false;
  let writing = 0;
  const writer = createEventWriter({
    first,
    charsBefore,
    every(_, run) {
      tick = run;
      return () => void (isClosed = true);
    },
    async write(chunk) {
      assert.equal(++writing, 1, 'two writes at a time');
      await gate;
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
      await settled();
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    failNext: (error: Error) => void (failWith = error),
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('events that are written', () => {
  it('are written at once after a silence, and then together', async () => {
    const { writer, written, tick } = room({ first: 3 });
    void writer.push(event('a') + event('b'));
    await settled();
    void writer.push(event('c'));
    void writer.push(event('d'));
    await settled();
    assert.deepEqual(written, [{ first: 3, texts: [event('a'), event('b')] }]);
    await tick();
    assert.deepEqual(written[1], { first: 5, texts: [event('c'), event('d')] });
    await tick();
    void writer.push(event('e'));
    await settled();
    assert.deepEqual(written[2], { first: 7, texts: [event('e')] });
  });

  it('are given back at the end where they are not written yet, behind what is being written', async () => {
    const { writer, written, hold, isClosed } = room();
    const goOn = hold();
    void writer.push(event('a'));
    void writer.push(event('b'));
    let isOver = false;
    const end = writer.end(event('c')).finally(() => (isOver = true));
    await settled();
    assert.equal(isOver, false);
    goOn();
    assert.deepEqual(await end, { first: 1, texts: [event('b'), event('c')] });
    assert.deepEqual(written, [{ first: 0, texts: [event('a')] }]);
    assert.ok(isClosed());
  });

  it('wait for room where the store is slower than they come', async () => {
    const { writer, written, hold } = room();
    const goOn = hold();
    void writer.push(event('a'));
    const much = event('x'.repeat(BACKGROUND_WRITE_CHARS_MAX));
    let hasRoom = false;
    const waiting = writer.push(much)?.then(() => (hasRoom = true));
    assert.ok(waiting);
    await settled();
    assert.equal(hasRoom, false);
    goOn();
    await waiting;
    assert.deepEqual(
      written.map(({ first }) => first),
      [0, 1],
    );
  });

  it('are never written twice at a time', async () => {
    const { writer, written, failures, hold, tick } = room();
    const goOn = hold();
    void writer.push(event('a'));
    for (const text of ['b', 'c']) {
      void writer.push(event(text) + event('x'.repeat(BACKGROUND_WRITE_CHARS_MAX)));
      await tick();
    }
    goOn();
    await settled();
    await tick();
    assert.deepEqual(failures, []);
    assert.equal(written.flatMap(({ texts }) => texts).length, 5);
  });

  it('end with the first failure, which is told once', async () => {
    const { writer, written, failures, failNext, tick } = room();
    failNext(new Error('disk'));
    void writer.push(event('a'));
    await settled();
    void writer.push(event('b'));
    await tick();
    assert.deepEqual([written, failures.length], [[], 1]);
    await assert.rejects(writer.end(event('c')), { kind: 'internal' });
  });

  it('have a bound for all of them, those before included', async () => {
    const { writer, failures } = room({ charsBefore: BACKGROUND_EVENT_CHARS_MAX - event('').length });
    void writer.push(event(''));
    assert.deepEqual(failures, []);
    void writer.push(event(''));
    assert.equal(Reflect.get(Object(failures[0]), 'kind'), 'too-large');
    await assert.rejects(writer.end(event('c')), { kind: 'too-large' });
  });
});
