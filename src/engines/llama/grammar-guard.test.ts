import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  GRAMMAR_SAMPLE_MS_MAX,
  GRAMMAR_SAMPLE_MS_PLAIN,
  GRAMMAR_SLOW_MS_MAX,
  GRAMMAR_SLOW_SHARE,
  GRAMMAR_STUCK_BUSY_MS_MAX,
  GRAMMAR_STUCK_MAX,
  GRAMMAR_STUCK_MS_MAX,
} from './limits.ts';
import { createGrammarGuard, SlowGrammarError } from './grammar-guard.ts';

function createSetup(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const setup = { now: 0, cpu: 0, isIdle: false, kills: 0 };
  const guard = createGrammarGuard({
    clock: { now: () => setup.now, monotonic: () => setup.now },
    cpuMs: () => setup.cpu,
    isIdle: () => setup.isIdle,
    killProcess: () => setup.kills++,
  });
  /** Advances the clock; the threads are busy all the time, or for `cpu` ms of it. */
  const advance = (ms: number, cpu = ms): void => {
    setup.now += ms;
    setup.cpu += cpu;
    t.mock.timers.tick(ms);
  };
  const watchSampling = (workspace = 'w') => {
    const { promise, resolve } = Promise.withResolvers<number>();
    return { watched: guard.watch(promise, workspace), resolve };
  };
  const tokenAfter = (ms: number, workspace?: string): Promise<number> => {
    const { watched, resolve } = watchSampling(workspace);
    advance(ms);
    resolve(7);
    return watched;
  };
  /** A sampling that does not return until the result is passed to the returned function. */
  const createStuckSampling = async () => {
    const { watched, resolve } = watchSampling();
    const rejected = assert.rejects(watched, SlowGrammarError);
    // Other stuck samplings take a share of the processor time.
    advance(GRAMMAR_SAMPLE_MS_MAX * (GRAMMAR_STUCK_MAX + 1) + 1);
    await rejected;
    return resolve;
  };
  return { setup, guard, advance, createStuckSampling, tokenAfter, watchSampling };
}

describe('createGrammarGuard', () => {
  it('passes tokens on that take the usual time', async (t) => {
    const { tokenAfter } = createSetup(t);
    for (let i = 0; i < 100; i++) assert.equal(await tokenAfter(GRAMMAR_SAMPLE_MS_PLAIN), 7);
  });

  it('limits the slow time of all answers of a workspace together, and forgets a tenth of the elapsed time', async (t) => {
    const { tokenAfter, advance } = createSetup(t);
    const above = 500;
    const slowToken = (workspace: string): Promise<number> => tokenAfter(GRAMMAR_SAMPLE_MS_PLAIN + above, workspace);
    for (let i = 0; i < GRAMMAR_SLOW_MS_MAX / above; i++) await slowToken('slow');
    await assert.rejects(slowToken('slow'), SlowGrammarError);
    assert.equal(await slowToken('other'), 7);
    await assert.rejects(slowToken('slow'), SlowGrammarError);
    advance((GRAMMAR_SLOW_MS_MAX * 2) / GRAMMAR_SLOW_SHARE, 0);
    assert.equal(await slowToken('slow'), 7);
  });

  it('blames no grammar while the process is suspended or the machine busy', async (t) => {
    const { advance, watchSampling } = createSetup(t);
    for (let i = 0; i < 20; i++) {
      const { watched, resolve } = watchSampling();
      advance(GRAMMAR_SAMPLE_MS_MAX * 3, 20);
      await new Promise((done) => setImmediate(done));
      resolve(i);
      assert.equal(await watched, i);
    }
  });

  it('divides processor time among concurrent samplings', async (t) => {
    const { setup, advance, watchSampling } = createSetup(t);
    const [slow, quick] = [watchSampling(), watchSampling()];
    advance(GRAMMAR_SAMPLE_MS_MAX * 1.5);
    await new Promise((done) => setImmediate(done));
    quick.resolve(1);
    assert.equal(await quick.watched, 1, 'half of it is not too much');
    const rejected = assert.rejects(slow.watched, SlowGrammarError);
    advance(GRAMMAR_SAMPLE_MS_MAX / 2);
    await rejected;
    assert.equal(setup.kills, 0);
    const beside = watchSampling();
    advance(GRAMMAR_SAMPLE_MS_MAX);
    await new Promise((done) => setImmediate(done));
    beside.resolve(2);
    assert.equal(await beside.watched, 2, 'the one that is stuck has its share too');
  });

  it('passes on a failure of the library', async (t) => {
    const { guard } = createSetup(t);
    await assert.rejects(guard.watch(Promise.reject(new Error('no candidates')), 'w'), /no candidates/);
  });

  it('kills the process for a stuck thread when it is idle, and later also when it is in use', async (t) => {
    const { setup, advance, createStuckSampling } = createSetup(t);
    await createStuckSampling();
    advance(GRAMMAR_STUCK_MS_MAX + 2_000);
    assert.equal(setup.kills, 0, 'a request is running');
    setup.isIdle = true;
    advance(1_000);
    assert.ok(setup.kills > 0);
    setup.kills = 0;
    setup.isIdle = false;
    advance(GRAMMAR_STUCK_BUSY_MS_MAX);
    assert.ok(setup.kills > 0);
  });

  it('forgets a thread that returned', async (t) => {
    const { setup, advance, createStuckSampling } = createSetup(t);
    (await createStuckSampling())(1);
    await Promise.resolve();
    setup.isIdle = true;
    advance(GRAMMAR_STUCK_BUSY_MS_MAX * 2);
    assert.equal(setup.kills, 0);
  });

  it('kills the process at once when too many threads are stuck', async (t) => {
    const { setup, createStuckSampling } = createSetup(t);
    for (let i = 0; i < GRAMMAR_STUCK_MAX; i++) await createStuckSampling();
    assert.equal(setup.kills, 0);
    await createStuckSampling();
    assert.equal(setup.kills, 1);
  });
});
