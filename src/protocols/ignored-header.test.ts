import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeIgnoredHeader } from './ignored-header.ts';

test('percent-encodes names and lists each once', () => {
  assert.deepEqual(encodeIgnoredHeader(['tools', 'größe', 'a,b', 'tools', '\r\nx: y', '\ud800']), {
    'x-parley-ignored': 'tools,gr%C3%B6%C3%9Fe,a%2Cb,%0D%0Ax%3A%20y,%EF%BF%BD',
  });
});

test('returns no header without names', () => assert.deepEqual(encodeIgnoredHeader([]), {}));

test('lists at most 20 names in at most 1 KB', () => {
  const many =
    encodeIgnoredHeader(Array.from({ length: 50 }, (_, index) => `field_${index}`))['x-parley-ignored'] ?? '';
  assert.equal(many.split(',').length, 20);
  const long =
    encodeIgnoredHeader(['x'.repeat(2000), 'y'.repeat(1000), 'z'.repeat(100), 'w'])['x-parley-ignored'] ?? '';
  assert.ok(long.length <= 1024);
  assert.ok(long.startsWith('yyy') && long.endsWith(',w'));
});

test('leaves parentheses readable, as in max_tokens(clamped)', () => {
  assert.deepEqual(encodeIgnoredHeader(['max_tokens(clamped)']), { 'x-parley-ignored': 'max_tokens(clamped)' });
});
