import assert from 'node:assert/strict';
import { beforeEach, test, type TestContext } from 'node:test';
import { createStepTimer, type StepTimer } from './step-timer.ts';

let cuts = 0;
let time = 0;
let timer: StepTimer;

/** Advances timers and the clock. */
function advance(t: TestContext, ms: number): void {
  for (let each = 0; each < ms; each++) {
    time++;
    t.mock.timers.tick(1);
  }
}

beforeEach(() => {
  cuts = 0;
  timer = createStepTimer(
    () => cuts++,
    () => time,
  );
});

test('expires once, with the name of the step', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  timer.startStep('connecting', 10);
  advance(t, 9);
  assert.deepEqual([cuts, timer.getExpiredStep()], [0, undefined]);
  advance(t, 1);
  assert.deepEqual([cuts, timer.getExpiredStep()], [1, 'connecting took longer than 10 ms']);
  timer.startStep('the answer', 10);
  advance(t, 100);
  assert.equal(cuts, 1);
});

test('limits each step separately, even two steps with the same name', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  timer.startStep('connecting', 10);
  advance(t, 9);
  for (let piece = 0; piece < 3; piece++) {
    timer.startStep('the next piece', 20);
    advance(t, 19);
  }
  assert.equal(cuts, 0);
  advance(t, 1);
  assert.equal(timer.getExpiredStep(), 'the next piece took longer than 20 ms');
});

test('has no limit while paused, and gives the next step its full time', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  timer.startStep('the next piece', 10);
  timer.pause();
  advance(t, 100);
  timer.startStep('the next piece', 10);
  advance(t, 9);
  assert.equal(cuts, 0);
  advance(t, 1);
  assert.equal(cuts, 1);
});

test('never expires after it was stopped', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  timer.startStep('the next piece', 10);
  timer.stop();
  advance(t, 100);
  assert.equal(cuts, 0);
});
