import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
import { createDeploymentRoom, draft, OWNER } from './__fixtures__/deployment-room.ts';
import type { DeploymentChange } from './deployment.ts';

let store: Store;
let room: ReturnType<typeof createDeploymentRoom>;
beforeEach(async () => {
  store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
  room = createDeploymentRoom(store);
});
afterEach(() => store.close());

const follow = (name: string, signal = new AbortController().signal) =>
  room.deployments.watch(OWNER, name, signal)[Symbol.asyncIterator]();
const told = (changes: readonly DeploymentChange[]) =>
  changes.map(({ record, event }) => `${event.move} ${record.status} ${record.readyCapacity}/${record.capacity}`);
const next = async (source: AsyncIterator<readonly DeploymentChange[]>) => {
  const { value, done } = await source.next();
  return done === true ? undefined : told(value as readonly DeploymentChange[]);
};

test('tells it as it is, then each change as it was then, and ends where it is at rest', async () => {
  const { id, name } = await room.deployments.create(OWNER, draft());
  const source = follow(name);
  assert.deepEqual(await next(source), ['create pending 0/1']);
  const waiting = next(source);
  await room.deployments.scale(OWNER, name, { capacity: 2 });
  assert.deepEqual(await waiting, ['scale updating 0/2']);
  await room.steps.ready(id, { generation: 2, readyCapacity: 1 });
  await room.steps.reached(id, { generation: 2, readyCapacity: 2 });
  assert.deepEqual(await next(source), ['ready updating 1/2', 'reach running 2/2']);
  assert.equal(await next(source), undefined);
  assert.equal(room.looks.size, 0);
});

test('of one that is at rest it tells what it is, and ends', async () => {
  const { id, name } = await room.deployments.create(OWNER, draft());
  await room.steps.fail(id, { generation: 1, reason: 'no weights' });
  const source = follow(name);
  assert.deepEqual(await next(source), ['fail failed 0/1']);
  assert.equal(await next(source), undefined);
});

test('ends where it is gone, also when another one has its name by then', async () => {
  const { id, name } = await room.deployments.create(OWNER, draft());
  const source = follow(name);
  await next(source);
  await room.deployments.delete(OWNER, name);
  assert.deepEqual(await next(source), ['delete deleting 0/1']);
  await room.steps.gone(id, { generation: 2 });
  await room.deployments.create(OWNER, draft());
  assert.equal(await next(source), undefined);
});

test('sees with its next look what another process did', async () => {
  const { id, name } = await room.deployments.create(OWNER, draft());
  const source = follow(name);
  await next(source);
  const waiting = next(source);
  const elsewhere = createDeploymentRoom(store);
  await elsewhere.steps.reached(id, { generation: 1, readyCapacity: 1 });
  for (const look of room.looks) look();
  assert.deepEqual(await waiting, ['reach running 1/1']);
});

test('ends with the reason of its signal, and looks no more', async () => {
  const { name } = await room.deployments.create(OWNER, draft());
  const controller = new AbortController();
  const source = follow(name, controller.signal);
  await next(source);
  const waiting = source.next();
  controller.abort(new Error('the caller left'));
  await assert.rejects(waiting, /the caller left/);
  assert.equal(room.looks.size, 0);
});
