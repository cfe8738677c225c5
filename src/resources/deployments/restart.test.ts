import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
import { createDeploymentRoom, draft, OWNER } from './__fixtures__/deployment-room.ts';
import { restartDeployments } from './restart.ts';

const PTU = { inputTpm: 10, outputTpm: 10, thinkingOutputTpm: 10 };

describe('a start of the process that keeps the engines', () => {
  let store: Store;
  let room: ReturnType<typeof createDeploymentRoom>;
  beforeEach(async () => {
    store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
    room = createDeploymentRoom(store);
  });
  afterEach(() => store.close());

  const make = async (suffix: string, change = {}, ready?: number): Promise<string> => {
    const { id, name, generation } = await room.deployments.create(
      OWNER,
      draft({ capacity: 2, spec: { suffix }, ...change }),
    );
    if (ready !== undefined) await room.steps.reached(id, { generation, readyCapacity: ready });
    const { id: job, dueAt = 0 } = (await store.jobs.findBySubject('deployment', id)) ?? assert.fail();
    // As a worker leaves it when all is done.
    const leaseOwner = 'earlier';
    await store.jobs.claim({ leaseOwner, now: dueAt, leaseUntil: dueAt + 1_000, kinds: ['deployment'] });
    assert.ok(await store.jobs.end(job, { leaseOwner, state: 'done', at: dueAt }));
    return name;
  };
  const told = async (name: string) => {
    const { id, status, readyCapacity } = await room.deployments.find(OWNER, name);
    const job = await store.jobs.findBySubject('deployment', id);
    return `${status} ${readyCapacity} ${job?.state}`;
  };
  const restart = () => restartDeployments({ change: room.change, clock: room.clock });

  test('finds nothing that serves, says so, and has what is wanted brought about', async () => {
    const running = await make('run', {}, 2);
    const pending = await make('new');
    assert.equal(await told(running), 'running 2 done');
    await restart();
    assert.equal(await told(running), 'running 0 waiting');
    assert.equal((await room.deployments.events(OWNER, running)).at(-1)?.reason, 'The service was started again.');
    assert.equal(await told(pending), 'pending 0 waiting');
    const events = (await room.deployments.events(OWNER, running)).length;
    await restart();
    assert.equal((await room.deployments.events(OWNER, running)).length, events, 'it is told once');
  });

  test('lets those rest that want nothing, have given up, or have no engine of their own', async () => {
    const stopped = await make('stop', { capacity: 0 }, 0);
    const failed = await make('fail');
    const { id, generation } = await room.deployments.find(OWNER, failed);
    await room.steps.fail(id, { generation, reason: 'no' });
    const reserved = await make('ptu', { plan: 'ptu', capacity: undefined, ptu: PTU }, 1);
    await restart();
    assert.deepEqual(await Promise.all([stopped, failed, reserved].map(told)), [
      'stopped 0 done',
      'failed 0 done',
      'running 1 done',
    ]);
  });

  test('goes on with what was to go', async () => {
    const name = await make('gone', {}, 2);
    await room.deployments.delete(OWNER, name);
    await restart();
    assert.equal(await told(name), 'deleting 0 waiting');
  });
});
