import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { TestContext } from 'node:test';
import { createWatch } from './watch.ts';
import type { Watch } from './watch.ts';

let cuts = 0;
let time = 0;
let watch: Watch;

/** Time passes for timers and for the clock. */
function pass(t: TestContext, ms: number): void {
  for (let each = 0; each < ms; each++) {
    time++;
    t.mock.timers.tick(1);
  }
}

beforeEach(() => {
  cuts = 0;
  watch = createWatch(
    () => cuts++,
    () => time,
  );
});

test('a step that takes too long is cut off, once, and named', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  watch.begin('connecting', 10);
  pass(t, 9);
  assert.deepEqual([cuts, watch.expired()], [0, undefined]);
  pass(t, 1);
  assert.deepEqual([cuts, watch.expired()], [1, 'connecting took longer than 10 ms']);
  watch.begin('the answer', 10);
  pass(t, 100);
  assert.equal(cuts, 1);
});

test('each step has its own time, also where one follows its like', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  watch.begin('connecting', 10);
  pass(t, 9);
  for (let piece = 0; piece < 3; piece++) {
    watch.begin('the next piece', 20);
    pass(t, 19);
  }
  assert.equal(cuts, 0);
  pass(t, 1);
  assert.equal(watch.expired(), 'the next piece took longer than 20 ms');
});

test('while it is held nothing is waited for, and the next step has its whole time', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  watch.begin('the next piece', 10);
  watch.hold();
  pass(t, 100);
  watch.begin('the next piece', 10);
  pass(t, 9);
  assert.equal(cuts, 0);
  pass(t, 1);
  assert.equal(cuts, 1);
});

test('at rest nothing is waited for any more', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  watch.begin('the next piece', 10);
  watch.rest();
  pass(t, 100);
  assert.equal(cuts, 0);
});
