import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import {
  GRAMMAR_SAMPLE_MS_MAX,
  GRAMMAR_SAMPLE_MS_PLAIN,
  GRAMMAR_SLOW_MS_MAX,
  GRAMMAR_STUCK_BUSY_MS_MAX,
  GRAMMAR_STUCK_MAX,
  GRAMMAR_STUCK_MS_MAX,
} from '../../core/limits.ts';
import { createGrammarGuard, SlowGrammarError } from './grammar-guard.ts';

function createRoom(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const room = { now: 0, isIdle: false, ends: 0 };
  const guard = createGrammarGuard({
    clock: { now: () => room.now, monotonic: () => room.now },
    isIdle: () => room.isIdle,
    end: () => room.ends++,
  });
  const pass = (ms: number): void => {
    room.now += ms;
    t.mock.timers.tick(ms);
  };
  /** A token that does not come back until told. */
  const stick = async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const watched = assert.rejects(guard.watch(promise, { slowMs: 0 }), SlowGrammarError);
    pass(GRAMMAR_SAMPLE_MS_MAX);
    await watched;
    return resolve;
  };
  return { room, guard, pass, stick };
}

describe('the guard over grammars', () => {
  it('lets tokens through, and counts what they took above the usual', async (t) => {
    const { guard, pass } = createRoom(t);
    const spent = { slowMs: 0 };
    const tokenAfter = (ms: number): Promise<number> => {
      const { promise, resolve } = Promise.withResolvers<number>();
      const watched = guard.watch(promise, spent);
      pass(ms);
      resolve(7);
      return watched;
    };
    for (let i = 0; i < 100; i++) assert.equal(await tokenAfter(GRAMMAR_SAMPLE_MS_PLAIN), 7);
    assert.equal(spent.slowMs, 0);
    const above = 500;
    for (let i = 0; i < GRAMMAR_SLOW_MS_MAX / above; i++) await tokenAfter(GRAMMAR_SAMPLE_MS_PLAIN + above);
    assert.equal(spent.slowMs, GRAMMAR_SLOW_MS_MAX);
    await assert.rejects(tokenAfter(GRAMMAR_SAMPLE_MS_PLAIN + above), SlowGrammarError);
  });

  it('passes a failure of the library on', async (t) => {
    const { guard } = createRoom(t);
    await assert.rejects(guard.watch(Promise.reject(new Error('no candidates')), { slowMs: 0 }), /no candidates/);
  });

  it('ends the process when a thread does not come back and nobody uses it, later also when somebody does', async (t) => {
    const { room, pass, stick } = createRoom(t);
    await stick();
    pass(GRAMMAR_STUCK_MS_MAX + 2_000);
    assert.equal(room.ends, 0, 'somebody uses it');
    room.isIdle = true;
    pass(1_000);
    assert.ok(room.ends > 0);
    room.ends = 0;
    room.isIdle = false;
    pass(GRAMMAR_STUCK_BUSY_MS_MAX);
    assert.ok(room.ends > 0);
  });

  it('forgets a thread that came back', async (t) => {
    const { room, pass, stick } = createRoom(t);
    (await stick())(1);
    await Promise.resolve();
    room.isIdle = true;
    pass(GRAMMAR_STUCK_BUSY_MS_MAX * 2);
    assert.equal(room.ends, 0);
  });

  it('ends the process at once when too many threads are stuck', async (t) => {
    const { room, stick } = createRoom(t);
    for (let i = 0; i < GRAMMAR_STUCK_MAX; i++) await stick();
    assert.equal(room.ends, 0);
    await stick();
    assert.equal(room.ends, 1);
  });
});
