import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { createSemaphore } from './semaphore.ts';

/** Lets all settled promises run. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Attempt {
  readonly abort: AbortController;
  state: 'waiting' | 'running' | 'aborted' | 'refused' | 'released';
  release?: () => void;
}

const Step = fc.oneof(
  fc.record({ type: fc.constant('acquire' as const) }),
  fc.record({ type: fc.constantFrom('release' as const, 'release-again' as const, 'abort' as const), at: fc.nat(20) }),
);

describe('createSemaphore', () => {
  it('behaves like a list of waiters for all sequences of calls', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.nat(4), fc.array(Step), async (permits, queueMax, steps) => {
        const semaphore = createSemaphore({
          permits,
          queueLengthMax: queueMax,
          createQueueFullError: () => new Error('full'),
        });
        const attempts: Attempt[] = [];
        const expected: Attempt['state'][] = [];
        const admit = (): void => {
          const running = expected.filter((state) => state === 'running').length;
          const next = expected.indexOf('waiting');
          if (running === permits || next < 0) return;
          expected[next] = 'running';
          admit();
        };
        for (const step of steps) {
          if (step.type === 'acquire') {
            const attempt: Attempt = { abort: new AbortController(), state: 'waiting' };
            attempts.push(attempt);
            semaphore.acquire(attempt.abort.signal).then(
              (release) => Object.assign(attempt, { release, state: 'running' }),
              (error: unknown) => (attempt.state = error instanceof Error ? 'refused' : 'aborted'),
            );
            const running = expected.filter((state) => state === 'running').length;
            const waiting = expected.filter((state) => state === 'waiting').length;
            expected.push(running < permits ? 'running' : waiting < queueMax ? 'waiting' : 'refused');
          } else {
            const index = step.at % Math.max(1, attempts.length);
            const attempt = attempts[index];
            const wanted = step.type === 'release' ? 'running' : step.type === 'abort' ? undefined : 'released';
            if (!attempt || (wanted && expected[index] !== wanted)) continue;
            if (step.type === 'abort') {
              attempt.abort.abort('gone');
              if (expected[index] === 'waiting') expected[index] = 'aborted';
            } else {
              attempt.release?.();
              attempt.state = 'released';
              expected[index] = 'released';
            }
            admit();
          }
          await yieldToEventLoop();
          assert.deepEqual(
            attempts.map(({ state }) => state),
            expected,
          );
        }
        for (const { abort, state } of attempts)
          if (state !== 'waiting') assert.equal(getEventListeners(abort.signal, 'abort').length, 0);
      }),
      { numRuns: scalePropertyRuns(200) },
    );
  });

  it('rejects with the reason of an aborted signal, also when a permit is free', async () => {
    const semaphore = createSemaphore({ permits: 1 });
    await assert.rejects(semaphore.acquire(AbortSignal.abort(new Error('gone'))), /gone/);
    (await semaphore.acquire())();
  });

  it('runs a limited number of tasks, the others in order, and continues after a failure', async () => {
    const semaphore = createSemaphore({ permits: 2 });
    const started: number[] = [];
    const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const tasks = gates.map(({ promise }, index) =>
      semaphore.run(() => {
        started.push(index);
        return promise;
      }),
    );
    await yieldToEventLoop();
    assert.deepEqual(started, [0, 1]);
    gates[1]?.reject(new Error('broken'));
    await assert.rejects(tasks[1] ?? Promise.resolve(), /broken/);
    await yieldToEventLoop();
    assert.deepEqual(started, [0, 1, 2]);
    for (const { resolve } of gates) resolve();
    await Promise.allSettled(tasks);
    assert.deepEqual(started, [0, 1, 2, 3]);
    assert.equal(await semaphore.run(async () => 'done'), 'done');
  });
});
