import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkedAbort } from './linked-abort.ts';

test('it aborts with its parent, for the parent’s reason, also when that was before', () => {
  const parent = new AbortController();
  const early = linkedAbort(parent.signal);
  parent.abort('why');
  assert.equal(early.signal.reason, 'why');
  assert.equal(linkedAbort(parent.signal).signal.reason, 'why');
});

test('it aborts by itself and leaves its parent alone', () => {
  const parent = new AbortController();
  const child = linkedAbort(parent.signal);
  child.abort('own');
  assert.equal(child.signal.reason, 'own');
  assert.equal(parent.signal.aborted, false);
});

test('unlinked, it hears of its parent no more', () => {
  const parent = new AbortController();
  const child = linkedAbort(parent.signal);
  child.unlink();
  parent.abort();
  assert.equal(child.signal.aborted, false);
});
