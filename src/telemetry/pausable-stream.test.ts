import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPausableStream } from './pausable-stream.ts';

test('keeps lines while paused and writes them in order afterwards', () => {
  const out: string[] = [];
  const stream = createPausableStream({ write: (text) => out.push(text) });
  stream.write('a');
  const release = stream.pause();
  stream.write('b');
  stream.write('c');
  assert.deepEqual(out, ['a']);
  release();
  release();
  stream.write('d');
  assert.deepEqual(out, ['a', 'b', 'c', 'd']);
});

test('flushes the underlying stream before a pause', () => {
  const out: string[] = [];
  const waiting: string[] = [];
  const stream = createPausableStream({
    write: (text) => waiting.push(text),
    flush: () => void out.push(...waiting.splice(0)),
  });
  stream.write('a');
  stream.pause();
  assert.deepEqual(out, ['a']);
});
