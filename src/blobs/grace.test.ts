import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { giveGrace } from './grace.ts';
import { createPlaces } from './places.ts';

describe('grace', () => {
  it('ends after its time, once nobody wants the work any more', async () => {
    const wanted = new AbortController();
    const grace = giveGrace(wanted.signal, 1);
    assert.equal(grace.signal.aborted, false);
    wanted.abort();
    assert.equal(grace.signal.aborted, false);
    await once(grace.signal, 'abort');
  });

  it('ends also where nobody wanted it from the start', async () => {
    await once(giveGrace(AbortSignal.abort(), 1).signal, 'abort');
  });

  it('never ends after the work has', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const wanted = new AbortController();
    const grace = giveGrace(wanted.signal, 1);
    wanted.abort();
    grace.end();
    t.mock.timers.tick(10);
    assert.equal(grace.signal.aborted, false);
  });
});

describe('places', () => {
  it('let so many in at once, the others in order, and are free again after a failure', async () => {
    const places = createPlaces(2);
    const begun: number[] = [];
    const doors = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const works = doors.map(({ promise }, index) =>
      places.within(() => {
        begun.push(index);
        return promise;
      }),
    );
    assert.deepEqual(begun, [0, 1]);
    doors[1]?.reject(new Error('broken'));
    await assert.rejects(works[1] ?? Promise.resolve(), /broken/);
    assert.deepEqual(begun, [0, 1, 2]);
    for (const { resolve } of doors) resolve();
    await Promise.allSettled(works);
    assert.deepEqual(begun, [0, 1, 2, 3]);
    assert.equal(await places.within(async () => 'in'), 'in');
  });
});
