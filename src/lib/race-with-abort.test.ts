import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { raceWithAbort } from './race-with-abort.ts';

const never = new Promise<never>(() => undefined);

describe('raceWithAbort', () => {
  it('passes on the result and the failure of the task', async () => {
    const { signal } = new AbortController();
    assert.equal(await raceWithAbort(Promise.resolve(1), signal), 1);
    await assert.rejects(raceWithAbort(Promise.reject(new Error('broken')), signal), /broken/);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('throws the reason at the abort, and before the task if the signal has aborted', async () => {
    const controller = new AbortController();
    const race = raceWithAbort(never, controller.signal);
    controller.abort(new Error('gone'));
    await assert.rejects(race, /gone/);
    await assert.rejects(raceWithAbort(never, controller.signal), /gone/);
  });

  it('throws the error that the caller makes of the signal', async () => {
    const signal = AbortSignal.abort('gone');
    await assert.rejects(
      raceWithAbort(never, signal, ({ reason }) => new Error(`stopped: ${reason}`)),
      /stopped: gone/,
    );
  });

  it('ignores a failure of the task after the abort', async () => {
    const { promise, reject } = Promise.withResolvers<void>();
    await assert.rejects(raceWithAbort(promise, AbortSignal.abort(new Error('gone'))), /gone/);
    reject(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
  });
});
