import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLinkedAbort } from './linked-abort.ts';

test('aborts with its parent’s reason, also when the parent was aborted before', () => {
  const parent = new AbortController();
  const early = createLinkedAbort(parent.signal);
  parent.abort('why');
  assert.equal(early.signal.reason, 'why');
  assert.equal(createLinkedAbort(parent.signal).signal.reason, 'why');
});

test('aborts by itself without aborting its parent', () => {
  const parent = new AbortController();
  const child = createLinkedAbort(parent.signal);
  child.abort('own');
  assert.equal(child.signal.reason, 'own');
  assert.equal(parent.signal.aborted, false);
});

test('ignores its parent once unlinked', () => {
  const parent = new AbortController();
  const child = createLinkedAbort(parent.signal);
  child.unlink();
  parent.abort();
  assert.equal(child.signal.aborted, false);
});
