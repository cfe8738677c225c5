import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { systemIds } from '../../src/core/id.ts';
import type { JobRecord, JobWish } from '../../src/core/job.ts';
import { newJob } from '../../src/resources/jobs/new-job.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

const START = 1_790_000_000_123;
const LEASE_MS = 20_000;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const KINDS = ['batch', 'extract'] as const;

for (const { name, dialect } of DIALECTS) {
  describe(`jobs on ${name}`, () => {
    let folder = '';
    let store: Store;
    let nowMs = START;
    let made = 0;
    const clock = { now: () => nowMs, monotonic: () => nowMs - START };
    // In the order in which they were made, which chance is not.
    const ids = {
      ...systemIds,
      sortable: (prefix: string) => `${prefix}${(made += 1).toString(16).padStart(32, '0')}`,
    };

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-jobs-'));
      store = await openStore({ dialect: dialect(folder) });
    });
    after(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });
    beforeEach(async () => {
      nowMs = START;
      for (const { kind, subject } of await store.jobs.list({ limit: 1_000 })) await store.jobs.remove(kind, subject);
    });

    const wish = (subject: string, change: Partial<JobWish> = {}): JobWish => ({
      kind: 'batch',
      subject,
      owner: OWNER,
      payload: {},
      ...change,
    });
    const put = async (subject: string, change: Partial<JobWish> = {}): Promise<string> => {
      const job = newJob(wish(subject, change), { ids, clock });
      assert.ok(await store.jobs.insert(job));
      return job.id;
    };
    const claim = (leaseOwner = 'a', change: object = {}): Promise<JobRecord | undefined> =>
      store.jobs.claim({ leaseOwner, leaseUntil: nowMs + LEASE_MS, now: nowMs, kinds: KINDS, ...change });
    const claimed = async (leaseOwner = 'a', change: object = {}): Promise<JobRecord> =>
      (await claim(leaseOwner, change)) ?? assert.fail('nothing is due');
    const found = async (id: string): Promise<JobRecord> => (await store.jobs.find(id)) ?? assert.fail();

    it('gives back a job as it was wished for, with what was left open', async () => {
      const payload = { text: `O'Brien 密钥 🔑`, list: [1, null], ['__proto__']: 'a' };
      const id = await put('whole', { payload, priority: -3, tries: 2, runAfter: START + 5 });
      assert.deepEqual(await found(id), {
        id,
        kind: 'batch',
        subject: 'whole',
        owner: OWNER,
        payload,
        state: 'waiting',
        priority: -3,
        attempt: 0,
        tries: 2,
        triesLeft: 2,
        dueAt: START + 5,
        leaseOwner: undefined,
        isCancelled: false,
        progress: undefined,
        error: undefined,
        createdAt: START,
        startedAt: undefined,
        endedAt: undefined,
      });
      assert.deepEqual(await store.jobs.findBySubject('batch', 'whole'), await found(id));
      const plain = await found(await put('plain'));
      assert.deepEqual([plain.priority, plain.tries, plain.triesLeft, plain.dueAt], [5, 5, 5, START]);
    });

    it('is there with its subject or not at all', async () => {
      const draft = newJob(wish('torn'), { ids, clock });
      await assert.rejects(
        store.transaction(async ({ jobs }) => {
          await jobs.insert(draft);
          throw new Error('the subject could not be written');
        }),
      );
      assert.equal(await store.jobs.find(draft.id), undefined);
      assert.equal(await claim(), undefined);
    });

    it('has one job of a kind for a subject, also an ended one, until that is removed', async () => {
      const again = () => store.jobs.insert(newJob(wish('one'), { ids, clock }));
      const id = await put('one');
      assert.equal(await again(), false);
      await put('one', { kind: 'extract' });
      await claimed('a', { kinds: ['batch'] });
      await store.jobs.end(id, { leaseOwner: 'a', state: 'done', at: nowMs });
      assert.equal(await again(), false);
      await store.jobs.remove('batch', 'one');
      assert.equal(await again(), true);
      assert.ok(await store.jobs.findBySubject('extract', 'one'));
    });

    it('goes by priority, then by when a job is due, then by when it was made, and leaves out what is not due', async () => {
      await put('later', { runAfter: START + 1_000 });
      await put('second', { runAfter: START - 5 });
      await put('third');
      await put('fourth');
      await put('first', { priority: 1, runAfter: START - 1 });
      await put('other kind', { kind: 'response', priority: 0 });
      const order: (string | undefined)[] = [];
      for (let count = 0; count < 5; count += 1) order.push((await claim())?.subject);
      assert.deepEqual(order, ['first', 'second', 'third', 'fourth', undefined]);
      nowMs = START + 1_000;
      assert.equal((await claim())?.subject, 'later');
      assert.equal(await claim('a', { kinds: [] }), undefined);
    });

    it('gives each job to one of those who ask at the same time, and each of them one', async () => {
      for (let count = 0; count < 50; count += 1) await put(`race ${count}`);
      const owners = Array.from({ length: 50 }, (_, at) => `process ${at}`);
      const got = await Promise.all(owners.map((owner) => claim(owner)));
      assert.equal(new Set(got.map((job) => job?.id)).size, 50);
      assert.ok(got.every((job, at) => job?.state === 'running' && job.leaseOwner === owners[at]));
      assert.equal(await claim(), undefined);
    });

    it('tells who works at jobs, and gives on what one of them had', async () => {
      const [first, second] = [await put('a1'), await put('a2')];
      const other = await put('b1');
      const ended = await put('c1');
      for (const owner of ['a', 'a', 'b', 'c']) await claimed(owner);
      await store.jobs.end(ended, { leaseOwner: 'c', state: 'done', at: nowMs });
      await put('nobody');
      assert.deepEqual((await store.jobs.leaseOwners()).toSorted(), ['a', 'b']);
      assert.equal(await store.jobs.expire('a', nowMs), 2);
      assert.equal(await store.jobs.expire('a', nowMs), 0);
      const taken = [await claimed('d'), await claimed('d')];
      assert.deepEqual(
        taken.map(({ id, triesLeft }) => [id, triesLeft]),
        [
          [first, 4],
          [second, 4],
        ],
      );
      assert.equal((await claimed('d')).subject, 'nobody');
      assert.equal(await claim('d'), undefined);
      assert.equal((await found(other)).leaseOwner, 'b');
      assert.equal(await store.jobs.renew(first, { leaseOwner: 'a', leaseUntil: nowMs + 1 }), undefined);
    });

    it('tells whoever claims a job what it is then', async () => {
      const id = await put('told');
      nowMs += 7;
      const job = await claimed('me');
      assert.deepEqual(job, await found(id));
      assert.deepEqual(
        [job.state, job.attempt, job.leaseOwner, job.dueAt, job.startedAt, job.triesLeft],
        ['running', 1, 'me', nowMs + LEASE_MS, nowMs, 5],
      );
    });

    it('gives a job whose process is silent to the next one, for one of its tries', async () => {
      const id = await put('dead', { tries: 2 });
      await claimed('dead');
      nowMs += LEASE_MS - 1;
      assert.equal(await claim('b'), undefined);
      nowMs += 1;
      const job = await claimed('b');
      assert.deepEqual([job.id, job.attempt, job.triesLeft, job.startedAt], [id, 2, 1, START]);
      nowMs += LEASE_MS;
      assert.equal((await claimed('c')).triesLeft, 0);
    });

    it('does not wait for a lease that was taken before the clock was set back', async () => {
      const id = await put('of the future');
      nowMs = START + 3_600_000;
      await claimed('dead');
      nowMs = START + 1;
      assert.deepEqual([(await claimed('b')).id, (await found(id)).dueAt], [id, nowMs + LEASE_MS]);
      assert.equal(await claim('c'), undefined);
    });

    it('leaves out what whoever asks still has to do with', async () => {
      const id = await put('mine');
      await claimed('a');
      nowMs += LEASE_MS;
      assert.equal(await claim('a', { except: [id] }), undefined);
      assert.equal((await claim('a', { except: ['job_other'] }))?.id, id);
    });

    it('takes a job that was cancelled also of a kind that has no room', async () => {
      await put('waits');
      const id = await put('cancelled', { priority: 9 });
      await store.jobs.cancel(id, nowMs);
      assert.equal(await claim('a', { kinds: [], cancelledKinds: ['extract'] }), undefined);
      assert.equal((await claim('a', { kinds: ['extract'], cancelledKinds: ['batch'] }))?.id, id);
      assert.equal(await claim('a', { kinds: [], cancelledKinds: ['batch'] }), undefined);
    });

    it('keeps a lease by signs of life, and tells how far the work is', async () => {
      const id = await put('alive');
      await claimed();
      nowMs += LEASE_MS - 1;
      const progress = { done: 1, total: 3, step: 'read' };
      const wish = { leaseOwner: 'a', leaseUntil: nowMs + LEASE_MS, progress };
      assert.deepEqual(await store.jobs.renew(id, wish), { isCancelled: false });
      nowMs += LEASE_MS - 1;
      assert.equal(await claim('b'), undefined);
      assert.deepEqual((await found(id)).progress, progress);
      // Without news it stays as it was told.
      await store.jobs.renew(id, { leaseOwner: 'a', leaseUntil: nowMs + LEASE_MS });
      assert.deepEqual((await found(id)).progress, progress);
    });

    it('gives a job that moves on all of its tries again, and no other one', async () => {
      const id = await put('moves');
      await claimed();
      nowMs += LEASE_MS;
      await claimed('b');
      const lease = { leaseOwner: 'b', leaseUntil: nowMs + LEASE_MS };
      await store.jobs.renew(id, { ...lease, progress: { done: 0 } });
      assert.equal((await found(id)).triesLeft, 4);
      await store.jobs.renew(id, { ...lease, progress: { done: 1 }, hasMoved: true });
      assert.equal((await found(id)).triesLeft, 5);
    });

    it('puts a job back: a failure costs a try, anything else does not', async () => {
      const id = await put('back');
      await claimed();
      assert.deepEqual(await store.jobs.release(id, { leaseOwner: 'a', dueAt: START + 50, error: 'no luck' }), {
        isCancelled: false,
      });
      const { state, dueAt, triesLeft, error, leaseOwner } = await found(id);
      assert.deepEqual([state, dueAt, triesLeft, error, leaseOwner], ['waiting', START + 50, 4, 'no luck', undefined]);
      assert.equal(await claim(), undefined);
      nowMs += 50;
      await claimed();
      await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs, progress: { done: 4 } });
      assert.deepEqual([(await found(id)).triesLeft, (await found(id)).progress], [4, { done: 4 }]);
      await claimed();
      await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs, hasMoved: true });
      assert.deepEqual([(await found(id)).triesLeft, (await found(id)).attempt], [5, 3]);
      await claimed();
      await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs, hasMoved: true, error: 'again' });
      assert.equal((await found(id)).triesLeft, 4);
    });

    it('ends a job for good', async () => {
      const id = await put('ends');
      await claimed();
      const end = { leaseOwner: 'a', state: 'failed', at: nowMs + 3, error: 'why', progress: { done: 2 } } as const;
      assert.equal(await store.jobs.end(id, end), true);
      const { state, dueAt, endedAt, error, progress, leaseOwner } = await found(id);
      assert.deepEqual(
        [state, dueAt, endedAt, error, progress, leaseOwner],
        ['failed', undefined, START + 3, 'why', { done: 2 }, undefined],
      );
      nowMs += 10 * LEASE_MS;
      assert.equal(await claim(), undefined);
      assert.equal((await store.jobs.cancel(id, nowMs))?.isCancelled, false);
      await store.jobs.wake('batch', 'ends', nowMs);
      assert.equal((await found(id)).dueAt, undefined);
    });

    it('changes nothing for whom a job does not belong to any more', async () => {
      const id = await put('gone');
      await claimed('a');
      nowMs += LEASE_MS;
      await claimed('b');
      const before = await found(id);
      const late = { leaseOwner: 'a', error: 'late', progress: { done: 9 }, hasMoved: true };
      const nobody = async () => {
        assert.equal(await store.jobs.renew(id, { ...late, leaseUntil: nowMs + 9 }), undefined);
        assert.equal(await store.jobs.release(id, { ...late, dueAt: nowMs }), undefined);
        assert.equal(await store.jobs.end(id, { ...late, state: 'done', at: nowMs }), false);
      };
      await nobody();
      assert.deepEqual(await found(id), before);
      await store.jobs.release(id, { leaseOwner: 'b', dueAt: nowMs });
      const waiting = await found(id);
      await nobody();
      assert.deepEqual(await found(id), waiting);
      assert.equal(await store.jobs.renew('job_none', { leaseOwner: 'a', leaseUntil: nowMs }), undefined);
    });

    it('makes a waiting job that is cancelled due at once', async () => {
      const id = await put('wait', { runAfter: START + 1e9 });
      assert.equal(await claim(), undefined);
      const record = await store.jobs.cancel(id, nowMs);
      assert.deepEqual([record?.isCancelled, record?.state, record?.dueAt], [true, 'waiting', nowMs]);
      const job = await claimed();
      assert.deepEqual([job.id, job.isCancelled], [id, true]);
      assert.equal(await store.jobs.cancel('job_none', nowMs), undefined);
    });

    it('tells whoever runs a job that it is cancelled, and leaves it the lease', async () => {
      const id = await put('runs');
      const other = await put('other');
      await claimed();
      assert.deepEqual(await store.jobs.cancelledAmong([id, other]), []);
      assert.deepEqual(await store.jobs.cancelledAmong([]), []);
      const { dueAt, state } = (await store.jobs.cancel(id, nowMs)) ?? assert.fail();
      assert.deepEqual([dueAt, state], [START + LEASE_MS, 'running']);
      assert.deepEqual(await store.jobs.cancelledAmong([other, id, 'job_none']), [id]);
      const renewed = await store.jobs.renew(id, { leaseOwner: 'a', leaseUntil: nowMs + LEASE_MS });
      assert.deepEqual(renewed, { isCancelled: true });
      const released = await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs + 50 });
      assert.deepEqual(released, { isCancelled: true });
    });

    it('wakes what waits for later, and nothing that runs', async () => {
      const id = await put('sleeps', { runAfter: START + 1e9 });
      await store.jobs.wake('extract', 'sleeps', nowMs);
      assert.equal(await claim(), undefined);
      await store.jobs.wake('batch', 'sleeps', nowMs);
      assert.equal((await claimed()).id, id);
      await store.jobs.wake('batch', 'sleeps', nowMs);
      assert.equal((await found(id)).dueAt, nowMs + LEASE_MS);
    });

    const again = (subject: string, change: Partial<JobWish> = {}) =>
      store.jobs.requeue(newJob(wish(subject, change), { ids, clock }));

    it('makes one that is wanted once more where there is none, and has one that ended wait again, as it is wanted now', async () => {
      for (const state of ['done', 'failed', 'cancelled'] as const) {
        const subject = `ended ${state}`;
        nowMs = START;
        await again(subject, { priority: 1 });
        const { id } = await claimed();
        await store.jobs.cancel(id, nowMs);
        await store.jobs.end(id, { leaseOwner: 'a', state, at: nowMs, error: 'x' });
        nowMs += 1_000;
        await again(subject, { payload: { now: 2 }, priority: 3, tries: 2 });
        const job = await found(id);
        assert.deepEqual(
          [job.state, job.dueAt, job.endedAt, job.isCancelled, job.triesLeft, job.tries, job.priority, job.payload],
          ['waiting', nowMs, undefined, false, 2, 2, 3, { now: 2 }],
        );
        assert.equal((await claimed()).attempt, 2);
      }
    });

    it('has one that waits for later due at once, with all of its tries, and does not put one off that is due', async () => {
      const id = await put('later', { runAfter: START + 1e9, tries: 5 });
      await again('later');
      assert.equal((await claimed()).id, id);
      await store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs, error: 'x' });
      assert.equal((await found(id)).triesLeft, 4);
      nowMs += 1_000;
      await again('later');
      assert.deepEqual([(await found(id)).dueAt, (await found(id)).triesLeft], [START, 5]);
    });

    it('has one that runs go on, and run once more instead of ending, however it ends', async () => {
      const ends = {
        done: (id: string) => store.jobs.end(id, { leaseOwner: 'a', state: 'done', at: nowMs }),
        failed: (id: string) => store.jobs.end(id, { leaseOwner: 'a', state: 'failed', at: nowMs, error: 'x' }),
        released: (id: string) => store.jobs.release(id, { leaseOwner: 'a', dueAt: nowMs + 1e9, error: 'x' }),
      };
      for (const [subject, end] of Object.entries(ends)) {
        nowMs = START;
        const id = await put(subject);
        await claimed();
        await again(subject);
        assert.deepEqual([(await found(id)).state, (await found(id)).dueAt], ['running', nowMs + LEASE_MS]);
        assert.equal(await claim('b'), undefined);
        nowMs += 1_000;
        assert.ok(await end(id));
        assert.deepEqual([(await found(id)).state, (await found(id)).endedAt], ['waiting', undefined]);
        assert.equal((await claimed('b')).id, id);
        await store.jobs.end(id, { leaseOwner: 'b', state: 'done', at: nowMs });
        assert.equal((await found(id)).state, 'done');
      }
    });

    it('is not wanted once more by what was wished before it was claimed', async () => {
      const id = await put('dead');
      await claimed();
      await again('dead');
      nowMs += LEASE_MS + 1;
      assert.equal((await claimed('b')).id, id);
      await store.jobs.end(id, { leaseOwner: 'b', state: 'done', at: nowMs });
      assert.equal((await found(id)).state, 'done');
    });

    it('does not put one off that is due already', async () => {
      const id = await put('due');
      nowMs += 1_000;
      await store.jobs.wake('batch', 'due', nowMs);
      assert.equal((await found(id)).dueAt, START);
      assert.equal((await store.jobs.cancel(id, nowMs))?.dueAt, START);
    });

    it('lists the newest first, by pages, by kind and by state', async () => {
      const all: string[] = [];
      for (let count = 0; count < 5; count += 1)
        all.unshift(await put(`list ${count}`, { kind: count % 2 === 0 ? 'batch' : 'extract' }));
      await claimed('a', { kinds: ['extract'] });
      const listed = async (page: object) =>
        (await store.jobs.list({ limit: 100, ...page })).map(({ id }) => all.indexOf(id));
      assert.deepEqual(await listed({}), [0, 1, 2, 3, 4]);
      assert.deepEqual(await listed({ limit: 2, after: all[1] }), [2, 3]);
      assert.deepEqual(await listed({ kind: 'extract' }), [1, 3]);
      assert.deepEqual(await listed({ state: 'running' }), [3]);
      assert.deepEqual(await listed({ kind: 'batch', state: 'running' }), []);
    });

    it('removes what ended before a time, so many at once, and nothing else', async () => {
      const kept = [await put('waits'), await put('ended later')];
      for (const subject of ['x', 'y', 'z']) {
        const id = await put(subject, { priority: 0 });
        await claimed();
        await store.jobs.end(id, { leaseOwner: 'a', state: 'done', at: START });
      }
      await store.jobs.cancel(kept[1] ?? '', nowMs);
      await claimed('a', { kinds: [], cancelledKinds: ['batch'] });
      await store.jobs.end(kept[1] ?? '', { leaseOwner: 'a', state: 'cancelled', at: START + 1 });
      const wish = { before: START + 1, limit: 2 };
      assert.equal(await store.jobs.removeEnded(wish), 2);
      assert.equal(await store.jobs.removeEnded(wish), 1);
      assert.equal(await store.jobs.removeEnded(wish), 0);
      assert.deepEqual((await store.jobs.list({ limit: 10 })).map(({ id }) => id).toSorted(), kept);
    });
  });
}
