import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIdGenerator } from '../../core/id.ts';
import { DEPLOYMENT_POLL_MS } from '../../core/limits.ts';
import { JOB_ATTEMPTS_DEFAULT } from '../../resources/limits.ts';
import { JOB_LEASE_MS } from '../limits.ts';
import {
  DEPLOYMENT_CAPACITY_RETRY_MS,
  DEPLOYMENT_DRAIN_POLL_MS,
  DEPLOYMENT_RETRY_MS_MAX,
  DEPLOYMENT_JOB_SLICE_MS,
  DEPLOYMENT_JOB_CONCURRENCY,
} from './limits.ts';
import {
  createTestDeployments,
  createDraft,
  OWNER,
  pickState,
} from '../../resources/deployments/__fixtures__/test-deployments.ts';
import { createJob } from '../../resources/jobs/create-job.ts';
import { restartDeployments } from '../../resources/deployments/restart.ts';
import { createTestWorkers, type TestWorkers } from '../__fixtures__/test-workers.ts';
import { createDeploymentHandler, type DeploymentRuntime } from './deployment-handler.ts';

type ReconcileResult = Awaited<ReturnType<DeploymentRuntime['reconcile']>>;

describe('createDeploymentHandler', () => {
  let testWorkers: TestWorkers;
  let testDeployments: ReturnType<typeof createTestDeployments>;
  /** Recorded calls of the runtime. */
  let calls: string[];
  let reconcile: (record: DeploymentRecord, signal: AbortSignal) => Promise<ReconcileResult>;
  let isRetired: boolean;
  beforeEach(async () => {
    testWorkers = await createTestWorkers();
    testDeployments = createTestDeployments(testWorkers.store);
    calls = [];
    isRetired = true;
    reconcile = async ({ capacity }) => ({ readyUnits: capacity });
  });
  afterEach(() => testWorkers.close());

  const createHandler = (lifecycle = testDeployments.lifecycle) =>
    createDeploymentHandler({
      lifecycle,
      notifier: testDeployments.notifier,
      log: {
        warn: (message, fields = {}) => void testWorkers.logLines.push({ level: 'warn', message, fields: fields }),
      },
      startInterval: testWorkers.time.startInterval,
      runtime: {
        reconcile(record, signal) {
          calls.push(`${record.generation}: ${record.capacity}`);
          return reconcile(record, signal);
        },
        async retire() {
          calls.push('retire');
          return isRetired;
        },
      },
    });
  const start = (name?: string, lifecycle = testDeployments.lifecycle) =>
    testWorkers.start({ deployment: createHandler(lifecycle) }, name === undefined ? {} : { name });
  const create = async (change = {}): Promise<string> =>
    (await testDeployments.deployments.create(OWNER, createDraft(change))).name;
  const describeState = async (name: string) => {
    const { status, capacity, readyCapacity, generation, appliedGeneration } = pickState(
      await testDeployments.deployments.find(OWNER, name),
    );
    return `${status} ${readyCapacity}/${capacity} ${appliedGeneration}/${generation}`;
  };
  const listEvents = async (name: string) =>
    (await testDeployments.deployments.events(OWNER, name)).map(({ transition, reason }) =>
      `${transition} ${reason}`.trim(),
    );
  const failWith = (message: string): void => {
    reconcile = () => Promise.reject(new ServiceError('overloaded', message));
  };
  const blockUntilAborted = () => {
    reconcile = (_, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
  };

  test('reconciles once and then stays idle', async () => {
    const name = await create({ capacity: 2 });
    const worker = start();
    await testWorkers.time.advance(5_000);
    assert.equal(await describeState(name), 'running 2/2 1/1');
    await testWorkers.time.advance(10 * DEPLOYMENT_CAPACITY_RETRY_MS);
    assert.deepEqual(calls, ['1: 2']);
    await worker.close();
  });

  test('retries missing capacity as long as it is requested', async () => {
    reconcile = async () => ({ readyUnits: 1, reason: `Memory holds 1; ${900 - calls.length} MiB are available.` });
    const name = await create({ capacity: 2 });
    const worker = start();
    await testWorkers.time.advance(5_000);
    assert.equal(await describeState(name), 'running 1/2 1/1');
    await testWorkers.time.advance(2 * DEPLOYMENT_CAPACITY_RETRY_MS);
    assert.ok(calls.length > 1);
    const events = ['reach Memory holds 1; 899 MiB are available.'];
    assert.deepEqual(
      (await listEvents(name)).slice(1),
      events,
      'a reason that differs only in numbers is recorded once',
    );
    reconcile = async ({ capacity }) => ({ readyUnits: capacity });
    await testWorkers.time.advance(2 * DEPLOYMENT_CAPACITY_RETRY_MS);
    assert.equal(await describeState(name), 'running 2/2 1/1');
    assert.ok(calls.length > 2);
    await worker.close();
  });

  test('aborts an outdated generation and continues with the newest', async () => {
    const name = await create();
    blockUntilAborted();
    const worker = start();
    await testWorkers.time.advance(100);
    assert.equal(await describeState(name), 'pending 0/1 0/1');
    reconcile = async ({ capacity }) => ({ readyUnits: capacity });
    await Promise.all([
      testDeployments.deployments.scale(OWNER, name, { capacity: 3 }),
      testDeployments.deployments.scale(OWNER, name, { capacity: 4 }),
    ]);
    await testWorkers.time.advance(100);
    const { capacity } = await testDeployments.deployments.find(OWNER, name);
    assert.equal(await describeState(name), `running ${capacity}/${capacity} 3/3`);
    assert.deepEqual((await listEvents(name)).filter((each) => each.startsWith('scale')).length, 2);
    await worker.close();
  });

  test('slow deployments do not block others and cost no attempt', async () => {
    const old = await create();
    const worker = start();
    await testWorkers.time.advance(100);
    let finish: (result: ReconcileResult) => void = () => undefined;
    const pendingResult = new Promise<ReconcileResult>((resolve) => (finish = resolve));
    reconcile = () => pendingResult;
    const slow = await Promise.all(
      Array.from({ length: DEPLOYMENT_JOB_CONCURRENCY }, (_, at) => create({ spec: { suffix: `slow-${at}` } })),
    );
    await testWorkers.time.advance(2_000);
    await testDeployments.deployments.delete(OWNER, old);
    await testWorkers.time.advance(2 * DEPLOYMENT_JOB_SLICE_MS);
    await assert.rejects(testDeployments.deployments.find(OWNER, old), /not found/);
    await testWorkers.time.advance(JOB_ATTEMPTS_DEFAULT * DEPLOYMENT_JOB_SLICE_MS);
    for (const name of slow) assert.equal(await describeState(name), 'pending 0/1 0/1');
    finish({ readyUnits: 1 });
    await testWorkers.time.advance(2 * DEPLOYMENT_JOB_SLICE_MS);
    for (const name of slow) assert.equal(await describeState(name), 'running 1/1 1/1');
    await worker.close();
  });

  test('notices a request of another process at the next poll', async () => {
    const name = await create();
    blockUntilAborted();
    const worker = start();
    await testWorkers.time.advance(100);
    const otherProcess = createTestDeployments(testWorkers.store);
    reconcile = async ({ capacity }) => ({ readyUnits: capacity });
    await otherProcess.deployments.scale(OWNER, name, { capacity: 3 });
    assert.deepEqual(calls, ['1: 1']);
    await testWorkers.time.advance(2 * DEPLOYMENT_POLL_MS);
    assert.equal(await describeState(name), 'running 3/3 2/2');
    await worker.close();
  });

  test('does not write the result of an outdated generation', async () => {
    const name = await create();
    let finish: (result: ReconcileResult) => void = () => undefined;
    reconcile = () => new Promise((resolve) => (finish = resolve));
    const worker = start();
    await testWorkers.time.advance(100);
    reconcile = async ({ capacity }) => ({ readyUnits: capacity });
    await testDeployments.deployments.scale(OWNER, name, { capacity: 0 });
    finish({ readyUnits: 1 });
    await testWorkers.time.advance(2_000);
    assert.equal(await describeState(name), 'stopped 0/0 2/2');
    assert.ok(!(await listEvents(name)).some((each) => each.startsWith('reach')));
    await worker.close();
  });

  test('fails with the last reason without attempts left, and starts again when scaled', async () => {
    failWith('The weights are not here.');
    const name = await create();
    const worker = start();
    await testWorkers.time.advance(100);
    assert.equal(await describeState(name), 'pending 0/1 0/1');
    assert.equal((await listEvents(name)).at(-1), 'ready The weights are not here.');
    await testWorkers.time.advance(JOB_ATTEMPTS_DEFAULT * DEPLOYMENT_RETRY_MS_MAX);
    assert.equal(await describeState(name), 'failed 0/1 0/1');
    assert.equal((await listEvents(name)).at(-1), 'fail The weights are not here.');
    assert.equal(calls.length, JOB_ATTEMPTS_DEFAULT);
    assert.ok(testWorkers.logLines.some(({ message }) => message === 'deployment failed to start'));
    const { id, generation } = await testDeployments.deployments.find(OWNER, name);
    const again = { kind: 'deployment', subject: id, owner: OWNER, payload: { generation } } as const;
    await testWorkers.store.transaction(({ jobs }) =>
      jobs.requeue(createJob(again, { ids: systemIdGenerator, clock: testDeployments.clock })),
    );
    await testWorkers.time.advance(10 * DEPLOYMENT_RETRY_MS_MAX);
    assert.equal(calls.length, JOB_ATTEMPTS_DEFAULT, 'only a request of the owner starts it again');
    reconcile = async ({ capacity }) => ({ readyUnits: capacity });
    await testDeployments.deployments.scale(OWNER, name, { capacity: 1 });
    await testWorkers.time.advance(2_000);
    assert.equal(await describeState(name), 'running 1/1 2/2');
    await worker.close();
  });

  test('retries a deployment that ran before as long as it is requested', async () => {
    const name = await create({ capacity: 2 });
    const first = start('first');
    await testWorkers.time.advance(100);
    await first.close();
    await restartDeployments(testDeployments);
    failWith('No memory.');
    const second = start('second');
    await testWorkers.time.advance(2 * JOB_ATTEMPTS_DEFAULT * DEPLOYMENT_CAPACITY_RETRY_MS);
    assert.equal(await describeState(name), 'running 0/2 1/1');
    assert.ok(calls.length > JOB_ATTEMPTS_DEFAULT + 1, 'its attempts are not limited');
    assert.ok(calls.length < 3 * JOB_ATTEMPTS_DEFAULT, 'it is not retried without a delay');
    reconcile = async ({ capacity }) => ({ readyUnits: capacity });
    await testWorkers.time.advance(2 * DEPLOYMENT_CAPACITY_RETRY_MS);
    assert.equal(await describeState(name), 'running 2/2 1/1');
    await second.close();
  });

  test('deletes the record after the last call has ended', async () => {
    const name = await create();
    const worker = start();
    await testWorkers.time.advance(100);
    isRetired = false;
    await testDeployments.deployments.delete(OWNER, name);
    await testWorkers.time.advance(5 * DEPLOYMENT_DRAIN_POLL_MS);
    assert.equal(await describeState(name), 'deleting 1/1 1/2');
    assert.ok(calls.filter((each) => each === 'retire').length > 3);
    isRetired = true;
    await testWorkers.time.advance(2 * DEPLOYMENT_DRAIN_POLL_MS);
    await assert.rejects(testDeployments.deployments.find(OWNER, name), /not found/);
    await worker.close();
  });

  test('a deletion aborts the start', async () => {
    const name = await create();
    blockUntilAborted();
    const worker = start();
    await testWorkers.time.advance(100);
    await testDeployments.deployments.delete(OWNER, name);
    await testWorkers.time.advance(2_000);
    await assert.rejects(testDeployments.deployments.find(OWNER, name), /not found/);
    await worker.close();
  });

  test('is returned to the queue unchanged when its process ends', async () => {
    const name = await create();
    blockUntilAborted();
    const worker = start();
    await testWorkers.time.advance(100);
    await worker.close();
    assert.equal(await describeState(name), 'pending 0/1 0/1');
    reconcile = async ({ capacity }) => ({ readyUnits: capacity });
    const next = start('next');
    await testWorkers.time.advance(JOB_LEASE_MS + 2_000);
    assert.equal(await describeState(name), 'running 1/1 1/1');
    await next.close();
  });

  test('a generation requested after the last failed attempt gets new attempts', async () => {
    failWith('No memory.');
    const name = await create();
    const { reportReady } = testDeployments.lifecycle;
    const lifecycle = {
      ...testDeployments.lifecycle,
      async reportReady(id: string, options: Parameters<typeof reportReady>[1]) {
        const record = await reportReady(id, options);
        if (calls.length === JOB_ATTEMPTS_DEFAULT)
          await testDeployments.deployments.scale(OWNER, name, { capacity: 2 });
        return record;
      },
    };
    const worker = start('first', lifecycle);
    await testWorkers.time.advance(JOB_ATTEMPTS_DEFAULT * DEPLOYMENT_RETRY_MS_MAX);
    assert.ok(calls.includes('2: 2'), calls.join());
    await worker.close();
  });

  test('giveUp fails the deployment unless a newer generation or a deletion was requested', async () => {
    const name = await create();
    const { id } = await testDeployments.deployments.find(OWNER, name);
    const job = (await testWorkers.store.jobs.findBySubject('deployment', id)) ?? assert.fail();
    const { giveUp = assert.fail } = createHandler();
    const error = new ServiceError('internal', 'It ended with its process.');
    await testDeployments.deployments.scale(OWNER, name, { capacity: 2 });
    await assert.rejects(Promise.resolve(giveUp(job, error)), error);
    assert.equal(await describeState(name), 'updating 0/2 0/2');
    await giveUp((await testWorkers.store.jobs.findBySubject('deployment', id)) ?? assert.fail(), error);
    assert.equal(await describeState(name), 'failed 0/2 0/2');
    assert.equal((await listEvents(name)).at(-1), 'fail It ended with its process.');
    await testDeployments.deployments.delete(OWNER, name);
    const last = (await testWorkers.store.jobs.findBySubject('deployment', id)) ?? assert.fail();
    await assert.rejects(Promise.resolve(giveUp(last, error)), error, 'a deletion has to complete');
  });
});
