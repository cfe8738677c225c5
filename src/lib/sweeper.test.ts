import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { startSweeper } from './sweeper.ts';

describe('a sweeper', () => {
  it('begins at once and at each of its times, one at a time, and ends when what runs has ended', async () => {
    const begun: PromiseWithResolvers<void>[] = [];
    const failures: unknown[] = [];
    let isOver = (): boolean => true;
    let tick = (): void => assert.fail('nobody asked for its times');
    let isStopped = false;
    const sweeper = startSweeper({
      everyMs: 5,
      sweep(over) {
        isOver = over;
        const sweep = Promise.withResolvers<void>();
        begun.push(sweep);
        return sweep.promise;
      },
      onFailure: (error) => failures.push(error),
      every(ms, run) {
        assert.equal(ms, 5);
        tick = run;
        return () => {
          isStopped = true;
        };
      },
    });
    assert.deepEqual([begun.length, isOver()], [1, false]);
    tick();
    assert.equal(begun.length, 1, 'the first one still runs');
    begun[0]?.reject('no luck');
    await turnOfOthers();
    assert.deepEqual(failures, ['no luck']);
    tick();
    assert.equal(begun.length, 2);
    let isClosed = false;
    const closed = sweeper.close().then(() => {
      isClosed = true;
    });
    assert.ok(isStopped && isOver());
    await turnOfOthers();
    assert.equal(isClosed, false, 'the second one still runs');
    begun[1]?.resolve();
    await closed;
  });
});
