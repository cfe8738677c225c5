import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLruCache } from './lru-cache.ts';

test('evicts the least recently used entries, by number and by weight', () => {
  const lru = createLruCache<number>({ entriesMax: 3, weightMax: 10 });
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ] as const)
    lru.set(key, value, 2);
  assert.equal(lru.get('a'), 1);
  lru.set('d', 4, 2);
  assert.deepEqual(['a', 'b', 'c', 'd'].map(lru.get), [1, undefined, 3, 4]);
  lru.set('e', 5, 7);
  assert.deepEqual(['a', 'c', 'd', 'e'].map(lru.get), [undefined, undefined, 4, 5]);
});

test('replaces a key with another weight, and rejects an entry above weightMax', () => {
  const lru = createLruCache<number>({ entriesMax: 3, weightMax: 10 });
  lru.set('a', 1, 9);
  lru.set('a', 2, 1);
  lru.set('b', 3, 9);
  assert.deepEqual(['a', 'b'].map(lru.get), [2, 3]);
  lru.set('b', 4, 11);
  assert.deepEqual(['a', 'b'].map(lru.get), [2, undefined]);
});
