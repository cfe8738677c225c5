import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeNumberedFrame } from './numbered-frame.ts';

test('escapes Unicode line separators, so that data stays on one line', () => {
  assert.equal(
    encodeNumberedFrame({ id: 1, event: 'result', status: 200, data: { text: 'a\n\u0085\u2028\u2029b' } }),
    'id:1\nevent:result\n:HTTP_STATUS/200\ndata:{"text":"a\\n\\u0085\\u2028\\u2029b"}\n\n',
  );
});
