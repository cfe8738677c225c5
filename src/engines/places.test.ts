import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { fitsBeside } from './priority.ts';
import { createPlaces } from './places.ts';

const place = (total = 2, { queuePlacesMax = 8, queueWaitMsMax = 60_000 } = {}) =>
  createPlaces({
    fits: ({ owner, count, taken }) => fitsBeside(owner, { wanted: count, taken, total }),
    queuePlacesMax,
    queueWaitMsMax,
  });
const asker = (key = 'k', signal = new AbortController().signal) => ({ owner: { workspace: 'w', key }, signal });

const behind = (key = 'k') => ({
  owner: { workspace: 'w', key, priority: 'background' as const },
  signal: new AbortController().signal,
});

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

  it('go to background requests but for the last one, and when no live one waits', async () => {
    const places = place(2);
    const order: string[] = [];
    const wait = (name: string, asked: Promise<() => void>): Promise<() => void> =>
      asked.then((free) => (order.push(name), free));
    const first = await places.take(1, behind());
    const second = wait('background', places.take(1, behind()));
    await settled();
    assert.deepEqual(order, [], 'the last place is for a live request');
    const live = await places.take(1, asker());
    const nextLive = wait('live', places.take(1, asker()));
    first();
    (await nextLive)();
    assert.deepEqual(order, ['live'], 'it came later and went first');
    live();
    (await second)();
    assert.deepEqual(order, ['live', 'background']);
  });

  it('all go to the background request that wants all, when nothing is taken', async () => {
    const places = place(2);
    (await places.take(2, behind()))();
    const single = place(1);
    (await single.take(1, behind()))();
  });

  it('that background requests wait for are no reason to refuse a live one', async () => {
    const places = place(1, { queuePlacesMax: 4 });
    const free = await places.take(1, asker());
    const waiting = ['a', 'b'].map((key) => places.take(1, behind(key)));
    await assert.rejects(places.take(1, behind('c')), { kind: 'overloaded' });
    const live = ['a', 'b', 'a', 'b'].map((key) => places.take(1, asker(key)));
    await assert.rejects(places.take(1, asker('c')), { kind: 'overloaded' });
    free();
    for (const each of [...live, ...waiting]) (await each)();
  });

  it('go to reserved requests first, which are not refused because live ones wait, and wait for longer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const places = place(1, { queuePlacesMax: 2, queueWaitMsMax: 5 });
    const reserved = () => ({
      owner: { workspace: 'w', key: 'r', priority: 'reserved' as const },
      signal: new AbortController().signal,
    });
    const order: string[] = [];
    const free = await places.take(1, asker());
    const live = ['a', 'b'].map((key) => places.take(1, asker(key)));
    await assert.rejects(places.take(1, asker('c')), { kind: 'overloaded' });
    const kept = places.take(1, reserved()).then((give) => (order.push('reserved'), give));
    const tooLong = live.map((each) => assert.rejects(each, { kind: 'overloaded' }, 'they waited for too long'));
    t.mock.timers.tick(5);
    await Promise.all(tooLong);
    const later = assert.rejects(places.take(1, asker()), { kind: 'overloaded' }, 'a later one did, too');
    t.mock.timers.tick(5);
    await later;
    const late = places.take(1, asker()).then((give) => (order.push('live'), give));
    free();
    (await kept)();
    (await late)();
    assert.deepEqual(order, ['reserved', 'live']);
  });

  it('are waited for longer by a background request', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const places = place(1, { queueWaitMsMax: 5 });
    const free = await places.take(1, asker());
    const patient = places.take(1, behind());
    const refused = assert.rejects(places.take(1, asker()), { kind: 'overloaded' });
    t.mock.timers.tick(5);
    await refused;
    free();
    (await patient)();
  });
});
