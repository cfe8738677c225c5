import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { JOB_RETENTION_MS } from '../core/limits.ts';
import {
  JOB_GRACE_MS,
  JOB_LEASE_MS,
  JOB_POLL_MS,
  JOB_LEASE_RENEW_MS,
  JOB_RETRY_MS_MIN,
  JOB_CLEANUP_INTERVAL_MS,
  JOB_CANCEL_CONCURRENCY,
} from './limits.ts';
import {
  createFaultyConnection,
  createScriptedHandler,
  createTestWorkers,
  type TestWorkers,
} from './__fixtures__/test-workers.ts';

/** Longer than any retry delay. */
const LONG_DELAY_MS = 60_000;

describe('startJobWorker', () => {
  let testWorkers: TestWorkers;
  let handler: ReturnType<typeof createScriptedHandler>;

  beforeEach(async () => {
    testWorkers = await createTestWorkers();
    handler = createScriptedHandler();
  });
  afterEach(() => testWorkers.close());

  const advance = (ms: number) => testWorkers.time.advance(ms);
  const getState = async (id: string) => {
    const { state, attempt, attemptsLeft } = await testWorkers.findJob(id);
    return `${state} ${attempt} ${attemptsLeft}`;
  };
  const messages = (level: string) =>
    testWorkers.logLines.filter((line) => line.level === level).map(({ message }) => message);

  it('runs due jobs at the start, at each poll, and at once when notified', async () => {
    const first = await testWorkers.insertJob('first');
    const { notifier } = testWorkers.start({ batch: handler });
    await advance(0);
    assert.equal(handler.last().job.id, first);
    const second = await testWorkers.insertJob('second');
    await advance(JOB_POLL_MS - 1);
    assert.equal(handler.runs.length, 1);
    await advance(1);
    assert.equal(handler.last().job.id, second);
    const third = await testWorkers.insertJob('third');
    notifier.notify('due');
    await advance(0);
    assert.equal(handler.last().job.id, third);
  });

  it('finishes a job with its last progress, logged and counted once', async () => {
    const id = await testWorkers.insertJob('whole');
    testWorkers.start({ batch: handler });
    await advance(0);
    handler.last().report({ done: 3, total: 3, step: 'writing' });
    handler.last().finish();
    await advance(0);
    const job = await testWorkers.findJob(id);
    assert.deepEqual([job.state, job.progress], ['done', { done: 3, total: 3, step: 'writing' }]);
    await advance(LONG_DELAY_MS);
    assert.equal(handler.runs.length, 1);
    assert.deepEqual(testWorkers.countedAttempts, ['batch done']);
    assert.deepEqual(testWorkers.logLines, [
      {
        level: 'info',
        message: 'job attempt finished',
        fields: { job: id, kind: 'batch', subject: 'whole', attempt: 1, state: 'done', ms: 0 },
      },
    ]);
  });

  it('leaves jobs of kinds without a handler to other workers', async () => {
    const id = await testWorkers.insertJob('foreign', { kind: 'response' });
    await testWorkers.store.jobs.cancel(id, 0);
    testWorkers.start({ batch: handler });
    testWorkers.start({});
    await advance(LONG_DELAY_MS);
    assert.equal(await getState(id), 'waiting 0 5');
  });

  it('limits concurrency per kind and starts the next job when a slot is free', async () => {
    const other = createScriptedHandler();
    for (const workspace of ['a', 'b', 'c'])
      await testWorkers.insertJob(workspace, { owner: { region: 'cn-beijing', workspace, keyId: 'key_1' } });
    testWorkers.start({ batch: { concurrency: 2, run: handler.run }, extract: other });
    await advance(LONG_DELAY_MS);
    assert.equal(handler.runs.length, 2);
    await testWorkers.insertJob('d', { kind: 'extract', priority: 9 });
    await advance(JOB_POLL_MS);
    assert.equal(other.runs.length, 1);
    handler.runs[0]?.finish();
    await advance(0);
    assert.equal(handler.runs.length, 3);
  });

  it('prefers tenants without a running job and reserves slots for other tenants', async () => {
    const other = { region: 'cn-beijing', workspace: 'other', keyId: 'key_2' } as const;
    for (const [priority, subject] of ['a1', 'a2', 'a3', 'a4'].entries())
      await testWorkers.insertJob(subject, { priority });
    testWorkers.start({ batch: { concurrency: 4, run: handler.run } });
    await advance(LONG_DELAY_MS);
    const startedSubjects = () => handler.runs.map(({ job }) => job.subject).join();
    assert.equal(startedSubjects(), 'a1,a2,a3');
    await testWorkers.insertJob('b1', { owner: other, priority: 8 });
    await testWorkers.insertJob('b2', { owner: other, priority: 9 });
    await advance(JOB_POLL_MS);
    assert.equal(startedSubjects(), 'a1,a2,a3,b1');
    handler.runs[0]?.finish();
    await advance(0);
    assert.equal(startedSubjects(), 'a1,a2,a3,b1,a4', 'the oldest job comes first if both tenants have a running job');
    handler.runs[3]?.finish();
    await advance(0);
    assert.equal(startedSubjects(), 'a1,a2,a3,b1,a4,b2');
  });

  it('reserves one of few slots for other workspaces', async () => {
    const other = { region: 'cn-beijing', workspace: 'other', keyId: 'key_2' } as const;
    for (const [priority, subject] of ['a1', 'a2', 'a3'].entries()) await testWorkers.insertJob(subject, { priority });
    testWorkers.start({ batch: { concurrency: 3, run: handler.run } });
    await advance(LONG_DELAY_MS);
    await testWorkers.insertJob('b1', { owner: other, priority: 9 });
    await advance(JOB_POLL_MS);
    assert.equal(handler.runs.map(({ job }) => job.subject).join(), 'a1,a2,b1');
  });

  it('alternates between workspaces with few slots', async () => {
    const other = { region: 'cn-beijing', workspace: 'other', keyId: 'key_2' } as const;
    for (const [priority, subject] of ['a1', 'a2', 'a3'].entries()) await testWorkers.insertJob(subject, { priority });
    await testWorkers.insertJob('b1', { owner: other, priority: 9 });
    testWorkers.start({ batch: { concurrency: 2, run: handler.run } });
    await advance(LONG_DELAY_MS);
    assert.equal(handler.runs.map(({ job }) => job.subject).join(), 'a1,b1');
  });

  it('renews the lease while a job runs and stores its progress', async () => {
    const id = await testWorkers.insertJob('long');
    testWorkers.start({ batch: handler });
    testWorkers.start({ batch: handler });
    await advance(10 * JOB_LEASE_MS);
    assert.equal(handler.runs.length, 1);
    handler.last().report({ done: 7 });
    await advance(JOB_LEASE_RENEW_MS);
    assert.deepEqual((await testWorkers.findJob(id)).progress, { done: 7 });
  });

  it('renews the lease about three times per lease time', async () => {
    const connection = createFaultyConnection(testWorkers.store.jobs);
    await testWorkers.insertJob('long');
    testWorkers.start({ batch: handler }, { jobs: connection.jobs });
    await advance(10 * JOB_LEASE_MS);
    const renewals = connection.calls.filter(({ name }) => name === 'renew').length;
    assert.ok(renewals >= 20 && renewals <= 30, String(renewals));
  });

  it('claims the job of a dead process after its lease for one attempt', async () => {
    const connection = createFaultyConnection(testWorkers.store.jobs);
    const id = await testWorkers.insertJob('dead');
    testWorkers.start({ batch: handler }, { jobs: connection.jobs });
    await advance(0);
    connection.state = 'silent';
    const next = createScriptedHandler();
    testWorkers.start({ batch: next });
    await advance(JOB_LEASE_MS - JOB_POLL_MS);
    assert.equal(next.runs.length, 0);
    await advance(2 * JOB_POLL_MS);
    assert.equal(next.last().job.id, id);
    assert.equal(await getState(id), 'running 2 4');
  });

  it('retries a failed job with growing delays and gives it up without attempts left', async () => {
    const givenUp: unknown[] = [];
    const id = await testWorkers.insertJob('hopeless', { attemptsMax: 4 });
    testWorkers.start({
      batch: {
        run: handler.run,
        async giveUp(job, error) {
          givenUp.push([job.id, error]);
        },
      },
    });
    const delays: number[] = [];
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await advance(JOB_POLL_MS);
      assert.equal(handler.runs.length, attempt);
      const failedAt = testWorkers.time.clock.now();
      handler.last().fail(new Error(`no luck ${attempt}`));
      await advance(0);
      const { dueAt, error, state } = await testWorkers.findJob(id);
      assert.equal(error, `no luck ${attempt}`);
      if (state !== 'waiting') break;
      delays.push((dueAt ?? 0) - failedAt);
      await advance((dueAt ?? 0) - failedAt - JOB_POLL_MS);
      assert.equal(handler.runs.length, attempt);
    }
    assert.deepEqual(delays, [JOB_RETRY_MS_MIN, 2 * JOB_RETRY_MS_MIN, 4 * JOB_RETRY_MS_MIN]);
    assert.equal((await testWorkers.findJob(id)).state, 'failed');
    assert.deepEqual(
      givenUp.map((one) => String(one)),
      [`${id},Error: no luck 4`],
    );
    assert.deepEqual(messages('warn').length, 3);
    assert.deepEqual(messages('error'), ['job failed and has no attempt left']);
    await advance(LONG_DELAY_MS);
    assert.equal(handler.runs.length, 4);
  });

  it('uses the backoff of the handler', async () => {
    const id = await testWorkers.insertJob('slow');
    testWorkers.start({ batch: { run: handler.run, backoff: { minMs: 60_000, maxMs: 90_000 } } });
    for (const delayMs of [60_000, 90_000, 90_000]) {
      await advance(JOB_POLL_MS);
      handler.last().fail(new Error('no luck'));
      await advance(0);
      assert.equal((await testWorkers.findJob(id)).dueAt, testWorkers.time.clock.now() + delayMs);
      await advance(delayMs);
    }
  });

  it('restores all attempts if a job advances, but not if it fails at the same point', async () => {
    const id = await testWorkers.insertJob('moving', { attemptsMax: 3 });
    testWorkers.start({ batch: handler });
    const failAt = async (done: number) => {
      await advance(LONG_DELAY_MS);
      handler.last().report({ done });
      handler.last().fail(new Error('no luck'));
      await advance(0);
      return await getState(id);
    };
    assert.equal(await failAt(0), 'waiting 1 2');
    assert.equal(await failAt(5), 'waiting 2 2');
    assert.equal(await failAt(6), 'waiting 3 2');
    assert.equal(await failAt(6), 'waiting 4 1');
    assert.equal(await failAt(3), 'failed 5 1');
  });

  it('reruns a job after the requested delay with all attempts', async () => {
    const id = await testWorkers.insertJob('again', { attemptsMax: 2 });
    testWorkers.start({ batch: handler });
    await advance(0);
    handler.last().fail(new Error('no luck'));
    await advance(LONG_DELAY_MS);
    assert.equal(await getState(id), 'running 2 1');
    handler.last().finish({ type: 'rerun', delayMs: 5_000 });
    await advance(4_000);
    assert.equal(await getState(id), 'waiting 2 2');
    await advance(1_000 + JOB_POLL_MS);
    assert.equal(await getState(id), 'running 3 2');
    handler.last().finish({ type: 'rerun', delayMs: 0 });
    await advance(0);
    assert.equal(await getState(id), 'running 4 2');
  });

  it('stops a cancelled job at the next poll, or at once when notified', async () => {
    for (const isNotified of [false, true]) {
      const ended: string[] = [];
      const id = await testWorkers.insertJob(`cancelled ${isNotified}`);
      const worker = testWorkers.start({
        batch: {
          run: handler.run,
          async cancel(job) {
            ended.push(job.id);
          },
        },
      });
      await advance(0);
      await testWorkers.store.jobs.cancel(id, testWorkers.time.clock.now());
      if (isNotified) worker.notifier.notify('cancelled');
      await advance(isNotified ? 0 : JOB_POLL_MS);
      assert.equal(handler.last().signal.reason, 'cancelled');
      assert.deepEqual([ended, await getState(id)], [[id], 'cancelled 1 5']);
      await worker.close();
    }
    assert.equal(handler.runs.length, 2);
  });

  it('ends a cancelled waiting job without running it, even without a free slot', async () => {
    const ended: string[] = [];
    const cancel = async ({ subject }: { subject: string }) => void ended.push(subject);
    await testWorkers.insertJob('runs');
    testWorkers.start({ batch: { concurrency: 1, run: handler.run, cancel } });
    await advance(0);
    const ids: string[] = [];
    for (let count = 0; count < 40; count += 1)
      ids.push(await testWorkers.insertJob(`waits ${count}`, { runAfter: 9e12 }));
    for (const id of ids) await testWorkers.store.jobs.cancel(id, testWorkers.time.clock.now());
    await advance(JOB_POLL_MS);
    assert.equal(ended.length, 40);
    for (const id of ids) assert.equal((await testWorkers.findJob(id)).state, 'cancelled');
    assert.equal(handler.runs.length, 1);
  });

  it('counts a job that completes despite its cancellation as done', async () => {
    const ignoringAbort = createScriptedHandler({ rejectsOnAbort: false });
    const id = await testWorkers.insertJob('stubborn');
    testWorkers.start({
      batch: { run: ignoringAbort.run, cancel: () => assert.fail('cancel was called') },
    });
    await advance(0);
    await testWorkers.store.jobs.cancel(id, 0);
    await advance(JOB_POLL_MS);
    ignoringAbort.last().finish();
    await advance(0);
    assert.equal(await getState(id), 'done 1 5');
  });

  it('ends a job that is cancelled while it requests a rerun', async () => {
    const ignoringAbort = createScriptedHandler({ rejectsOnAbort: false });
    for (const isNoticed of [true, false]) {
      const id = await testWorkers.insertJob(`turn ${isNoticed}`);
      testWorkers.start({ batch: ignoringAbort });
      await advance(0);
      await testWorkers.store.jobs.cancel(id, testWorkers.time.clock.now());
      if (isNoticed) await advance(JOB_POLL_MS);
      ignoringAbort.last().finish({ type: 'rerun', delayMs: LONG_DELAY_MS });
      await advance(JOB_POLL_MS);
      assert.equal((await testWorkers.findJob(id)).state, 'cancelled');
    }
  });

  it('retries failed cancel and giveUp calls', async () => {
    let failuresLeft = 2;
    const failSometimes = async () => {
      failuresLeft -= 1;
      if (failuresLeft >= 0) throw new Error('the subject cannot be written');
    };
    const cancelled = await testWorkers.insertJob('cancelled', { attemptsMax: 1 });
    await testWorkers.store.jobs.cancel(cancelled, 0);
    const worker = testWorkers.start({ batch: { run: handler.run, cancel: failSometimes } });
    await advance(LONG_DELAY_MS);
    assert.equal((await testWorkers.findJob(cancelled)).state, 'cancelled');
    await worker.close();
    failuresLeft = 2;
    const failed = await testWorkers.insertJob('failed', { attemptsMax: 1 });
    testWorkers.start({ batch: { run: handler.run, giveUp: failSometimes } });
    await advance(JOB_POLL_MS);
    handler.last().fail(new Error('no luck'));
    await advance(LONG_DELAY_MS);
    assert.deepEqual([(await testWorkers.findJob(failed)).state, handler.runs.length], ['failed', 1]);
    assert.equal(failuresLeft, -1);
  });

  it('gives up a job that killed every process', async () => {
    const givenUp: string[] = [];
    const id = await testWorkers.insertJob('deadly', { attemptsMax: 2 });
    for (const count of [1, 2]) {
      const connection = createFaultyConnection(testWorkers.store.jobs);
      testWorkers.start({ batch: handler }, { jobs: connection.jobs });
      await advance(0);
      assert.equal(handler.runs.length, count);
      connection.state = 'silent';
      await advance(JOB_LEASE_MS);
    }
    testWorkers.start({
      batch: {
        run: handler.run,
        async giveUp(_job, error) {
          givenUp.push(String(error));
        },
      },
    });
    await advance(JOB_POLL_MS);
    assert.equal(handler.runs.length, 2);
    assert.deepEqual(givenUp, ['Error: every process that ran the job died']);
    assert.equal((await testWorkers.findJob(id)).state, 'failed');
  });

  it('returns jobs to the queue at once and without cost when closed', async () => {
    const id = await testWorkers.insertJob('shut');
    const worker = testWorkers.start({ batch: handler });
    await advance(JOB_POLL_MS);
    handler.last().report({ done: 2 });
    const closing = worker.close();
    assert.equal(handler.last().signal.reason, 'shutdown');
    await closing;
    const job = await testWorkers.findJob(id);
    assert.deepEqual(
      [job.state, job.dueAt, job.attemptsLeft, job.progress],
      ['waiting', testWorkers.time.clock.now(), 5, { done: 2 }],
    );
    await advance(LONG_DELAY_MS);
    assert.equal(handler.runs.length, 1);
    const next = createScriptedHandler();
    testWorkers.start({ batch: next });
    await advance(0);
    assert.equal(next.last().job.id, id);
  });

  it('claims nothing while draining and lets running jobs continue', async () => {
    const id = await testWorkers.insertJob('runs');
    const worker = testWorkers.start({ batch: handler });
    await advance(0);
    worker.drain();
    await testWorkers.insertJob('waits');
    worker.notifier.notify('due');
    await advance(2 * JOB_LEASE_MS);
    assert.equal(handler.runs.length, 1);
    assert.equal(await getState(id), 'running 1 5');
    handler.last().finish();
    await worker.close();
    assert.equal((await testWorkers.findJob(id)).state, 'done');
  });

  it('returns a job that does not stop in time and ignores its later result', async () => {
    const ignoringAbort = createScriptedHandler({ rejectsOnAbort: false });
    const id = await testWorkers.insertJob('stubborn');
    const worker = testWorkers.start({ batch: ignoringAbort });
    await advance(0);
    let isClosed = false;
    const closing = worker.close().then(() => (isClosed = true));
    await advance(JOB_GRACE_MS - 1);
    assert.equal(isClosed, false);
    await advance(1);
    await closing;
    assert.equal(await getState(id), 'waiting 1 5');
    ignoringAbort.last().finish();
    await advance(JOB_LEASE_MS);
    assert.equal(await getState(id), 'waiting 1 5');
    assert.deepEqual(messages('warn'), ['job did not stop in time']);
  });

  it('returns a job claimed during close without running it', async () => {
    const id = await testWorkers.insertJob('late');
    const { jobs } = testWorkers.store;
    const worker = testWorkers.start(
      { batch: handler },
      {
        jobs: {
          ...jobs,
          async claim(request) {
            const job = await jobs.claim(request);
            void worker.close();
            return job;
          },
        },
      },
    );
    await advance(0);
    assert.equal(handler.runs.length, 0);
    assert.equal(await getState(id), 'waiting 1 5');
  });

  it('ends a limited number of cancelled jobs at a time, without using slots of running jobs', async () => {
    const open: (() => void)[] = [];
    const cancel = () => new Promise<void>((resolve) => void open.push(resolve));
    const ids: string[] = [];
    for (let count = 0; count < JOB_CANCEL_CONCURRENCY; count += 1)
      ids.push(await testWorkers.insertJob(`cancelled ${count}`));
    for (const id of ids) await testWorkers.store.jobs.cancel(id, 0);
    await testWorkers.insertJob('runs', { priority: 1 });
    testWorkers.start({ batch: { concurrency: 1, run: handler.run, cancel } });
    await advance(JOB_POLL_MS);
    assert.deepEqual([open.length, handler.runs.length], [JOB_CANCEL_CONCURRENCY, 1]);
    const more = await testWorkers.insertJob('one more');
    await testWorkers.store.jobs.cancel(more, 0);
    handler.last().finish();
    await advance(JOB_POLL_MS);
    assert.equal(open.length, JOB_CANCEL_CONCURRENCY);
    open[0]?.();
    await advance(0);
    await advance(0);
    assert.equal(open.length, JOB_CANCEL_CONCURRENCY + 1);
  });

  it('runs due jobs while it ends cancelled ones', async () => {
    const cancel = () => new Promise<void>(() => undefined);
    await testWorkers.store.jobs.cancel(await testWorkers.insertJob('cancelled'), 0);
    testWorkers.start({ batch: { concurrency: 1, run: handler.run, cancel } });
    await advance(0);
    await testWorkers.insertJob('runs');
    await advance(JOB_POLL_MS);
    assert.equal(handler.runs.length, 1);
  });

  it('notices after a standstill that another worker has the job, and writes nothing', async () => {
    const id = await testWorkers.insertJob('lost');
    const ignoringAbort = createScriptedHandler({ rejectsOnAbort: false });
    testWorkers.start({ batch: ignoringAbort });
    await advance(0);
    testWorkers.time.jump(2 * JOB_LEASE_MS);
    const now = testWorkers.time.clock.now();
    const leaseUntil = now + JOB_LEASE_MS;
    const taken = await testWorkers.store.jobs.claim({ leaseOwner: 'other', leaseUntil, now, kinds: ['batch'] });
    assert.equal(taken?.id, id);
    await advance(0);
    assert.equal(ignoringAbort.last().signal.reason, 'lost');
    const before = await testWorkers.findJob(id);
    ignoringAbort.last().report({ done: 9 });
    ignoringAbort.last().finish();
    await advance(JOB_LEASE_MS / 2);
    assert.deepEqual(await testWorkers.findJob(id), before);
    assert.deepEqual(testWorkers.countedAttempts, ['batch lost']);
  });

  it('continues its job after a standstill if no other worker claimed it', async () => {
    const id = await testWorkers.insertJob('slept');
    testWorkers.start({ batch: handler });
    await advance(0);
    testWorkers.time.jump(10 * JOB_LEASE_MS);
    await advance(JOB_LEASE_RENEW_MS);
    assert.equal(await getState(id), 'running 1 5');
    handler.last().finish();
    await advance(0);
    assert.deepEqual([await getState(id), handler.runs.length], ['done 1 5', 1]);
  });

  it('survives a store outage, logs it once and writes pending results afterwards', async () => {
    const connection = createFaultyConnection(testWorkers.store.jobs);
    const id = await testWorkers.insertJob('outage');
    testWorkers.start({ batch: handler }, { jobs: connection.jobs });
    await advance(0);
    connection.state = 'down';
    handler.last().report({ done: 1 });
    handler.last().finish();
    await advance(JOB_LEASE_MS / 2);
    assert.equal((await testWorkers.findJob(id)).state, 'running');
    connection.state = 'up';
    await advance(JOB_LEASE_RENEW_MS);
    assert.deepEqual(
      [(await testWorkers.findJob(id)).state, (await testWorkers.findJob(id)).progress],
      ['done', { done: 1 }],
    );
    await testWorkers.insertJob('next');
    await advance(JOB_POLL_MS);
    assert.equal(handler.runs.length, 2);
    assert.deepEqual(messages('error'), ['job store unavailable']);
    assert.ok(messages('info').includes('job store available again'));
  });

  it('stops a job if the store is away longer than the lease, and does not run it twice at a time', async () => {
    const connection = createFaultyConnection(testWorkers.store.jobs);
    const ignoringAbort = createScriptedHandler({ rejectsOnAbort: false });
    const id = await testWorkers.insertJob('away');
    testWorkers.start({ batch: ignoringAbort }, { jobs: connection.jobs });
    await advance(JOB_LEASE_MS / 2);
    assert.equal(ignoringAbort.last().signal.aborted, false);
    connection.state = 'down';
    await advance(2 * JOB_LEASE_MS);
    assert.equal(ignoringAbort.last().signal.reason, 'lost');
    connection.state = 'up';
    await advance(2 * JOB_LEASE_MS);
    assert.equal(ignoringAbort.runs.length, 1, 'the previous run has not ended');
    ignoringAbort.last().finish();
    await advance(JOB_POLL_MS);
    assert.equal(ignoringAbort.runs.length, 2);
    ignoringAbort.last().finish();
    await advance(0);
    assert.equal(await getState(id), 'done 2 4');
  });

  it('removes jobs that ended longer ago than the retention time', async () => {
    const id = await testWorkers.insertJob('old');
    testWorkers.start({ batch: handler });
    await advance(0);
    handler.last().finish();
    await advance(0);
    testWorkers.time.jump(JOB_RETENTION_MS);
    await advance(0);
    assert.ok(await testWorkers.store.jobs.find(id));
    testWorkers.time.jump(JOB_CLEANUP_INTERVAL_MS);
    await advance(0);
    assert.equal(await testWorkers.store.jobs.find(id), undefined);
  });
});
