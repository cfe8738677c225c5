import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeNativeHeaders } from './headers.ts';

test('encodes times of a call as whole milliseconds that add up', () => {
  assert.deepEqual(encodeNativeHeaders({ arrivedAt: 1_735_120_033_000.4, elapsedMs: 12.6, isComplete: false }), {
    'x-dashscope-call-gateway': 'true',
    'x-dashscope-finished': 'false',
    'req-arrive-time': '1735120033000',
    'resp-start-time': '1735120033013',
    'req-cost-time': '13',
    'cache-control': 'no-cache',
    vary: 'Origin,Accept-Encoding',
  });
});
