import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Priority } from '../core/context.ts';
import { createManualClock } from './pool/__fixtures__/manual-clock.ts';
import { ROTATION_MS, SHARE_RESERVE_MS, YIELD_MS } from './limits.ts';
import { createSequencePool, type RunSequences, type SequencePoolOptions } from './sequence-pool.ts';

const NEVER = new AbortController().signal;

let leaving = new AbortController();
/** Ends what still waits. */
afterEach(() => {
  leaving.abort();
  leaving = new AbortController();
});

/** Lets everything that is due run. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface TestRun {
  readonly workspace?: string;
  readonly key?: string;
  readonly priority?: Priority;
  readonly choices?: number;
  readonly canInterrupt?: boolean;
  readonly hasStarted?: boolean;
  readonly onInterrupt?: () => void;
  readonly isUnread?: () => boolean;
  readonly signal?: AbortSignal;
}

function createTestPool({ total = 2, ...options }: Partial<SequencePoolOptions> & { readonly total?: number } = {}) {
  const clock = createManualClock();
  const pool = createSequencePool({
    getTotal: () => total,
    workspaceShare: 0.5,
    hasLiveReserve: false,
    queueLengthMax: 8,
    queueWaitMsMax: 60_000,
    clock,
    ...options,
  });
  const acquire = ({
    workspace = 'a',
    key = 'k',
    priority,
    choices = 1,
    canInterrupt = true,
    hasStarted = false,
    signal = leaving.signal,
    ...reader
  }: TestRun): Promise<RunSequences> => {
    const owner = { workspace, key, ...(priority ? { priority } : {}) };
    const run = { owner, choices, canInterrupt: () => canInterrupt, hasStarted, ...reader };
    const acquired = pool.acquire(run, signal);
    acquired.catch(() => undefined);
    return acquired;
  };
  /** Returns whether each run has a sequence. */
  const getStates = (...runs: readonly RunSequences[]): readonly boolean[] =>
    runs.map((run) => run.waitWhileInterrupted(NEVER) === undefined);
  return { pool, clock, acquire, getStates };
}

