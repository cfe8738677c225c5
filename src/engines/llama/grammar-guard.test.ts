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
  t.mock.timers.enable({ apis: ['setInterval'] });
  const room = { now: 0, cpu: 0, isIdle: false, ends: 0 };
  const guard = createGrammarGuard({
    clock: { now: () => room.now, monotonic: () => room.now },
    cpuMs: () => room.cpu,
    isIdle: () => room.isIdle,
    end: () => room.ends++,
  });
  /** The wall's clock goes on, and our threads work all the while or so much of it. */
  const pass = (ms: number, cpu = ms): void => {
    room.now += ms;
    room.cpu += cpu;
    t.mock.timers.tick(ms);
  };
  const watchNew = (spent = { slowMs: 0 }) => {
    const { promise, resolve } = Promise.withResolvers<number>();
    return { watched: guard.watch(promise, spent), resolve };
  };
  /** A token that does not come back until told. */
  const stick = async () => {
    const { watched, resolve } = watchNew();
    const rejected = assert.rejects(watched, SlowGrammarError);
    // What else is stuck takes its share.
    pass(GRAMMAR_SAMPLE_MS_MAX * (GRAMMAR_STUCK_MAX + 1) + 1);
    await rejected;
    return resolve;
  };
  return { room, guard, pass, stick, watchNew };
}

describe('the guard over grammars', () => {
  it('lets tokens through, and counts what they took above the usual', async (t) => {
    const { pass, watchNew } = createRoom(t);
    const spent = { slowMs: 0 };
    const tokenAfter = (ms: number): Promise<number> => {
      const { watched, resolve } = watchNew(spent);
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

  it('blames no grammar where the process was stopped, or the machine is busy with others', async (t) => {
    const { pass, watchNew } = createRoom(t);
    const spent = { slowMs: 0 };
    for (let i = 0; i < 20; i++) {
      const { watched, resolve } = watchNew(spent);
      pass(GRAMMAR_SAMPLE_MS_MAX * 3, 20);
      await new Promise((done) => setImmediate(done));
      resolve(i);
      assert.equal(await watched, i);
    }
    assert.equal(spent.slowMs, 0);
  });

  it('shares out what those that run at a time use together', async (t) => {
    const { room, pass, watchNew } = createRoom(t);
    const [slow, quick] = [watchNew(), watchNew()];
    pass(GRAMMAR_SAMPLE_MS_MAX * 1.5);
    await new Promise((done) => setImmediate(done));
    quick.resolve(1);
    assert.equal(await quick.watched, 1, 'half of it is not too much');
    const rejected = assert.rejects(slow.watched, SlowGrammarError);
    pass(GRAMMAR_SAMPLE_MS_MAX / 2);
    await rejected;
    assert.equal(room.ends, 0);
    const beside = watchNew();
    pass(GRAMMAR_SAMPLE_MS_MAX);
    await new Promise((done) => setImmediate(done));
    beside.resolve(2);
    assert.equal(await beside.watched, 2, 'the one that is stuck has its share too');
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
