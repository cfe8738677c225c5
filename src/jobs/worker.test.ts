import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  JOB_GRACE_MS,
  JOB_KEPT_MS,
  JOB_LEASE_MS,
  JOB_LOOK_MS,
  JOB_RENEW_MS,
  JOB_RETRY_MS_MIN,
  JOB_SWEEP_MS,
  JOBS_CANCELLED_AT_ONCE,
} from '../core/limits.ts';
import { playConnection, playHandler, playWorkers, type PlayedWorkers } from './__fixtures__/played-worker.ts';

/** Longer than any pause of a failed job. */
const LONG_MS = 60_000;

describe('the worker of jobs', () => {
  let world: PlayedWorkers;
  let handler: ReturnType<typeof playHandler>;

  beforeEach(async () => {
    world = await playWorkers();
    handler = playHandler();
  });
  afterEach(() => world.close());

  const pass = (ms: number) => world.time.pass(ms);
  const stateOf = async (id: string) => {
    const { state, attempt, triesLeft } = await world.find(id);
    return `${state} ${attempt} ${triesLeft}`;
  };
  const messages = (level: string) => world.lines.filter((line) => line.level === level).map(({ message }) => message);

  it('begins with what is due, finds what comes later by itself, and what the bell tells of at once', async () => {
    const first = await world.put('first');
    const { bell } = world.begin({ batch: handler });
    await pass(0);
    assert.equal(handler.last().job.id, first);
    const second = await world.put('second');
    await pass(JOB_LOOK_MS - 1);
    assert.equal(handler.runs.length, 1);
    await pass(1);
    assert.equal(handler.last().job.id, second);
    const third = await world.put('third');
    bell.ring('due');
    await pass(0);
    assert.equal(handler.last().job.id, third);
  });

  it('ends a job that is done, with the progress it told last, and tells of it once', async () => {
    const id = await world.put('whole');
    world.begin({ batch: handler });
    await pass(0);
    handler.last().report({ done: 3, total: 3, step: 'writing' });
    handler.last().finish();
    await pass(0);
    const job = await world.find(id);
    assert.deepEqual([job.state, job.progress], ['done', { done: 3, total: 3, step: 'writing' }]);
    await pass(LONG_MS);
    assert.equal(handler.runs.length, 1);
    assert.deepEqual(world.counted, ['batch done']);
    assert.deepEqual(world.lines, [
      {
        level: 'info',
        message: 'an attempt at a job ended',
        facts: { job: id, kind: 'batch', subject: 'whole', attempt: 1, state: 'done', ms: 0 },
      },
    ]);
  });

  it('leaves jobs of a kind that it has no handler for to others', async () => {
    const id = await world.put('foreign', { kind: 'response' });
    await world.store.jobs.cancel(id, 0);
    world.begin({ batch: handler });
    world.begin({});
    await pass(LONG_MS);
    assert.equal(await stateOf(id), 'waiting 0 5');
  });

  it('runs no more of a kind at a time than it may, and the next one as soon as there is room', async () => {
    const other = playHandler();
    for (const subject of ['a', 'b', 'c']) await world.put(subject);
    world.begin({ batch: { atOnce: 2, run: handler.run }, extract: other });
    await pass(LONG_MS);
    assert.equal(handler.runs.length, 2);
    await world.put('d', { kind: 'extract', priority: 9 });
    await pass(JOB_LOOK_MS);
    assert.equal(other.runs.length, 1);
    handler.runs[0]?.finish();
    await pass(0);
    assert.equal(handler.runs.length, 3);
  });

  it('begins with those of whom nothing runs, and leaves the last places to others', async () => {
    const other = { region: 'cn-beijing', workspace: 'other', keyId: 'key_2' } as const;
    for (const [priority, subject] of ['a1', 'a2', 'a3', 'a4'].entries()) await world.put(subject, { priority });
    world.begin({ batch: { atOnce: 4, run: handler.run } });
    await pass(LONG_MS);
    const begun = () => handler.runs.map(({ job }) => job.subject).join();
    assert.equal(begun(), 'a1,a2,a3');
    await world.put('b1', { owner: other, priority: 8 });
    await world.put('b2', { owner: other, priority: 9 });
    await pass(JOB_LOOK_MS);
    assert.equal(begun(), 'a1,a2,a3,b1');
    handler.runs[0]?.finish();
    await pass(0);
    assert.equal(begun(), 'a1,a2,a3,b1,a4', 'with something of both, the oldest comes');
    handler.runs[3]?.finish();
    await pass(0);
    assert.equal(begun(), 'a1,a2,a3,b1,a4,b2');
  });

  it('takes turns between workspaces where there are few places', async () => {
    const other = { region: 'cn-beijing', workspace: 'other', keyId: 'key_2' } as const;
    for (const [priority, subject] of ['a1', 'a2', 'a3'].entries()) await world.put(subject, { priority });
    await world.put('b1', { owner: other, priority: 9 });
    world.begin({ batch: { atOnce: 2, run: handler.run } });
    await pass(LONG_MS);
    assert.equal(handler.runs.map(({ job }) => job.subject).join(), 'a1,b1');
  });

  it('keeps a job for as long as it works at it, and tells how far that is', async () => {
    const id = await world.put('long');
    world.begin({ batch: handler });
    world.begin({ batch: handler });
    await pass(10 * JOB_LEASE_MS);
    assert.equal(handler.runs.length, 1);
    handler.last().report({ done: 7 });
    await pass(JOB_RENEW_MS);
    assert.deepEqual((await world.find(id)).progress, { done: 7 });
  });

  it('does not write a sign of life more often than it is needed', async () => {
    const connection = playConnection(world.store.jobs);
    await world.put('long');
    world.begin({ batch: handler }, { jobs: connection.jobs });
    await pass(10 * JOB_LEASE_MS);
    const renewals = connection.answers.filter(({ name }) => name === 'renew').length;
    assert.ok(renewals >= 20 && renewals <= 30, String(renewals));
  });

  it('takes the job of a process that is dead after its lease, and runs it for one of its tries', async () => {
    const connection = playConnection(world.store.jobs);
    const id = await world.put('dead');
    world.begin({ batch: handler }, { jobs: connection.jobs });
    await pass(0);
    connection.state = 'silent';
    const next = playHandler();
    world.begin({ batch: next });
    await pass(JOB_LEASE_MS - JOB_LOOK_MS);
    assert.equal(next.runs.length, 0);
    await pass(2 * JOB_LOOK_MS);
    assert.equal(next.last().job.id, id);
    assert.equal(await stateOf(id), 'running 2 4');
  });

  it('tries again what failed, each time later, and gives it up when no try is left', async () => {
    const given: unknown[] = [];
    const id = await world.put('hopeless', { tries: 4 });
    world.begin({
      batch: {
        run: handler.run,
        async giveUp(job, error) {
          given.push([job.id, error]);
        },
      },
    });
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await pass(JOB_LOOK_MS);
      assert.equal(handler.runs.length, attempt);
      const failedAt = world.time.clock.now();
      handler.last().fail(new Error(`no luck ${attempt}`));
      await pass(0);
      const { dueAt, error, state } = await world.find(id);
      assert.equal(error, `no luck ${attempt}`);
      if (state !== 'waiting') break;
      pauses.push((dueAt ?? 0) - failedAt);
      await pass((dueAt ?? 0) - failedAt - JOB_LOOK_MS);
      assert.equal(handler.runs.length, attempt);
    }
    assert.deepEqual(pauses, [JOB_RETRY_MS_MIN, 2 * JOB_RETRY_MS_MIN, 4 * JOB_RETRY_MS_MIN]);
    assert.equal((await world.find(id)).state, 'failed');
    assert.deepEqual(
      given.map((one) => String(one)),
      [`${id},Error: no luck 4`],
    );
    assert.deepEqual(messages('warn').length, 3);
    assert.deepEqual(messages('error'), ['a job failed for the last time']);
    await pass(LONG_MS);
    assert.equal(handler.runs.length, 4);
  });

  it('keeps the pace of a kind that has one of its own', async () => {
    const id = await world.put('slow');
    world.begin({ batch: { run: handler.run, retry: { firstMs: 60_000, mostMs: 90_000 } } });
    for (const pause of [60_000, 90_000, 90_000]) {
      await pass(JOB_LOOK_MS);
      handler.last().fail(new Error('no luck'));
      await pass(0);
      assert.equal((await world.find(id)).dueAt, world.time.clock.now() + pause);
      await pass(pause);
    }
  });

  it('gives a job that moves on all of its tries again, and one that dies at the same place not', async () => {
    const id = await world.put('moving', { tries: 3 });
    world.begin({ batch: handler });
    const failAt = async (done: number) => {
      await pass(LONG_MS);
      handler.last().report({ done });
      handler.last().fail(new Error('no luck'));
      await pass(0);
      return await stateOf(id);
    };
    assert.equal(await failAt(0), 'waiting 1 2');
    assert.equal(await failAt(5), 'waiting 2 2');
    assert.equal(await failAt(6), 'waiting 3 2');
    assert.equal(await failAt(6), 'waiting 4 1');
    assert.equal(await failAt(3), 'failed 5 1');
  });

  it('runs a job again that wants it so, after the time it asks for and with all of its tries', async () => {
    const id = await world.put('again', { tries: 2 });
    world.begin({ batch: handler });
    await pass(0);
    handler.last().fail(new Error('no luck'));
    await pass(LONG_MS);
    assert.equal(await stateOf(id), 'running 2 1');
    handler.last().finish({ type: 'again', afterMs: 5_000 });
    await pass(4_000);
    assert.equal(await stateOf(id), 'waiting 2 2');
    await pass(1_000 + JOB_LOOK_MS);
    assert.equal(await stateOf(id), 'running 3 2');
    handler.last().finish({ type: 'again', afterMs: 0 });
    await pass(0);
    assert.equal(await stateOf(id), 'running 4 2');
  });

  it('stops a job that is cancelled: at the next look, or at once where the bell tells it', async () => {
    for (const rings of [false, true]) {
      const ended: string[] = [];
      const id = await world.put(`cancelled ${rings}`);
      const worker = world.begin({
        batch: {
          run: handler.run,
          async cancel(job) {
            ended.push(job.id);
          },
        },
      });
      await pass(0);
      await world.store.jobs.cancel(id, world.time.clock.now());
      if (rings) worker.bell.ring('cancelled');
      await pass(rings ? 0 : JOB_LOOK_MS);
      assert.equal(handler.last().signal.reason, 'cancelled');
      assert.deepEqual([ended, await stateOf(id)], [[id], 'cancelled 1 5']);
      await worker.close();
    }
    assert.equal(handler.runs.length, 2);
  });

  it('ends a waiting job that is cancelled without running it, also where its kind has no room', async () => {
    const ended: string[] = [];
    const cancel = async ({ subject }: { subject: string }) => void ended.push(subject);
    await world.put('runs');
    world.begin({ batch: { atOnce: 1, run: handler.run, cancel } });
    await pass(0);
    const ids: string[] = [];
    for (let count = 0; count < 40; count += 1) ids.push(await world.put(`waits ${count}`, { runAfter: 9e12 }));
    for (const id of ids) await world.store.jobs.cancel(id, world.time.clock.now());
    await pass(JOB_LOOK_MS);
    assert.equal(ended.length, 40);
    for (const id of ids) assert.equal((await world.find(id)).state, 'cancelled');
    assert.equal(handler.runs.length, 1);
  });

  it('counts what was done all the same as done', async () => {
    const stubborn = playHandler({ stops: false });
    const id = await world.put('stubborn');
    world.begin({
      batch: { run: stubborn.run, cancel: () => assert.fail('there is nothing left to cancel') },
    });
    await pass(0);
    await world.store.jobs.cancel(id, 0);
    await pass(JOB_LOOK_MS);
    stubborn.last().finish();
    await pass(0);
    assert.equal(await stateOf(id), 'done 1 5');
  });

  it('ends a job that is cancelled while it asks for another turn, however late that is', async () => {
    const stubborn = playHandler({ stops: false });
    for (const isSeen of [true, false]) {
      const id = await world.put(`turn ${isSeen}`);
      world.begin({ batch: stubborn });
      await pass(0);
      await world.store.jobs.cancel(id, world.time.clock.now());
      if (isSeen) await pass(JOB_LOOK_MS);
      stubborn.last().finish({ type: 'again', afterMs: LONG_MS });
      await pass(JOB_LOOK_MS);
      assert.equal((await world.find(id)).state, 'cancelled');
    }
  });

  it('tries again to cancel and to give up where that failed', async () => {
    let refusals = 2;
    const refuse = async () => {
      refusals -= 1;
      if (refusals >= 0) throw new Error('the subject cannot be written');
    };
    const cancelled = await world.put('cancelled', { tries: 1 });
    await world.store.jobs.cancel(cancelled, 0);
    const worker = world.begin({ batch: { run: handler.run, cancel: refuse } });
    await pass(LONG_MS);
    assert.equal((await world.find(cancelled)).state, 'cancelled');
    await worker.close();
    refusals = 2;
    const failed = await world.put('failed', { tries: 1 });
    world.begin({ batch: { run: handler.run, giveUp: refuse } });
    await pass(JOB_LOOK_MS);
    handler.last().fail(new Error('no luck'));
    await pass(LONG_MS);
    assert.deepEqual([(await world.find(failed)).state, handler.runs.length], ['failed', 1]);
    assert.equal(refusals, -1);
  });

  it('does not run a job again that no process survived', async () => {
    const given: string[] = [];
    const id = await world.put('deadly', { tries: 2 });
    for (const count of [1, 2]) {
      const connection = playConnection(world.store.jobs);
      world.begin({ batch: handler }, { jobs: connection.jobs });
      await pass(0);
      assert.equal(handler.runs.length, count);
      connection.state = 'silent';
      await pass(JOB_LEASE_MS);
    }
    world.begin({
      batch: {
        run: handler.run,
        async giveUp(_job, error) {
          given.push(String(error));
        },
      },
    });
    await pass(JOB_LOOK_MS);
    assert.equal(handler.runs.length, 2);
    assert.deepEqual(given, ['Error: each process that worked at it has ended']);
    assert.equal((await world.find(id)).state, 'failed');
  });

  it('gives jobs back when it is closed, at once and for nothing', async () => {
    const id = await world.put('shut');
    const worker = world.begin({ batch: handler });
    await pass(JOB_LOOK_MS);
    handler.last().report({ done: 2 });
    const closing = worker.close();
    assert.equal(handler.last().signal.reason, 'shutdown');
    await closing;
    const job = await world.find(id);
    assert.deepEqual(
      [job.state, job.dueAt, job.triesLeft, job.progress],
      ['waiting', world.time.clock.now(), 5, { done: 2 }],
    );
    await pass(LONG_MS);
    assert.equal(handler.runs.length, 1);
    const next = playHandler();
    world.begin({ batch: next });
    await pass(0);
    assert.equal(next.last().job.id, id);
  });

  it('takes nothing more once it drains, and lets what runs go on', async () => {
    const id = await world.put('runs');
    const worker = world.begin({ batch: handler });
    await pass(0);
    worker.drain();
    await world.put('waits');
    worker.bell.ring('due');
    await pass(2 * JOB_LEASE_MS);
    assert.equal(handler.runs.length, 1);
    assert.equal(await stateOf(id), 'running 1 5');
    handler.last().finish();
    await worker.close();
    assert.equal((await world.find(id)).state, 'done');
  });

  it('gives a job back that does not stop in time, and hears nothing more of it', async () => {
    const stubborn = playHandler({ stops: false });
    const id = await world.put('stubborn');
    const worker = world.begin({ batch: stubborn });
    await pass(0);
    let isClosed = false;
    const closing = worker.close().then(() => (isClosed = true));
    await pass(JOB_GRACE_MS - 1);
    assert.equal(isClosed, false);
    await pass(1);
    await closing;
    assert.equal(await stateOf(id), 'waiting 1 5');
    stubborn.last().finish();
    await pass(JOB_LEASE_MS);
    assert.equal(await stateOf(id), 'waiting 1 5');
    assert.deepEqual(messages('warn'), ['a job did not stop in time']);
  });

  it('gives a job back that it was given while it was closed, and does not run it', async () => {
    const id = await world.put('late');
    const { jobs } = world.store;
    const worker = world.begin(
      { batch: handler },
      {
        jobs: {
          ...jobs,
          async claim(wish) {
            const job = await jobs.claim(wish);
            void worker.close();
            return job;
          },
        },
      },
    );
    await pass(0);
    assert.equal(handler.runs.length, 0);
    assert.equal(await stateOf(id), 'waiting 1 5');
  });

  it('ends so many that were cancelled at a time, and they take no room from those that run', async () => {
    const open: (() => void)[] = [];
    const cancel = () => new Promise<void>((resolve) => void open.push(resolve));
    const ids: string[] = [];
    for (let count = 0; count < JOBS_CANCELLED_AT_ONCE; count += 1) ids.push(await world.put(`cancelled ${count}`));
    for (const id of ids) await world.store.jobs.cancel(id, 0);
    await world.put('runs', { priority: 1 });
    world.begin({ batch: { atOnce: 1, run: handler.run, cancel } });
    await pass(JOB_LOOK_MS);
    assert.deepEqual([open.length, handler.runs.length], [JOBS_CANCELLED_AT_ONCE, 1]);
    const more = await world.put('one more');
    await world.store.jobs.cancel(more, 0);
    handler.last().finish();
    await pass(JOB_LOOK_MS);
    assert.equal(open.length, JOBS_CANCELLED_AT_ONCE);
    open[0]?.();
    await pass(0);
    await pass(0);
    assert.equal(open.length, JOBS_CANCELLED_AT_ONCE + 1);
  });

  it('runs what is due beside what it ends', async () => {
    const cancel = () => new Promise<void>(() => undefined);
    await world.store.jobs.cancel(await world.put('cancelled'), 0);
    world.begin({ batch: { atOnce: 1, run: handler.run, cancel } });
    await pass(0);
    await world.put('runs');
    await pass(JOB_LOOK_MS);
    assert.equal(handler.runs.length, 1);
  });

  it('notices that it stood still for so long that another one has its job, and writes nothing of it', async () => {
    const id = await world.put('lost');
    const stubborn = playHandler({ stops: false });
    world.begin({ batch: stubborn });
    await pass(0);
    world.time.leap(2 * JOB_LEASE_MS);
    const now = world.time.clock.now();
    const leaseUntil = now + JOB_LEASE_MS;
    const taken = await world.store.jobs.claim({ leaseOwner: 'other', leaseUntil, now, kinds: ['batch'] });
    assert.equal(taken?.id, id);
    await pass(0);
    assert.equal(stubborn.last().signal.reason, 'lost');
    const before = await world.find(id);
    stubborn.last().report({ done: 9 });
    stubborn.last().finish();
    await pass(JOB_LEASE_MS / 2);
    assert.deepEqual(await world.find(id), before);
    assert.deepEqual(world.counted, ['batch lost']);
  });

  it('goes on after it stood still for long where nobody took its job, and does not take that itself', async () => {
    const id = await world.put('slept');
    world.begin({ batch: handler });
    await pass(0);
    world.time.leap(10 * JOB_LEASE_MS);
    await pass(JOB_RENEW_MS);
    assert.equal(await stateOf(id), 'running 1 5');
    handler.last().finish();
    await pass(0);
    assert.deepEqual([await stateOf(id), handler.runs.length], ['done 1 5', 1]);
  });

  it('lives on while the store fails, tells that once, and writes down what was done meanwhile', async () => {
    const connection = playConnection(world.store.jobs);
    const id = await world.put('outage');
    world.begin({ batch: handler }, { jobs: connection.jobs });
    await pass(0);
    connection.state = 'down';
    handler.last().report({ done: 1 });
    handler.last().finish();
    await pass(JOB_LEASE_MS / 2);
    assert.equal((await world.find(id)).state, 'running');
    connection.state = 'up';
    await pass(JOB_RENEW_MS);
    assert.deepEqual([(await world.find(id)).state, (await world.find(id)).progress], ['done', { done: 1 }]);
    await world.put('next');
    await pass(JOB_LOOK_MS);
    assert.equal(handler.runs.length, 2);
    assert.deepEqual(messages('error'), ['jobs cannot be read or written for now']);
    assert.ok(messages('info').includes('jobs can be read and written again'));
  });

  it('stops what it does when the store was away for longer than its lease, and begins nothing twice', async () => {
    const connection = playConnection(world.store.jobs);
    const stubborn = playHandler({ stops: false });
    const id = await world.put('away');
    world.begin({ batch: stubborn }, { jobs: connection.jobs });
    await pass(JOB_LEASE_MS / 2);
    assert.equal(stubborn.last().signal.aborted, false);
    connection.state = 'down';
    await pass(2 * JOB_LEASE_MS);
    assert.equal(stubborn.last().signal.reason, 'lost');
    connection.state = 'up';
    await pass(2 * JOB_LEASE_MS);
    assert.equal(stubborn.runs.length, 1, 'the run before has not ended');
    stubborn.last().finish();
    await pass(JOB_LOOK_MS);
    assert.equal(stubborn.runs.length, 2);
    stubborn.last().finish();
    await pass(0);
    assert.equal(await stateOf(id), 'done 2 4');
  });

  it('removes what ended a week ago, and nothing younger', async () => {
    const id = await world.put('old');
    world.begin({ batch: handler });
    await pass(0);
    handler.last().finish();
    await pass(0);
    world.time.leap(JOB_KEPT_MS);
    await pass(0);
    assert.ok(await world.store.jobs.find(id));
    world.time.leap(JOB_SWEEP_MS);
    await pass(0);
    assert.equal(await world.store.jobs.find(id), undefined);
  });
});
