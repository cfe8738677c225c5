import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createLinkedAbort, createTimedAbort } from './linked-abort.ts';

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

test('aborts with the first of several parents, and ignores all of them once unlinked', () => {
  const parents = [new AbortController(), new AbortController()] as const;
  const child = createLinkedAbort(parents[0].signal, parents[1].signal);
  const unlinked = createLinkedAbort(parents[0].signal, parents[1].signal);
  unlinked.unlink();
  parents[1].abort('second');
  parents[0].abort('first');
  assert.equal(child.signal.reason, 'second');
  assert.equal(unlinked.signal.aborted, false);
});

test('aborts after a time with the reason that is then created, unless it is unlinked', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const timed = createTimedAbort(undefined, 50, () => 'late');
    const unlinked = createTimedAbort(new AbortController().signal, 50, () => assert.fail('the timer was stopped'));
    unlinked.unlink();
    mock.timers.tick(49);
    assert.equal(timed.signal.aborted, false);
    mock.timers.tick(1);
    assert.equal(timed.signal.reason, 'late');
    assert.equal(unlinked.signal.aborted, false);
  } finally {
    mock.timers.reset();
  }
});
