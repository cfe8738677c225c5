import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobProgress } from '../core/job.ts';
import { createProgressTracker } from './progress-tracker.ts';

describe('createProgressTracker', () => {
  /** Returns for each report whether the job advanced. */
  const listAdvances = (last: JobProgress | undefined, ...reports: readonly JobProgress[]): boolean[] => {
    const tracker = createProgressTracker(last);
    return reports.map((progress) => {
      tracker.report(progress);
      return tracker.take().hasAdvanced;
    });
  };

  it('advances when done exceeds its highest value so far', () => {
    assert.deepEqual(listAdvances(undefined, { done: 0 }, { done: 2 }, { done: 2 }, { done: 1 }, { done: 3 }), [
      false,
      true,
      false,
      false,
      true,
    ]);
  });

  it('does not advance up to the value of the previous attempt', () => {
    const last = { done: 5, step: 'lines' };
    assert.deepEqual(
      listAdvances(last, { done: 0, step: 'reading' }, { done: 4, step: 'lines' }, { done: 6, step: 'lines' }),
      [false, false, true],
    );
  });

  it('counts a new step from its first reported value', () => {
    assert.deepEqual(
      listAdvances({ done: 90, step: 'checking' }, { done: 7, step: 'lines' }, { done: 8, step: 'lines' }),
      [false, true],
    );
  });

  it('returns pending progress once, unless it is restored', () => {
    const tracker = createProgressTracker(undefined);
    assert.deepEqual(tracker.take(), { hasAdvanced: false });
    tracker.report({ done: 1 });
    const taken = tracker.take();
    assert.deepEqual(taken, { progress: { done: 1 }, hasAdvanced: true });
    assert.deepEqual(tracker.peek(), { hasAdvanced: false });
    tracker.restore(taken);
    assert.deepEqual(tracker.peek(), taken);
    // A later report is newer than the restored one.
    tracker.take();
    tracker.report({ done: 1, total: 4 });
    tracker.restore(taken);
    assert.deepEqual(tracker.take(), { progress: { done: 1, total: 4 }, hasAdvanced: true });
  });
});
