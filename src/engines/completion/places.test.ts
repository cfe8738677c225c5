import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { createPlaces } from './places.ts';

const place = (total = 2, { queuePlacesMax = 8, queueWaitMsMax = 60_000 } = {}) =>
  createPlaces({ total: () => total, queuePlacesMax, queueWaitMsMax });
const asker = (key = 'k', signal = new AbortController().signal) => ({ owner: { workspace: 'w', key }, signal });

/** Everything that is due now has happened. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('places at a server', () => {
  it('are all given at once, or waited for, strictly in turn', async () => {
    const places = place();
    const order: string[] = [];
    const freeOne = await places.take(1, asker());
    const both = places.take(2, asker('a')).then((free) => (order.push('both'), free));
    const one = places.take(1, asker('b')).then((free) => (order.push('one'), free));
    await settled();
    assert.deepEqual(order, [], 'one place is free, but it is not the turn of who wants it');
    freeOne();
    const freeBoth = await both;
    assert.deepEqual(order, ['both']);
    freeBoth();
    (await one)();
  });

  it('come back once, however often they are given back', async () => {
    const places = place(1);
    const free = await places.take(1, asker());
    free();
    free();
    await places.take(1, asker());
    const caller = new AbortController();
    const third = places.take(1, asker('k', caller.signal));
    await settled();
    caller.abort();
    await assert.rejects(third, { kind: 'cancelled' });
  });

  it('are not waited for by who is gone, and whoever is behind moves up', async () => {
    const places = place(2);
    await places.take(1, asker());
    const caller = new AbortController();
    const large = places.take(2, asker('a', caller.signal));
    const small = places.take(1, asker('b'));
    caller.abort(new ServiceError('timeout', 'too late'));
    await assert.rejects(large, { kind: 'timeout' });
    await small;
    await assert.rejects(places.take(1, asker('c', AbortSignal.abort())), { kind: 'cancelled' });
  });

  it('are refused where too many wait, a key has its share, or it takes too long', async () => {
    const places = place(1, { queuePlacesMax: 2 });
    const free = await places.take(1, asker());
    const first = places.take(1, asker('a'));
    await assert.rejects(places.take(1, asker('a')), { kind: 'rate-limited' });
    const second = places.take(1, asker('b'));
    await assert.rejects(places.take(1, asker('c')), (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.kind, 'overloaded');
      assert.ok((error.retryAfterSeconds ?? 0) > 0);
      return true;
    });
    free();
    (await first)();
    (await second)();
    const slow = place(1, { queueWaitMsMax: 1 });
    await slow.take(1, asker());
    await assert.rejects(slow.take(1, asker()), { kind: 'overloaded' });
  });
});
