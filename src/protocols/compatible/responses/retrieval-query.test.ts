import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeRetrievalQuery } from './retrieval-query.ts';

const decodeQuery = (query: string, strict = false) => decodeRetrievalQuery(new URLSearchParams(query), { strict });

describe('decoding a retrieval query', () => {
  test('accepts the whole response, or its events after a sequence number', () => {
    const whole = { isStreamed: false, after: -1, unknown: [] };
    assert.deepEqual(decodeQuery(''), whole);
    assert.deepEqual(decodeQuery('stream=false&stream='), whole);
    assert.deepEqual(decodeQuery('stream=true'), { ...whole, isStreamed: true });
    assert.deepEqual(decodeQuery('stream=true&starting_after=0'), { ...whole, isStreamed: true, after: 0 });
    assert.deepEqual(decodeQuery('stream=true&starting_after=42'), { ...whole, isStreamed: true, after: 42 });
  });

  for (const value of ['', '-1', '1.5', '1e3', 'x', '0x1', ' 1', '9'.repeat(20)])
    test(`rejects starting_after ${JSON.stringify(value)}, streamed or not`, () => {
      for (const stream of ['true', 'false']) {
        const query = `stream=${stream}&starting_after=${encodeURIComponent(value)}`;
        assert.throws(() => decodeQuery(query), { kind: 'invalid-request', param: 'starting_after' });
      }
    });

  test('rejects an invalid stream value', () => {
    assert.throws(() => decodeQuery('stream=1'), { kind: 'invalid-request', param: 'stream' });
  });

  test('names unknown fields, or rejects them in strict mode', () => {
    assert.deepEqual(decodeQuery('include[]=x&include_obfuscation=false&made_up=1').unknown, ['made_up']);
    assert.throws(() => decodeQuery('made_up=1', true), { param: 'made_up' });
  });
});
