import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { retrievalOf } from './retrieval.ts';

const read = (query: string, strict = false) => retrievalOf(new URLSearchParams(query), { strict });

describe('how a response is asked for', () => {
  test('is as a whole, or by its events from any of them on', () => {
    const whole = { isStreamed: false, after: -1, unknown: [] };
    assert.deepEqual(read(''), whole);
    assert.deepEqual(read('stream=false&stream='), whole);
    assert.deepEqual(read('stream=true'), { ...whole, isStreamed: true });
    assert.deepEqual(read('stream=true&starting_after=0'), { ...whole, isStreamed: true, after: 0 });
    assert.deepEqual(read('stream=true&starting_after=42'), { ...whole, isStreamed: true, after: 42 });
  });

  for (const value of ['', '-1', '1.5', '1e3', 'x', '0x1', ' 1', '9'.repeat(20)])
    test(`is refused behind ${JSON.stringify(value)}, streamed or not`, () => {
      for (const stream of ['true', 'false']) {
        const query = `stream=${stream}&starting_after=${encodeURIComponent(value)}`;
        assert.throws(() => read(query), { kind: 'invalid-request', param: 'starting_after' });
      }
    });

  test('is refused for a stream that is neither', () => {
    assert.throws(() => read('stream=1'), { kind: 'invalid-request', param: 'stream' });
  });

  test('names what nobody knows, or refuses it', () => {
    assert.deepEqual(read('include[]=x&include_obfuscation=false&made_up=1').unknown, ['made_up']);
    assert.throws(() => read('made_up=1', true), { param: 'made_up' });
  });
});
