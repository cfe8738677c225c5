import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ignoredHeader } from './ignored.ts';

test('names are percent-encoded and come once', () => {
  assert.deepEqual(ignoredHeader(['tools', 'größe', 'a,b', 'tools', '\r\nx: y', '\ud800']), {
    'x-parley-ignored': 'tools,gr%C3%B6%C3%9Fe,a%2Cb,%0D%0Ax%3A%20y,%EF%BF%BD',
  });
});

test('no names, no header', () => assert.deepEqual(ignoredHeader([]), {}));

test('at most 20 names and 1 KB', () => {
  const many = ignoredHeader(Array.from({ length: 50 }, (_, index) => `field_${index}`))['x-parley-ignored'] ?? '';
  assert.equal(many.split(',').length, 20);
  const long = ignoredHeader(['x'.repeat(2000), 'y'.repeat(1000), 'z'.repeat(100), 'w'])['x-parley-ignored'] ?? '';
  assert.ok(long.length <= 1024);
  assert.ok(long.startsWith('yyy') && long.endsWith(',w'));
});

test('a parenthesis, as in max_tokens(clamped), stays readable', () => {
  assert.deepEqual(ignoredHeader(['max_tokens(clamped)']), { 'x-parley-ignored': 'max_tokens(clamped)' });
});
