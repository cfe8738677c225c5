import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTurns } from './turns.ts';
import type { Task } from './turns.ts';

const owner = (key: string) => ({ workspace: 'w', key });
const never = new AbortController().signal;

/** Tasks that wait until they are let go. */
function gate() {
  const started: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const task =
    (name: string): Task<string> =>
    async () => {
      started.push(name);
      await promise;
      return name;
    };
  return { started, open: resolve, task };
}

describe('turns', () => {
  it('run one task at a time, callers in turn, and give each caller its results in order', async () => {
    const turns = createTurns({ placesMax: 8, waitMsMax: 60_000 });
    const { started, open, task } = gate();
    const all = Promise.all([
      turns.run(owner('a'), [task('a1'), task('a2'), task('a3')], never),
      turns.run(owner('b'), [task('b1'), task('b2')], never),
    ]);
    assert.deepEqual(started, ['a1']);
    open();
    assert.deepEqual(await all, [
      ['a1', 'a2', 'a3'],
      ['b1', 'b2'],
    ]);
    // The second of the first waited already when the other came.
    assert.deepEqual(started, ['a1', 'a2', 'b1', 'a3', 'b2']);
  });

  it('run what is in the background when nobody else waits, also between two of its tasks', async () => {
    const turns = createTurns({ placesMax: 8, waitMsMax: 60_000 });
    const { started, open, task } = gate();
    const all = Promise.all([
      turns.run(
        { ...owner('a'), priority: 'background' },
        [task('behind 1'), task('behind 2'), task('behind 3')],
        never,
      ),
      turns.run(owner('b'), [task('b1'), task('b2')], never),
      turns.run(owner('c'), [task('c1')], never),
    ]);
    open();
    await all;
    assert.deepEqual(started, ['behind 1', 'b1', 'c1', 'b2', 'behind 2', 'behind 3']);
  });

  it('refuse a key beyond its share and everybody beyond the places', async () => {
    const turns = createTurns({ placesMax: 4, waitMsMax: 60_000 });
    const { open, task } = gate();
    const run = (key: string) => turns.run(owner(key), [task(key)], never);
    const running = run('a');
    const waiting = [run('a'), run('a'), run('b'), run('b')];
    await assert.rejects(run('a'), /this key already holds its share/);
    await assert.rejects(run('c'), (error: Error & { refusal?: { kind: string; retryAfterSeconds: number } }) => {
      assert.equal(error.refusal?.kind, 'queue-full');
      assert.ok(error.refusal.retryAfterSeconds > 0);
      return true;
    });
    open();
    await Promise.all([running, ...waiting]);
  });

  it('end with the reason of the caller who leaves, tell the running task, and go on with the next', async () => {
    const turns = createTurns({ placesMax: 4, waitMsMax: 60_000 });
    const { open, task } = gate();
    const caller = new AbortController();
    let isOver: () => boolean = () => false;
    const left = turns.run(
      owner('a'),
      [
        async (asked) => {
          isOver = asked;
          return await task('a1')(asked);
        },
        task('a2'),
      ],
      caller.signal,
    );
    const next = turns.run(owner('b'), [task('b1')], never);
    caller.abort();
    await assert.rejects(left, { kind: 'cancelled' });
    assert.ok(isOver());
    open();
    assert.deepEqual(await next, ['b1']);
    await assert.rejects(turns.run(owner('a'), [task('a')], caller.signal), { kind: 'cancelled' });
  });

  it('pass a fault on to whose work it was, and go on with the next', async () => {
    const turns = createTurns({ placesMax: 4, waitMsMax: 60_000 });
    const broken = turns.run(owner('a'), [() => Promise.reject(new Error('broken')), async () => 'never'], never);
    const next = turns.run(owner('b'), [async () => 'b'], never);
    await assert.rejects(broken, /broken/);
    assert.deepEqual(await next, ['b']);
  });

  it('refuse what waits too long for its first turn', async () => {
    const turns = createTurns({ placesMax: 4, waitMsMax: 1 });
    const { open, task } = gate();
    const first = turns.run(owner('a'), [task('a')], never);
    await assert.rejects(turns.run(owner('b'), [task('b')], never), /did not come within 1 ms/);
    open();
    assert.deepEqual(await first, ['a']);
  });
});
