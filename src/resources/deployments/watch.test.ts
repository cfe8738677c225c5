import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../store/store.ts';
import { createTestDeployments, createDraft, OWNER } from './__fixtures__/test-deployments.ts';
import type { DeploymentChange } from './deployment.ts';

let store: Store;
let testDeployments: ReturnType<typeof createTestDeployments>;
beforeEach(async () => {
  store = await openTestStore();
  testDeployments = createTestDeployments(store);
});
afterEach(() => store.close());

const follow = (name: string, signal = new AbortController().signal) =>
  testDeployments.deployments.watch(OWNER, name, signal)[Symbol.asyncIterator]();
const describeChanges = (changes: readonly DeploymentChange[]) =>
  changes.map(({ record, event }) => `${event.transition} ${record.status} ${record.readyCapacity}/${record.capacity}`);
const next = async (source: AsyncIterator<readonly DeploymentChange[]>) => {
  const { value, done } = await source.next();
  return done === true ? undefined : describeChanges(value as readonly DeploymentChange[]);
};

test('yields the current state, then each change, and ends at rest', async () => {
  const { id, name } = await testDeployments.deployments.create(OWNER, createDraft());
  const source = follow(name);
  assert.deepEqual(await next(source), ['create pending 0/1']);
  const pending = next(source);
  await testDeployments.deployments.scale(OWNER, name, { capacity: 2 });
  assert.deepEqual(await pending, ['scale updating 0/2']);
  await testDeployments.lifecycle.reportReady(id, { generation: 2, readyCapacity: 1 });
  await testDeployments.lifecycle.reportReached(id, { generation: 2, readyCapacity: 2 });
  assert.deepEqual(await next(source), ['ready updating 1/2', 'reach running 2/2']);
  assert.equal(await next(source), undefined);
  assert.equal(testDeployments.intervals.size, 0);
});

test('yields the state of a deployment at rest and ends', async () => {
  const { id, name } = await testDeployments.deployments.create(OWNER, createDraft());
  await testDeployments.lifecycle.fail(id, { generation: 1, reason: 'no weights' });
  const source = follow(name);
  assert.deepEqual(await next(source), ['fail failed 0/1']);
  assert.equal(await next(source), undefined);
});

test('ends when the deployment is removed, even if another one takes its name', async () => {
  const { id, name } = await testDeployments.deployments.create(OWNER, createDraft());
  const source = follow(name);
  await next(source);
  await testDeployments.deployments.delete(OWNER, name);
  assert.deepEqual(await next(source), ['delete deleting 0/1']);
  await testDeployments.lifecycle.finishDeletion(id, { generation: 2 });
  await testDeployments.deployments.create(OWNER, createDraft());
  assert.equal(await next(source), undefined);
});

test('yields changes of another process at the next poll', async () => {
  const { id, name } = await testDeployments.deployments.create(OWNER, createDraft());
  const source = follow(name);
  await next(source);
  const pending = next(source);
  const elsewhere = createTestDeployments(store);
  await elsewhere.lifecycle.reportReached(id, { generation: 1, readyCapacity: 1 });
  for (const run of testDeployments.intervals) run();
  assert.deepEqual(await pending, ['reach running 1/1']);
});

test('rejects with the reason of the signal and stops polling', async () => {
  const { name } = await testDeployments.deployments.create(OWNER, createDraft());
  const controller = new AbortController();
  const source = follow(name, controller.signal);
  await next(source);
  const pending = source.next();
  controller.abort(new Error('the caller left'));
  await assert.rejects(pending, /the caller left/);
  assert.equal(testDeployments.intervals.size, 0);
});
