import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHeldStream } from './held-stream.ts';

test('lines wait while the stream is held and come out in order', () => {
  const out: string[] = [];
  const stream = createHeldStream({ write: (text) => out.push(text) });
  stream.write('a');
  const release = stream.hold();
  stream.write('b');
  stream.write('c');
  assert.deepEqual(out, ['a']);
  release();
  release();
  stream.write('d');
  assert.deepEqual(out, ['a', 'b', 'c', 'd']);
});

test('what the stream still has waiting comes before the hold', () => {
  const out: string[] = [];
  const waiting: string[] = [];
  const stream = createHeldStream({
    write: (text) => waiting.push(text),
    flush: () => void out.push(...waiting.splice(0)),
  });
  stream.write('a');
  stream.hold();
  assert.deepEqual(out, ['a']);
});
