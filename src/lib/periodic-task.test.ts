import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { startPeriodicTask } from './periodic-task.ts';

describe('startPeriodicTask', () => {
  it('runs at once and at each interval, one run at a time, and closes after the current run', async () => {
    const startedRuns: PromiseWithResolvers<void>[] = [];
    const failures: unknown[] = [];
    let isClosing = (): boolean => true;
    let tick = (): void => assert.fail('no interval was started');
    let isStopped = false;
    const sweeper = startPeriodicTask({
      intervalMs: 5,
      run(isTaskClosing) {
        isClosing = isTaskClosing;
        const currentRun = Promise.withResolvers<void>();
        startedRuns.push(currentRun);
        return currentRun.promise;
      },
      onFailure: (error) => failures.push(error),
      startInterval(ms, run) {
        assert.equal(ms, 5);
        tick = run;
        return () => {
          isStopped = true;
        };
      },
    });
    assert.deepEqual([startedRuns.length, isClosing()], [1, false]);
    tick();
    assert.equal(startedRuns.length, 1, 'the first run continues');
    startedRuns[0]?.reject('no luck');
    await turnOfOthers();
    assert.deepEqual(failures, ['no luck']);
    tick();
    assert.equal(startedRuns.length, 2);
    let isClosed = false;
    const closed = sweeper.close().then(() => {
      isClosed = true;
    });
    assert.ok(isStopped && isClosing());
    await turnOfOthers();
    assert.equal(isClosed, false, 'the second one still runs');
    startedRuns[1]?.resolve();
    await closed;
  });
});
