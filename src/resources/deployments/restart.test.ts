import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../store/store.ts';
import { createTestDeployments, createDraft, OWNER } from './__fixtures__/test-deployments.ts';
import { restartDeployments } from './restart.ts';

const PTU = { inputTpm: 10, outputTpm: 10, thinkingOutputTpm: 10 };

describe('restartDeployments', () => {
  let store: Store;
  let testDeployments: ReturnType<typeof createTestDeployments>;
  beforeEach(async () => {
    store = await openTestStore();
    testDeployments = createTestDeployments(store);
  });
  afterEach(() => store.close());

  const createDeployment = async (suffix: string, change = {}, ready?: number): Promise<string> => {
    const { id, name, generation } = await testDeployments.deployments.create(
      OWNER,
      createDraft({ capacity: 2, spec: { suffix }, ...change }),
    );
    if (ready !== undefined) await testDeployments.lifecycle.reportReached(id, { generation, readyCapacity: ready });
    const { id: job, dueAt = 0 } = (await store.jobs.findBySubject('deployment', id)) ?? assert.fail();
    // The state that a worker leaves after it finished the job.
    const leaseOwner = 'earlier';
    await store.jobs.claim({ leaseOwner, now: dueAt, leaseUntil: dueAt + 1_000, kinds: ['deployment'] });
    assert.ok(await store.jobs.finish(job, { leaseOwner, state: 'done', at: dueAt }));
    return name;
  };
  const describeState = async (name: string) => {
    const { id, status, readyCapacity } = await testDeployments.deployments.find(OWNER, name);
    const job = await store.jobs.findBySubject('deployment', id);
    return `${status} ${readyCapacity} ${job?.state}`;
  };
  const restart = () => restartDeployments({ transact: testDeployments.transact, clock: testDeployments.clock });

  test('resets the ready capacity with an event and enqueues jobs', async () => {
    const running = await createDeployment('run', {}, 2);
    const pending = await createDeployment('new');
    assert.equal(await describeState(running), 'running 2 done');
    await restart();
    assert.equal(await describeState(running), 'running 0 waiting');
    assert.equal(
      (await testDeployments.deployments.events(OWNER, running)).at(-1)?.reason,
      'The service was restarted.',
    );
    assert.equal(await describeState(pending), 'pending 0 waiting');
    const events = (await testDeployments.deployments.events(OWNER, running)).length;
    await restart();
    assert.equal(
      (await testDeployments.deployments.events(OWNER, running)).length,
      events,
      'a second restart adds no event',
    );
  });

  test('skips deployments that are stopped, failed, or have reserved tokens', async () => {
    const stopped = await createDeployment('stop', { capacity: 0 }, 0);
    const failed = await createDeployment('fail');
    const { id, generation } = await testDeployments.deployments.find(OWNER, failed);
    await testDeployments.lifecycle.fail(id, { generation, reason: 'no' });
    const reserved = await createDeployment('ptu', { plan: 'ptu', capacity: undefined, ptu: PTU }, 1);
    await restart();
    assert.deepEqual(await Promise.all([stopped, failed, reserved].map(describeState)), [
      'stopped 0 done',
      'failed 0 done',
      'running 1 done',
    ]);
  });

  test('continues an interrupted deletion', async () => {
    const name = await createDeployment('gone', {}, 2);
    await testDeployments.deployments.delete(OWNER, name);
    await restart();
    assert.equal(await describeState(name), 'deleting 0 waiting');
  });
});
