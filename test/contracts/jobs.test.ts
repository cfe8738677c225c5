import assert from 'node:assert/strict';
import { beforeEach, it } from 'node:test';
import { systemIdGenerator } from '../../src/core/id.ts';
import type { JobRecord, JobRequest } from '../../src/core/job.ts';
import { createJob } from '../../src/resources/jobs/create-job.ts';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

const START = 1_790_000_000_123;
const LEASE_MS = 20_000;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const KINDS = ['batch', 'extract'] as const;

describeOnDialects('jobs', ({ onOpen }) => {
  let store: Store;
  let nowMs = START;
  let idCount = 0;
  const clock = { now: () => nowMs, monotonic: () => nowMs - START };
  // Ids in order of creation, because random ids have no order.
  const ids = {
    ...systemIdGenerator,
    createSortableId: (prefix: string) => `${prefix}${(idCount += 1).toString(16).padStart(32, '0')}`,
  };

  onOpen((opened) => void ({ store } = opened));
  beforeEach(async () => {
    nowMs = START;
    for (const { kind, subject } of await store.jobs.list({ limit: 1_000 })) await store.jobs.remove(kind, subject);
  });

  const createRequest = (subject: string, change: Partial<JobRequest> = {}): JobRequest => ({
    kind: 'batch',
    subject,
    owner: OWNER,
    payload: {},
    ...change,
  });
  const insertJob = async (subject: string, change: Partial<JobRequest> = {}): Promise<string> => {
    const job = createJob(createRequest(subject, change), { ids, clock });
    assert.ok(await store.jobs.insert(job));
    return job.id;
  };
  const claim = (leaseOwner = 'a', change: object = {}): Promise<JobRecord | undefined> =>
    store.jobs.claim({ leaseOwner, leaseUntil: nowMs + LEASE_MS, now: nowMs, kinds: KINDS, ...change });
  const claimOne = async (leaseOwner = 'a', change: object = {}): Promise<JobRecord> =>
    (await claim(leaseOwner, change)) ?? assert.fail('no job is due');
  const findJob = async (id: string): Promise<JobRecord> => (await store.jobs.find(id)) ?? assert.fail();

  it('returns a job as it was requested, with defaults for omitted fields', async () => {
    const payload = { text: `O'Brien 密钥 🔑`, list: [1, null], ['__proto__']: 'a' };
    const id = await insertJob('whole', { payload, priority: -3, attemptsMax: 2, runAfter: START + 5 });
    assert.deepEqual(await findJob(id), {
      id,
      kind: 'batch',
      subject: 'whole',
      owner: OWNER,
      payload,
      state: 'waiting',
      priority: -3,
      attempt: 0,
      attemptsMax: 2,
      attemptsLeft: 2,
      dueAt: START + 5,
      leaseOwner: undefined,
      isCancelled: false,
      progress: undefined,
      error: undefined,
      createdAt: START,
      startedAt: undefined,
      endedAt: undefined,
    });
    assert.deepEqual(await store.jobs.findBySubject('batch', 'whole'), await findJob(id));
    const plain = await findJob(await insertJob('plain'));
    assert.deepEqual([plain.priority, plain.attemptsMax, plain.attemptsLeft, plain.dueAt], [5, 5, 5, START]);
  });

  it('is inserted in the transaction of its subject or not at all', async () => {
    const draft = createJob(createRequest('torn'), { ids, clock });
    await assert.rejects(
      store.transaction(async ({ jobs }) => {
        await jobs.insert(draft);
        throw new Error('the subject could not be written');
      }),
    );
    assert.equal(await store.jobs.find(draft.id), undefined);
    assert.equal(await claim(), undefined);
  });

  it('allows one job per kind and subject, also when it is finished, until it is removed', async () => {
    const insertAgain = () => store.jobs.insert(createJob(createRequest('one'), { ids, clock }));
    const id = await insertJob('one');
    assert.equal(await insertAgain(), false);
    await insertJob('one', { kind: 'extract' });
    await claimOne('a', { kinds: ['batch'] });
    await store.jobs.finish(id, { leaseOwner: 'a', state: 'done', at: nowMs });
    assert.equal(await insertAgain(), false);
    await store.jobs.remove('batch', 'one');
    assert.equal(await insertAgain(), true);
    assert.ok(await store.jobs.findBySubject('extract', 'one'));
  });

  it('claims due jobs by priority, then by due time, then by creation', async () => {
    await insertJob('later', { runAfter: START + 1_000 });
    await insertJob('second', { runAfter: START - 5 });
    await insertJob('third');
    await insertJob('fourth');
    await insertJob('first', { priority: 1, runAfter: START - 1 });
    await insertJob('other kind', { kind: 'response', priority: 0 });
    const order: (string | undefined)[] = [];
    for (let count = 0; count < 5; count += 1) order.push((await claim())?.subject);
    assert.deepEqual(order, ['first', 'second', 'third', 'fourth', undefined]);
    nowMs = START + 1_000;
    assert.equal((await claim())?.subject, 'later');
    assert.equal(await claim('a', { kinds: [] }), undefined);
  });

  it('gives each of many concurrent claims another job', async () => {
    for (let count = 0; count < 50; count += 1) await insertJob(`race ${count}`);
    const owners = Array.from({ length: 50 }, (_, at) => `process ${at}`);
    const claimed = await Promise.all(owners.map((owner) => claim(owner)));
    assert.equal(new Set(claimed.map((job) => job?.id)).size, 50);
    assert.ok(claimed.every((job, at) => job?.state === 'running' && job.leaseOwner === owners[at]));
    assert.equal(await claim(), undefined);
  });

  it('lists lease owners, and lets others claim the jobs of one owner', async () => {
    const [first, second] = [await insertJob('a1'), await insertJob('a2')];
    const other = await insertJob('b1');
    const ended = await insertJob('c1');
    for (const owner of ['a', 'a', 'b', 'c']) await claimOne(owner);
    await store.jobs.finish(ended, { leaseOwner: 'c', state: 'done', at: nowMs });
    await insertJob('nobody');
    assert.deepEqual((await store.jobs.listLeaseOwners()).toSorted(), ['a', 'b']);
    assert.equal(await store.jobs.expireLeases('a', nowMs), 2);
    assert.equal(await store.jobs.expireLeases('a', nowMs), 0);
    const claimed = [await claimOne('d'), await claimOne('d')];
    assert.deepEqual(
      claimed.map(({ id, attemptsLeft }) => [id, attemptsLeft]),
      [
        [first, 4],
        [second, 4],
      ],
    );
    assert.equal((await claimOne('d')).subject, 'nobody');
    assert.equal(await claim('d'), undefined);
    assert.equal((await findJob(other)).leaseOwner, 'b');
    assert.equal(await store.jobs.renew(first, { leaseOwner: 'a', leaseUntil: nowMs + 1 }), undefined);
  });

  it('returns the updated record of a claimed job', async () => {
    const id = await insertJob('told');
    nowMs += 7;
    const job = await claimOne('me');
    assert.deepEqual(job, await findJob(id));
    assert.deepEqual(
      [job.state, job.attempt, job.leaseOwner, job.dueAt, job.startedAt, job.attemptsLeft],
      ['running', 1, 'me', nowMs + LEASE_MS, nowMs, 5],
    );
  });

  it('gives a job with an expired lease to the next worker, and counts an attempt', async () => {
    const id = await insertJob('dead', { attemptsMax: 2 });
    await claimOne('dead');
    nowMs += LEASE_MS - 1;
    assert.equal(await claim('b'), undefined);
    nowMs += 1;
    const job = await claimOne('b');
    assert.deepEqual([job.id, job.attempt, job.attemptsLeft, job.startedAt], [id, 2, 1, START]);
    nowMs += LEASE_MS;
    assert.equal((await claimOne('c')).attemptsLeft, 0);
  });

  it('ignores a lease that was acquired before the clock was set back', async () => {
    const id = await insertJob('of the future');
    nowMs = START + 3_600_000;
    await claimOne('dead');
    nowMs = START + 1;
    assert.deepEqual([(await claimOne('b')).id, (await findJob(id)).dueAt], [id, nowMs + LEASE_MS]);
    assert.equal(await claim('c'), undefined);
  });

  it('does not claim the excluded ids', async () => {
    const id = await insertJob('mine');
    await claimOne('a');
    nowMs += LEASE_MS;
    assert.equal(await claim('a', { exceptIds: [id] }), undefined);
    assert.equal((await claim('a', { exceptIds: ['job_other'] }))?.id, id);
  });

  it('claims a cancelled job of a kind whose running jobs are at their limit', async () => {
    await insertJob('waits');
    const id = await insertJob('cancelled', { priority: 9 });
    await store.jobs.cancel(id, nowMs);
    assert.equal(await claim('a', { kinds: [], cancelledKinds: ['extract'] }), undefined);
    assert.equal((await claim('a', { kinds: ['extract'], cancelledKinds: ['batch'] }))?.id, id);
    assert.equal(await claim('a', { kinds: [], cancelledKinds: ['batch'] }), undefined);
  });

  it('renews a lease and stores the progress', async () => {
    const id = await insertJob('alive');
    await claimOne();
    nowMs += LEASE_MS - 1;
    const progress = { done: 1, total: 3, step: 'read' };
    const renewal = { leaseOwner: 'a', leaseUntil: nowMs + LEASE_MS, progress };
    assert.deepEqual(await store.jobs.renew(id, renewal), { isCancelled: false });
    nowMs += LEASE_MS - 1;
    assert.equal(await claim('b'), undefined);
    assert.deepEqual((await findJob(id)).progress, progress);
    // A renewal without progress keeps the stored progress.
    await store.jobs.renew(id, { leaseOwner: 'a', leaseUntil: nowMs + LEASE_MS });
    assert.deepEqual((await findJob(id)).progress, progress);
  });

  it('restores all attempts of a job that advances, and of no other job', async () => {
    const id = await insertJob('moves');
    await claimOne();
    nowMs += LEASE_MS;
    await claimOne('b');
    const lease = { leaseOwner: 'b', leaseUntil: nowMs + LEASE_MS };
    await store.jobs.renew(id, { ...lease, progress: { done: 0 } });
    assert.equal((await findJob(id)).attemptsLeft, 4);
    await store.jobs.renew(id, { ...lease, progress: { done: 1 }, hasAdvanced: true });
    assert.equal((await findJob(id)).attemptsLeft, 5);
  });

  it('releases a job: a failure uses up an attempt, other releases do not', async () => {
    const id = await insertJob('back');
    await claimOne();
    assert.deepEqual(await store.jobs.release(id, { leaseOwner: 'a', dueAt: START + 50, error: 'no luck' }), {
      isCancelled: false,
    });
    const { state, dueAt, attemptsLeft, error, leaseOwner } = await findJob(id);
    assert.deepEqual([state, dueAt, attemptsLeft, error, leaseOwner], ['waiting', START + 50, 4, 'no luck', undefined]);
    assert.equal(await claim(), undefined);
    nowMs += 50;
    await claimOne();
    await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs, progress: { done: 4 } });
    assert.deepEqual([(await findJob(id)).attemptsLeft, (await findJob(id)).progress], [4, { done: 4 }]);
    await claimOne();
    await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs, hasAdvanced: true });
    assert.deepEqual([(await findJob(id)).attemptsLeft, (await findJob(id)).attempt], [5, 3]);
    await claimOne();
    await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs, hasAdvanced: true, error: 'again' });
    assert.equal((await findJob(id)).attemptsLeft, 4);
  });

  it('finishes a job permanently', async () => {
    const id = await insertJob('ends');
    await claimOne();
    const end = { leaseOwner: 'a', state: 'failed', at: nowMs + 3, error: 'why', progress: { done: 2 } } as const;
    assert.equal(await store.jobs.finish(id, end), true);
    const { state, dueAt, endedAt, error, progress, leaseOwner } = await findJob(id);
    assert.deepEqual(
      [state, dueAt, endedAt, error, progress, leaseOwner],
      ['failed', undefined, START + 3, 'why', { done: 2 }, undefined],
    );
    nowMs += 10 * LEASE_MS;
    assert.equal(await claim(), undefined);
    assert.equal((await store.jobs.cancel(id, nowMs))?.isCancelled, false);
    await store.jobs.wake('batch', 'ends', nowMs);
    assert.equal((await findJob(id)).dueAt, undefined);
  });

  it('changes nothing for a worker that has lost its lease', async () => {
    const id = await insertJob('gone');
    await claimOne('a');
    nowMs += LEASE_MS;
    await claimOne('b');
    const before = await findJob(id);
    const late = { leaseOwner: 'a', error: 'late', progress: { done: 9 }, hasAdvanced: true };
    const assertRejected = async () => {
      assert.equal(await store.jobs.renew(id, { ...late, leaseUntil: nowMs + 9 }), undefined);
      assert.equal(await store.jobs.release(id, { ...late, dueAt: nowMs }), undefined);
      assert.equal(await store.jobs.finish(id, { ...late, state: 'done', at: nowMs }), false);
    };
    await assertRejected();
    assert.deepEqual(await findJob(id), before);
    await store.jobs.release(id, { leaseOwner: 'b', dueAt: nowMs });
    const waiting = await findJob(id);
    await assertRejected();
    assert.deepEqual(await findJob(id), waiting);
    assert.equal(await store.jobs.renew('job_none', { leaseOwner: 'a', leaseUntil: nowMs }), undefined);
  });

  it('makes a waiting job due at once when it is cancelled', async () => {
    const id = await insertJob('wait', { runAfter: START + 1e9 });
    assert.equal(await claim(), undefined);
    const record = await store.jobs.cancel(id, nowMs);
    assert.deepEqual([record?.isCancelled, record?.state, record?.dueAt], [true, 'waiting', nowMs]);
    const job = await claimOne();
    assert.deepEqual([job.id, job.isCancelled], [id, true]);
    assert.equal(await store.jobs.cancel('job_none', nowMs), undefined);
  });

  it('reports the cancellation to the worker of a running job, and keeps its lease', async () => {
    const id = await insertJob('runs');
    const other = await insertJob('other');
    await claimOne();
    assert.deepEqual(await store.jobs.filterCancelled([id, other]), []);
    assert.deepEqual(await store.jobs.filterCancelled([]), []);
    const { dueAt, state } = (await store.jobs.cancel(id, nowMs)) ?? assert.fail();
    assert.deepEqual([dueAt, state], [START + LEASE_MS, 'running']);
    assert.deepEqual(await store.jobs.filterCancelled([other, id, 'job_none']), [id]);
    const renewed = await store.jobs.renew(id, { leaseOwner: 'a', leaseUntil: nowMs + LEASE_MS });
    assert.deepEqual(renewed, { isCancelled: true });
    const released = await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs + 50 });
    assert.deepEqual(released, { isCancelled: true });
  });

  it('wakes a waiting job, and no running job', async () => {
    const id = await insertJob('sleeps', { runAfter: START + 1e9 });
    await store.jobs.wake('extract', 'sleeps', nowMs);
    assert.equal(await claim(), undefined);
    await store.jobs.wake('batch', 'sleeps', nowMs);
    assert.equal((await claimOne()).id, id);
    await store.jobs.wake('batch', 'sleeps', nowMs);
    assert.equal((await findJob(id)).dueAt, nowMs + LEASE_MS);
  });

  const requeue = (subject: string, change: Partial<JobRequest> = {}) =>
    store.jobs.requeue(createJob(createRequest(subject, change), { ids, clock }));

  it('requeues: inserts a missing job, and lets a finished job wait again with the new request', async () => {
    for (const state of ['done', 'failed', 'cancelled'] as const) {
      const subject = `ended ${state}`;
      nowMs = START;
      await requeue(subject, { priority: 1 });
      const { id } = await claimOne();
      await store.jobs.cancel(id, nowMs);
      await store.jobs.finish(id, { leaseOwner: 'a', state, at: nowMs, error: 'x' });
      nowMs += 1_000;
      await requeue(subject, { payload: { now: 2 }, priority: 3, attemptsMax: 2 });
      const job = await findJob(id);
      assert.deepEqual(
        [
          job.state,
          job.dueAt,
          job.endedAt,
          job.isCancelled,
          job.attemptsLeft,
          job.attemptsMax,
          job.priority,
          job.payload,
        ],
        ['waiting', nowMs, undefined, false, 2, 2, 3, { now: 2 }],
      );
      assert.equal((await claimOne()).attempt, 2);
    }
  });

  it('requeues a waiting job: due at once with all attempts, and not later than before', async () => {
    const id = await insertJob('later', { runAfter: START + 1e9, attemptsMax: 5 });
    await requeue('later');
    assert.equal((await claimOne()).id, id);
    await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs, error: 'x' });
    assert.equal((await findJob(id)).attemptsLeft, 4);
    nowMs += 1_000;
    await requeue('later');
    assert.deepEqual([(await findJob(id)).dueAt, (await findJob(id)).attemptsLeft], [START, 5]);
  });

  it('requeues a running job: it continues, and runs once more after any outcome', async () => {
    const endings = {
      done: (id: string) => store.jobs.finish(id, { leaseOwner: 'a', state: 'done', at: nowMs }),
      failed: (id: string) => store.jobs.finish(id, { leaseOwner: 'a', state: 'failed', at: nowMs, error: 'x' }),
      released: (id: string) => store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs + 1e9, error: 'x' }),
    };
    for (const [subject, end] of Object.entries(endings)) {
      nowMs = START;
      const id = await insertJob(subject);
      await claimOne();
      await requeue(subject);
      assert.deepEqual([(await findJob(id)).state, (await findJob(id)).dueAt], ['running', nowMs + LEASE_MS]);
      assert.equal(await claim('b'), undefined);
      nowMs += 1_000;
      assert.ok(await end(id));
      assert.deepEqual([(await findJob(id)).state, (await findJob(id)).endedAt], ['waiting', undefined]);
      assert.equal((await claimOne('b')).id, id);
      await store.jobs.finish(id, { leaseOwner: 'b', state: 'done', at: nowMs });
      assert.equal((await findJob(id)).state, 'done');
    }
  });

  it('ignores a requeue from before the last claim', async () => {
    const id = await insertJob('dead');
    await claimOne();
    await requeue('dead');
    nowMs += LEASE_MS + 1;
    assert.equal((await claimOne('b')).id, id);
    await store.jobs.finish(id, { leaseOwner: 'b', state: 'done', at: nowMs });
    assert.equal((await findJob(id)).state, 'done');
  });

  it('does not delay a due job', async () => {
    const id = await insertJob('due');
    nowMs += 1_000;
    await store.jobs.wake('batch', 'due', nowMs);
    assert.equal((await findJob(id)).dueAt, START);
    assert.equal((await store.jobs.cancel(id, nowMs))?.dueAt, START);
  });

  it('lists the newest first, page by page, by kind and by state', async () => {
    const all: string[] = [];
    for (let count = 0; count < 5; count += 1)
      all.unshift(await insertJob(`list ${count}`, { kind: count % 2 === 0 ? 'batch' : 'extract' }));
    await claimOne('a', { kinds: ['extract'] });
    const listIndexes = async (page: object) =>
      (await store.jobs.list({ limit: 100, ...page })).map(({ id }) => all.indexOf(id));
    assert.deepEqual(await listIndexes({}), [0, 1, 2, 3, 4]);
    assert.deepEqual(await listIndexes({ limit: 2, after: all[1] }), [2, 3]);
    assert.deepEqual(await listIndexes({ kind: 'extract' }), [1, 3]);
    assert.deepEqual(await listIndexes({ state: 'running' }), [3]);
    assert.deepEqual(await listIndexes({ kind: 'batch', state: 'running' }), []);
  });

  it('removes jobs that finished before a time, up to the limit, and nothing else', async () => {
    const remaining = [await insertJob('waits'), await insertJob('ended later')];
    for (const subject of ['x', 'y', 'z']) {
      const id = await insertJob(subject, { priority: 0 });
      await claimOne();
      await store.jobs.finish(id, { leaseOwner: 'a', state: 'done', at: START });
    }
    await store.jobs.cancel(remaining[1] ?? '', nowMs);
    await claimOne('a', { kinds: [], cancelledKinds: ['batch'] });
    await store.jobs.finish(remaining[1] ?? '', { leaseOwner: 'a', state: 'cancelled', at: START + 1 });
    const query = { before: START + 1, limit: 2 };
    assert.equal(await store.jobs.removeFinished(query), 2);
    assert.equal(await store.jobs.removeFinished(query), 1);
    assert.equal(await store.jobs.removeFinished(query), 0);
    assert.deepEqual((await store.jobs.list({ limit: 10 })).map(({ id }) => id).toSorted(), remaining);
  });
});
