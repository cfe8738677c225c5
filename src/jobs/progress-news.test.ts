import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobProgress } from '../core/job.ts';
import { createProgressTrack } from './progress-news.ts';

describe('what is new of the progress of a job', () => {
  /** For each report whether the job has moved by it. */
  const moves = (last: JobProgress | undefined, ...reports: readonly JobProgress[]): boolean[] => {
    const track = createProgressTrack(last);
    return reports.map((progress) => {
      track.report(progress);
      return track.take().hasMoved;
    });
  };

  it('is a move where it rises above what it ever was', () => {
    assert.deepEqual(moves(undefined, { done: 0 }, { done: 2 }, { done: 2 }, { done: 1 }, { done: 3 }), [
      false,
      true,
      false,
      false,
      true,
    ]);
  });

  it('is none up to where the attempt before was, so that what always dies there runs out of tries', () => {
    const last = { done: 5, step: 'lines' };
    assert.deepEqual(
      moves(last, { done: 0, step: 'reading' }, { done: 4, step: 'lines' }, { done: 6, step: 'lines' }),
      [false, false, true],
    );
  });

  it('begins with a new step where that begins', () => {
    assert.deepEqual(moves({ done: 90, step: 'checking' }, { done: 7, step: 'lines' }, { done: 8, step: 'lines' }), [
      false,
      true,
    ]);
  });

  it('is told once, unless it could not be written', () => {
    const track = createProgressTrack(undefined);
    assert.deepEqual(track.take(), { hasMoved: false });
    track.report({ done: 1 });
    const taken = track.take();
    assert.deepEqual(taken, { progress: { done: 1 }, hasMoved: true });
    assert.deepEqual(track.look(), { hasMoved: false });
    track.putBack(taken);
    assert.deepEqual(track.look(), taken);
    // What was reported meanwhile is newer.
    track.take();
    track.report({ done: 1, total: 4 });
    track.putBack(taken);
    assert.deepEqual(track.take(), { progress: { done: 1, total: 4 }, hasMoved: true });
  });
});
