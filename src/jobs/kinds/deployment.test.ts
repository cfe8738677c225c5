import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIds } from '../../core/id.ts';
import {
  DEPLOYMENT_AGAIN_MS,
  DEPLOYMENT_ENDING_LOOK_MS,
  DEPLOYMENT_LOOK_MS,
  DEPLOYMENT_RETRY_MS_MAX,
  DEPLOYMENT_TURN_MS,
  DEPLOYMENTS_AT_ONCE,
  JOB_LEASE_MS,
  JOB_TRIES_DEFAULT,
} from '../../core/limits.ts';
import {
  createDeploymentRoom,
  draft,
  OWNER,
  stateOf,
} from '../../resources/deployments/__fixtures__/deployment-room.ts';
import { newJob } from '../../resources/jobs/new-job.ts';
import { restartDeployments } from '../../resources/deployments/restart.ts';
import { playWorkers } from '../__fixtures__/played-worker.ts';
import type { PlayedWorkers } from '../__fixtures__/played-worker.ts';
import type { DeploymentCapacity } from './deployment.ts';
import { deploymentJob } from './deployment.ts';

type Standing = Awaited<ReturnType<DeploymentCapacity['bringAbout']>>;

describe('the job of a deployment', () => {
  let played: PlayedWorkers;
  let room: ReturnType<typeof createDeploymentRoom>;
  /** What was asked of those who keep engines. */
  let asked: string[];
  let bringAbout: (record: DeploymentRecord, signal: AbortSignal) => Promise<Standing>;
  let isRetired: boolean;
  beforeEach(async () => {
    played = await playWorkers();
    room = createDeploymentRoom(played.store);
    asked = [];
    isRetired = true;
    bringAbout = async ({ capacity }) => ({ readyUnits: capacity });
  });
  afterEach(() => played.close());

  const handlerOf = (steps = room.steps) =>
    deploymentJob({
      steps,
      bell: room.bell,
      log: { warn: (message, facts = {}) => void played.lines.push({ level: 'warn', message, facts }) },
      every: played.time.every,
      capacity: {
        bringAbout(record, signal) {
          asked.push(`${record.generation}: ${record.capacity}`);
          return bringAbout(record, signal);
        },
        async retire() {
          asked.push('retire');
          return isRetired;
        },
      },
    });
  const begin = (name?: string, steps = room.steps) =>
    played.begin({ deployment: handlerOf(steps) }, name === undefined ? {} : { name });
  const create = async (change = {}): Promise<string> => (await room.deployments.create(OWNER, draft(change))).name;
  const now = async (name: string) => {
    const { status, capacity, readyCapacity, generation, reached } = stateOf(await room.deployments.find(OWNER, name));
    return `${status} ${readyCapacity}/${capacity} ${reached}/${generation}`;
  };
  const reasons = async (name: string) =>
    (await room.deployments.events(OWNER, name)).map(({ move, reason }) => `${move} ${reason}`.trim());
  const failWith = (message: string): void => {
    bringAbout = () => Promise.reject(new ServiceError('overloaded', message));
  };
  const hold = () => {
    bringAbout = (_, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
  };

  test('brings about what is wanted, and rests', async () => {
    const name = await create({ capacity: 2 });
    const worker = begin();
    await played.time.pass(5_000);
    assert.equal(await now(name), 'running 2/2 1/1');
    await played.time.pass(10 * DEPLOYMENT_AGAIN_MS);
    assert.deepEqual(asked, ['1: 2']);
    await worker.close();
  });

  test('tries more of what the machine does not hold, for as long as it is wanted', async () => {
    bringAbout = async () => ({ readyUnits: 1, reason: `Memory holds 1; ${900 - asked.length} MiB are available.` });
    const name = await create({ capacity: 2 });
    const worker = begin();
    await played.time.pass(5_000);
    assert.equal(await now(name), 'running 1/2 1/1');
    await played.time.pass(2 * DEPLOYMENT_AGAIN_MS);
    assert.ok(asked.length > 1);
    const told = ['reach Memory holds 1; 899 MiB are available.'];
    assert.deepEqual((await reasons(name)).slice(1), told, 'the same is told once, whatever its figures are by now');
    bringAbout = async ({ capacity }) => ({ readyUnits: capacity });
    await played.time.pass(2 * DEPLOYMENT_AGAIN_MS);
    assert.equal(await now(name), 'running 2/2 1/1');
    assert.ok(asked.length > 2);
    await worker.close();
  });

  test('goes on to the newest wish: the making of an older one ends as soon as another is known', async () => {
    const name = await create();
    hold();
    const worker = begin();
    await played.time.pass(100);
    assert.equal(await now(name), 'pending 0/1 0/1');
    bringAbout = async ({ capacity }) => ({ readyUnits: capacity });
    await Promise.all([
      room.deployments.scale(OWNER, name, { capacity: 3 }),
      room.deployments.scale(OWNER, name, { capacity: 4 }),
    ]);
    await played.time.pass(100);
    const { capacity } = await room.deployments.find(OWNER, name);
    assert.equal(await now(name), `running ${capacity}/${capacity} 3/3`);
    assert.deepEqual((await reasons(name)).filter((each) => each.startsWith('scale')).length, 2);
    await worker.close();
  });

  test('those that take long to start hold up nobody, and cost no try', async () => {
    const old = await create();
    const worker = begin();
    await played.time.pass(100);
    let finish: (standing: Standing) => void = () => undefined;
    const made = new Promise<Standing>((resolve) => (finish = resolve));
    bringAbout = () => made;
    const slow = await Promise.all(
      Array.from({ length: DEPLOYMENTS_AT_ONCE }, (_, at) => create({ spec: { suffix: `slow-${at}` } })),
    );
    await played.time.pass(2_000);
    await room.deployments.delete(OWNER, old);
    await played.time.pass(2 * DEPLOYMENT_TURN_MS);
    await assert.rejects(room.deployments.find(OWNER, old), /not found/);
    await played.time.pass(JOB_TRIES_DEFAULT * DEPLOYMENT_TURN_MS);
    for (const name of slow) assert.equal(await now(name), 'pending 0/1 0/1');
    finish({ readyUnits: 1 });
    await played.time.pass(2 * DEPLOYMENT_TURN_MS);
    for (const name of slow) assert.equal(await now(name), 'running 1/1 1/1');
    await worker.close();
  });

  test('hears of a wish of another process with its next look', async () => {
    const name = await create();
    hold();
    const worker = begin();
    await played.time.pass(100);
    const elsewhere = createDeploymentRoom(played.store);
    bringAbout = async ({ capacity }) => ({ readyUnits: capacity });
    await elsewhere.deployments.scale(OWNER, name, { capacity: 3 });
    assert.deepEqual(asked, ['1: 1']);
    await played.time.pass(2 * DEPLOYMENT_LOOK_MS);
    assert.equal(await now(name), 'running 3/3 2/2');
    await worker.close();
  });

  test('what comes true after another one is wanted is not written over it', async () => {
    const name = await create();
    let finish: (standing: Standing) => void = () => undefined;
    bringAbout = () => new Promise((resolve) => (finish = resolve));
    const worker = begin();
    await played.time.pass(100);
    bringAbout = async ({ capacity }) => ({ readyUnits: capacity });
    await room.deployments.scale(OWNER, name, { capacity: 0 });
    finish({ readyUnits: 1 });
    await played.time.pass(2_000);
    assert.equal(await now(name), 'stopped 0/0 2/2');
    assert.ok(!(await reasons(name)).some((each) => each.startsWith('reach')));
    await worker.close();
  });

  test('fails when all tries are used up, with the last reason, and is tried again when it is scaled', async () => {
    failWith('The weights are not here.');
    const name = await create();
    const worker = begin();
    await played.time.pass(100);
    assert.equal(await now(name), 'pending 0/1 0/1');
    assert.equal((await reasons(name)).at(-1), 'ready The weights are not here.');
    await played.time.pass(JOB_TRIES_DEFAULT * DEPLOYMENT_RETRY_MS_MAX);
    assert.equal(await now(name), 'failed 0/1 0/1');
    assert.equal((await reasons(name)).at(-1), 'fail The weights are not here.');
    assert.equal(asked.length, JOB_TRIES_DEFAULT);
    assert.ok(played.lines.some(({ message }) => message === 'a deployment does not come up'));
    const { id, generation } = await room.deployments.find(OWNER, name);
    const again = { kind: 'deployment', subject: id, owner: OWNER, payload: { generation } } as const;
    await played.store.transaction(({ jobs }) => jobs.requeue(newJob(again, { ids: systemIds, clock: room.clock })));
    await played.time.pass(10 * DEPLOYMENT_RETRY_MS_MAX);
    assert.equal(asked.length, JOB_TRIES_DEFAULT, 'only its owner can have that tried again');
    bringAbout = async ({ capacity }) => ({ readyUnits: capacity });
    await room.deployments.scale(OWNER, name, { capacity: 1 });
    await played.time.pass(2_000);
    assert.equal(await now(name), 'running 1/1 2/2');
    await worker.close();
  });

  test('one that ran and does not come up again is tried for as long as it is wanted', async () => {
    const name = await create({ capacity: 2 });
    const first = begin('first');
    await played.time.pass(100);
    await first.close();
    await restartDeployments(room);
    failWith('No memory.');
    const second = begin('second');
    await played.time.pass(2 * JOB_TRIES_DEFAULT * DEPLOYMENT_AGAIN_MS);
    assert.equal(await now(name), 'running 0/2 1/1');
    assert.ok(asked.length > JOB_TRIES_DEFAULT + 1, 'its tries are not counted');
    assert.ok(asked.length < 3 * JOB_TRIES_DEFAULT, 'it is not tried without a pause');
    bringAbout = async ({ capacity }) => ({ readyUnits: capacity });
    await played.time.pass(2 * DEPLOYMENT_AGAIN_MS);
    assert.equal(await now(name), 'running 2/2 1/1');
    await second.close();
  });

  test('goes when its last call has ended, and the record with it', async () => {
    const name = await create();
    const worker = begin();
    await played.time.pass(100);
    isRetired = false;
    await room.deployments.delete(OWNER, name);
    await played.time.pass(5 * DEPLOYMENT_ENDING_LOOK_MS);
    assert.equal(await now(name), 'deleting 1/1 1/2');
    assert.ok(asked.filter((each) => each === 'retire').length > 3);
    isRetired = true;
    await played.time.pass(2 * DEPLOYMENT_ENDING_LOOK_MS);
    await assert.rejects(room.deployments.find(OWNER, name), /not found/);
    await worker.close();
  });

  test('a delete ends what is being made', async () => {
    const name = await create();
    hold();
    const worker = begin();
    await played.time.pass(100);
    await room.deployments.delete(OWNER, name);
    await played.time.pass(2_000);
    await assert.rejects(room.deployments.find(OWNER, name), /not found/);
    await worker.close();
  });

  test('is given back, with nothing written, where its process ends', async () => {
    const name = await create();
    hold();
    const worker = begin();
    await played.time.pass(100);
    await worker.close();
    assert.equal(await now(name), 'pending 0/1 0/1');
    bringAbout = async ({ capacity }) => ({ readyUnits: capacity });
    const next = begin('next');
    await played.time.pass(JOB_LEASE_MS + 2_000);
    assert.equal(await now(name), 'running 1/1 1/1');
    await next.close();
  });

  test('what is wanted after the last try has failed is tried anew', async () => {
    failWith('No memory.');
    const name = await create();
    const { ready } = room.steps;
    const steps = {
      ...room.steps,
      async ready(id: string, wish: Parameters<typeof ready>[1]) {
        const record = await ready(id, wish);
        if (asked.length === JOB_TRIES_DEFAULT) await room.deployments.scale(OWNER, name, { capacity: 2 });
        return record;
      },
    };
    const worker = begin('first', steps);
    await played.time.pass(JOB_TRIES_DEFAULT * DEPLOYMENT_RETRY_MS_MAX);
    assert.ok(asked.includes('2: 2'), asked.join());
    await worker.close();
  });

  test('fails where each process that tried it ended while it did, but for what is wanted since then', async () => {
    const name = await create();
    const { id } = await room.deployments.find(OWNER, name);
    const job = (await played.store.jobs.findBySubject('deployment', id)) ?? assert.fail();
    const { giveUp = assert.fail } = handlerOf();
    const error = new ServiceError('internal', 'It ended with its process.');
    await room.deployments.scale(OWNER, name, { capacity: 2 });
    await assert.rejects(Promise.resolve(giveUp(job, error)), error);
    assert.equal(await now(name), 'updating 0/2 0/2');
    await giveUp((await played.store.jobs.findBySubject('deployment', id)) ?? assert.fail(), error);
    assert.equal(await now(name), 'failed 0/2 0/2');
    assert.equal((await reasons(name)).at(-1), 'fail It ended with its process.');
    await room.deployments.delete(OWNER, name);
    const last = (await played.store.jobs.findBySubject('deployment', id)) ?? assert.fail();
    await assert.rejects(Promise.resolve(giveUp(last, error)), error, 'what goes has to go');
  });
});
