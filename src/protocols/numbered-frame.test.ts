import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numberedFrame } from './numbered-frame.ts';

test('data stays on its line for readers that end lines where Unicode does', () => {
  assert.equal(
    numberedFrame({ id: 1, event: 'result', status: 200, data: { text: 'a\n\u0085\u2028\u2029b' } }),
    'id:1\nevent:result\n:HTTP_STATUS/200\ndata:{"text":"a\\n\\u0085\\u2028\\u2029b"}\n\n',
  );
});