describe('createSequencePool', () => {
  it('gives a newcomer a sequence of a workspace above its share, after a slice', async () => {
    const { clock, acquire, getStates } = createTestPool();
    const [one, two] = [await acquire({}), await acquire({})];
    clock.advance(YIELD_MS - 1);
    const newcomer = acquire({ workspace: 'b' });
    await yieldToEventLoop();
    assert.deepEqual(getStates(one, two), [true, true]);
    clock.advance(1);
    assert.deepEqual(getStates(one, two), [true, false], 'the run that started last');
    (await newcomer).release();
    clock.advance(SHARE_RESERVE_MS);
    await two.waitWhileInterrupted(NEVER);
  });

  it('rotates runs within their shares', async () => {
    const { pool, clock, acquire, getStates } = createTestPool();
    const [one, two] = [await acquire({ workspace: 'a' }), await acquire({ workspace: 'b' })];
    const third = acquire({ workspace: 'c' });
    clock.advance(ROTATION_MS - 1);
    assert.deepEqual(getStates(one, two), [true, true]);
    clock.advance(1);
    assert.deepEqual(getStates(one, two), [true, false]);
    await third;
    clock.advance(ROTATION_MS - 1);
    assert.deepEqual(getStates(one, two), [true, false]);
    clock.advance(1);
    pool.recheck();
    assert.deepEqual(getStates(one, two), [false, true], 'it waited as long as a rotation');
  });

  it('takes the sequence of a run whose reader is behind, and gives it one again when it asks', async () => {
    const { clock, acquire } = createTestPool({ total: 1 });
    let isUnread = true;
    let interruptions = 0;
    const slow = await acquire({ onInterrupt: () => (interruptions += 1), isUnread: () => isUnread });
    clock.advance(ROTATION_MS);
    const newcomer = await acquire({ workspace: 'b' });
    assert.equal(interruptions, 1);
    newcomer.release();
    clock.advance(10 * ROTATION_MS);
    const later = await acquire({ workspace: 'c' });
    assert.equal(interruptions, 1, 'it held no sequence');
    later.release();
    isUnread = false;
    await slow.waitWhileInterrupted(NEVER);
    assert.equal(slow.waitWhileInterrupted(NEVER), undefined);
  });

  it('never takes the sequence of a run that cannot continue later', async () => {
    const { clock, acquire } = createTestPool({ total: 1 });
    const fixed = await acquire({ canInterrupt: false });
    const newcomer = acquire({ workspace: 'b' });
    clock.advance(10 * ROTATION_MS);
    assert.equal(fixed.waitWhileInterrupted(NEVER), undefined);
    fixed.release();
    await newcomer;
  });

  it('keeps a sequence free for another workspace that was active', async () => {
    const { clock, pool, acquire } = createTestPool({ total: 3 });
    (await acquire({ workspace: 'b' })).release();
    let got = 0;
    for (let count = 0; count < 3; count++) void acquire({}).then(() => got++);
    await yieldToEventLoop();
    assert.equal(got, 2);
    clock.advance(SHARE_RESERVE_MS);
    pool.recheck();
    await yieldToEventLoop();
    assert.equal(got, 3);
  });

  it('leaves the last slot of a server to live runs, unless all are free', async () => {
    const { acquire } = createTestPool({ hasLiveReserve: true });
    const background = await acquire({ priority: 'background', canInterrupt: false });
    let hasSecond = false;
    const second = acquire({ priority: 'background', canInterrupt: false }).then((run) => ((hasSecond = true), run));
    const live = await acquire({});
    await yieldToEventLoop();
    assert.equal(hasSecond, false);
    live.release();
    await yieldToEventLoop();
    assert.equal(hasSecond, false);
    background.release();
    await second;
  });

  it('refuses runs when its queue is full, when a key has its share of it, and after the longest wait', async () => {
    const { acquire } = createTestPool({ total: 1, queueLengthMax: 2 });
    await acquire({ canInterrupt: false });
    void acquire({ key: 'a' });
    await assert.rejects(acquire({ key: 'a' }), { kind: 'rate-limited' });
    void acquire({ key: 'b' });
    await assert.rejects(acquire({ key: 'c' }), { kind: 'overloaded' });
    const impatient = createTestPool({ total: 1, queueWaitMsMax: 1 });
    await impatient.acquire({ canInterrupt: false });
    await assert.rejects(impatient.acquire({}), { kind: 'overloaded' });
  });

  it('forgets a run that leaves while it waits or is interrupted', async () => {
    const { clock, acquire } = createTestPool({ total: 1 });
    const first = await acquire({});
    const caller = new AbortController();
    const waiting = acquire({ workspace: 'b', signal: caller.signal });
    caller.abort();
    await assert.rejects(waiting, { kind: 'cancelled' });
    const second = acquire({ workspace: 'c' });
    clock.advance(ROTATION_MS);
    const interruption = first.waitWhileInterrupted(caller.signal);
    assert.equal(interruption, undefined, 'its signal is aborted');
    first.release();
    first.release();
    (await second).release();
    (await acquire({ workspace: 'd' })).release();
  });

  it('has no limit while the number of sequences is unknown', async () => {
    const { acquire } = createTestPool({ total: Infinity });
    const runs = await Promise.all(Array.from({ length: 100 }, () => acquire({})));
    for (const run of runs) run.release();
  });

  it('shares the sequences of background work, and keeps one for live requests', async () => {
    const { pool, clock, acquire, getStates } = createTestPool({ total: 4, hasLiveReserve: true });
    const first = [];
    for (let i = 0; i < 3; i++) first.push(await acquire({ priority: 'background' }));
    const other = acquire({ workspace: 'b', priority: 'background' });
    clock.advance(YIELD_MS);
    pool.recheck();
    const live = await acquire({ workspace: 'c' });
    assert.deepEqual(getStates(live, await other), [true, true]);
    assert.equal(getStates(...first).filter(Boolean).length, 2);
  });

  it('leaves a sequence that can be given to others when runs cannot be interrupted', async () => {
    const { acquire } = createTestPool({ total: 3 });
    await acquire({ canInterrupt: false });
    await acquire({ canInterrupt: false });
    let hasThird = false;
    acquire({ canInterrupt: false }).then(
      () => (hasThird = true),
      () => undefined,
    );
    await acquire({ workspace: 'b' });
    await yieldToEventLoop();
    assert.equal(hasThird, false);
    const { acquire: acquireAlone } = createTestPool({ total: 1 });
    await acquireAlone({ canInterrupt: false });
  });

  it('lets further answers of a request that has started wait beside the queue, as long as it takes', async (t) => {
    const { acquire } = createTestPool({ total: 2, queueLengthMax: 1 });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const one = await acquire({ canInterrupt: false });
    await acquire({ workspace: 'b', canInterrupt: false });
    const leaves = new AbortController();
    const further = [acquire({ hasStarted: true }), acquire({ hasStarted: true, signal: leaves.signal })];
    leaves.abort();
    await assert.rejects(further[1] ?? Promise.resolve(), /cancelled/);
    t.mock.timers.tick(60_001);
    one.release();
    (await further[0])?.release();
  });
});
