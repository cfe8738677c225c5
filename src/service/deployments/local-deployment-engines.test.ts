import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { until } from '../../../test/until.ts';
import {
  TEST_ENTRY,
  collectText,
  createFakeUnits,
  createTestRecord,
  type FakeUnits,
} from './__fixtures__/fake-units.ts';
import { createLocalDeploymentEngines } from './local-deployment-engines.ts';

const DEPLOYMENT = { id: 'dep_1', name: 'svc-plus-a', status: 'running', capacity: 1 } as const;
const TIMEOUT = { timeoutMs: 10_000 };
const NEVER = new AbortController().signal;

describe('createLocalDeploymentEngines', () => {
  let fake: FakeUnits;
  let engines: ReturnType<typeof createLocalDeploymentEngines>;
  let messages: string[];
  let intervals: Set<() => void>;
  let entry: typeof TEST_ENTRY;
  beforeEach(() => {
    entry = TEST_ENTRY;
    fake = createFakeUnits();
    messages = [];
    intervals = new Set();
    const record = (message: string) => void messages.push(message);
    engines = createLocalDeploymentEngines({
      catalogue: { find: (name) => (name === 'svc-plus' ? entry : undefined) },
      open: fake.open,
      contextTokens: undefined,
      drainMs: 60_000,
      log: { info: record, warn: record },
      onServingStatus: (id) => record(`status ${id} ${engines.getServingStatus(id)?.readyUnits}`),
      onUnitsReplaced: (id) => record(`replaced ${id}`),
      startInterval(_ms, run) {
        intervals.add(run);
        return () => void intervals.delete(run);
      },
    });
  });
  afterEach(() => engines.close());

  const reconcile = (capacity: number, change = {}, signal = NEVER) =>
    engines.reconcile(createTestRecord(capacity, change), signal);
  const listStates = () => fake.opened.map(({ units, isClosed }) => `${units} ${isClosed ? 'closed' : 'open'}`);
  const runMonitor = () => intervals.forEach((run) => run());

  test('accepts calls once all units have answered their probe', async () => {
    assert.equal(engines.getServingStatus('dep_1'), undefined);
    await assert.rejects(
      engines.engineFor({ ...DEPLOYMENT, status: 'pending' }),
      /svc-plus-a cannot serve calls: its status is PENDING/,
    );
    assert.deepEqual(await reconcile(2), { readyUnits: 2 });
    assert.deepEqual(engines.getServingStatus('dep_1'), { readyUnits: 2 });
    const { engine, release } = await engines.engineFor(DEPLOYMENT);
    assert.equal(await collectText(engine), '');
    release();
  });

  test('does not reopen units that match the record', async () => {
    await reconcile(2);
    assert.deepEqual(await reconcile(2, { generation: 9 }), { readyUnits: 2 });
    assert.deepEqual(listStates(), ['2 open']);
  });

  test('reopens the same capacity when the catalogue names another engine for the model', async () => {
    await reconcile(2);
    entry = { ...TEST_ENTRY, runner: { type: 'weights', weights: 'others', family: 'template' } };
    assert.deepEqual(await reconcile(2, { generation: 9 }), { readyUnits: 2 });
    await until('the earlier units to close', TIMEOUT, async () =>
      listStates().join() === '2 closed,2 open' ? true : undefined,
    );
  });

  test('opens another engine for a new capacity, and closes the earlier one after its last call', async () => {
    await reconcile(1);
    const { engine, release } = await engines.engineFor(DEPLOYMENT);
    assert.deepEqual(await reconcile(2), { readyUnits: 2 });
    assert.deepEqual(listStates(), ['1 open', '2 open']);
    assert.ok(messages.includes('replaced dep_1'));
    assert.equal(await collectText(engine), '');
    release();
    await until('the earlier units to close', TIMEOUT, async () =>
      listStates().join() === '1 closed,2 open' ? true : undefined,
    );
  });

  test('serves fewer units than wanted, with the reason, and keeps them while it tries for more', async () => {
    fake.unitsMax = 2;
    const expectedStatus = { readyUnits: 2, reason: 'The machine has memory for 2.' };
    assert.deepEqual(await reconcile(5), expectedStatus);
    const { engine } = await engines.engineFor(DEPLOYMENT);
    assert.deepEqual(await reconcile(5), expectedStatus);
    assert.deepEqual(listStates(), ['2 open', '2 closed']);
    assert.equal((await engines.engineFor(DEPLOYMENT)).engine, engine);
    fake.unitsMax = 4;
    assert.deepEqual(await reconcile(5), { readyUnits: 4, reason: 'The machine has memory for 4.' });
    fake.unitsMax = 9;
    assert.deepEqual(await reconcile(5), { readyUnits: 5 });
  });

  test('keeps the current units when scaling down would leave fewer than wanted', async () => {
    await reconcile(4);
    fake.unitsMax = 1;
    assert.deepEqual(await reconcile(2), { readyUnits: 4, reason: 'The machine has memory for 1.' });
  });

  test('retries with half of the units when they cannot run at once', async () => {
    fake.answersAtOnce = 3;
    const { readyUnits, reason } = await reconcile(8);
    assert.equal(readyUnits, 2);
    assert.match(reason ?? '', /^2 of 8 units can run at once/);
    assert.deepEqual(listStates(), ['8 closed', '4 closed', '2 open']);
  });

  test('halves the number that the machine holds, not the wanted number', async () => {
    fake.answersAtOnce = 3;
    fake.unitsMax = 4;
    assert.equal((await reconcile(100)).readyUnits, 2);
    assert.deepEqual(listStates(), ['4 closed', '2 open']);
  });

  test('reports the reason when not one unit starts', async () => {
    fake.answersAtOnce = 0;
    await assert.rejects(reconcile(2), /Out of memory/);
    assert.deepEqual(listStates(), ['2 closed', '1 closed']);
    fake.failure = new ServiceError('overloaded', 'The weights are missing.');
    await assert.rejects(reconcile(2), /The weights are missing/);
    assert.equal(engines.getServingStatus('dep_1')?.readyUnits, 0);
  });

  test('keeps the current units when a change fails, with the reason', async () => {
    await reconcile(1);
    fake.failure = new ServiceError('overloaded', 'The weights are missing.');
    assert.deepEqual(await reconcile(2), { readyUnits: 1, reason: 'The weights are missing.' });
    assert.equal(await collectText((await engines.engineFor(DEPLOYMENT)).engine), '');
  });

  test('refuses a model that the catalogue has lost', async () => {
    await assert.rejects(reconcile(1, { baseModel: 'gone' }), /There is no model gone in the catalogue any more/);
  });

  test('aborts the reconciliation of an older generation', async () => {
    fake.gate = new Promise(() => undefined);
    const older = reconcile(2, { generation: 1 });
    const both = Promise.allSettled([older, reconcile(2, { generation: 1 })]);
    fake.gate = Promise.resolve();
    const newer = reconcile(3, { generation: 2 });
    assert.deepEqual(await newer, { readyUnits: 3 });
    for (const { status } of await both) assert.equal(status, 'rejected');
    assert.deepEqual(listStates(), ['3 open']);
  });

  test('accepts no calls at capacity 0, and closes the engine after the last one', async () => {
    await reconcile(1);
    const { engine, release } = await engines.engineFor(DEPLOYMENT);
    assert.deepEqual(await reconcile(0), { readyUnits: 0 });
    await assert.rejects(engines.engineFor({ ...DEPLOYMENT, status: 'stopped' }), /Its capacity is 0; scale it up/);
    assert.deepEqual(listStates(), ['1 open']);
    assert.equal(await collectText(engine), '');
    release();
    await until('the engine to close', TIMEOUT, async () => (listStates().join() === '1 closed' ? true : undefined));
  });

  test('finishes retiring a deployment only after its last call', async () => {
    assert.equal(await engines.retire('dep_1'), true);
    await reconcile(1);
    const { release } = await engines.engineFor(DEPLOYMENT);
    assert.equal(await engines.retire('dep_1'), false);
    await assert.rejects(engines.engineFor({ ...DEPLOYMENT, status: 'deleting' }), /It is being deleted/);
    assert.equal(await engines.retire('dep_1'), false);
    assert.deepEqual(listStates(), ['1 open']);
    release();
    await until('the deployment to be retired', TIMEOUT, async () =>
      (await engines.retire('dep_1')) ? true : undefined,
    );
    assert.deepEqual(listStates(), ['1 closed']);
    assert.equal(engines.getServingStatus('dep_1'), undefined);
  });

  test('aborts a running reconciliation when the deployment is retired', async () => {
    fake.gate = new Promise(() => undefined);
    const aborted = assert.rejects(reconcile(1), /deleted/);
    assert.equal(await engines.retire('dep_1'), false);
    await aborted;
    assert.equal(await engines.retire('dep_1'), true);
  });

  test('reports lost units, and recovered units once they have answered a probe', async () => {
    await reconcile(2);
    const [opening = assert.fail()] = fake.opened;
    opening.isUp = false;
    runMonitor();
    assert.match(engines.getServingStatus('dep_1')?.reason ?? '', /^2 of 2 units are lost/);
    assert.deepEqual(messages, ['status dep_1 0']);
    runMonitor();
    assert.equal(messages.length, 1);
    opening.isUp = true;
    runMonitor();
    await until('both units to recover', TIMEOUT, async () => (messages.includes('status dep_1 2') ? true : undefined));
    assert.deepEqual(engines.getServingStatus('dep_1'), { readyUnits: 2 });
  });

  test('does not count recovered units that fail their probe', async () => {
    await reconcile(2);
    const [opening = assert.fail()] = fake.opened;
    opening.isUp = false;
    runMonitor();
    fake.answersAtOnce = 1;
    opening.isUp = true;
    runMonitor();
    await until('both probes', TIMEOUT, async () => (fake.refused === 2 ? true : undefined));
    assert.equal(engines.getServingStatus('dep_1')?.readyUnits, 0);
    fake.answersAtOnce = 2;
    await until('the next probe to succeed', TIMEOUT, async () => {
      runMonitor();
      return engines.getServingStatus('dep_1')?.readyUnits === 2 ? true : undefined;
    });
    assert.deepEqual(messages, ['status dep_1 0', 'status dep_1 2']);
  });

  test('applies the requested context length up to the limit of the model', async () => {
    const contexts: number[] = [];
    const { open } = fake;
    const otherEngines = createLocalDeploymentEngines({
      catalogue: { find: () => ({ ...TEST_ENTRY, isContextGuessed: true }) },
      open(request, signal) {
        contexts.push(request.entry.contextTokens);
        if (request.entry.contextTokens < TEST_ENTRY.contextTokens)
          assert.equal(request.entry.isContextGuessed, undefined);
        return open(request, signal);
      },
      contextTokens: undefined,
      drainMs: 0,
      log: { info: () => undefined, warn: () => undefined },
      onServingStatus: () => undefined,
      startInterval: () => () => undefined,
    });
    for (const [index, maxContextLength] of [512, 1_000_000].entries())
      await otherEngines.reconcile(createTestRecord(index + 1, { spec: { maxContextLength } }), NEVER);
    assert.deepEqual(contexts, [512, 4_096]);
    await otherEngines.close();
  });

  test('keeps the engine open while another process holds a lease', async () => {
    assert.equal(engines.leaseUnits('dep_1'), undefined);
    await reconcile(2);
    const lease = engines.leaseUnits('dep_1') ?? assert.fail();
    assert.deepEqual([lease.name, lease.units, lease.connection], ['svc-plus-a', 2, { type: 'scripted' }]);
    assert.equal(lease.entry.name, 'svc-plus');
    await reconcile(0);
    assert.equal(engines.leaseUnits('dep_1'), undefined);
    assert.deepEqual(listStates(), ['2 open']);
    lease.release();
    await until('the engine to close', TIMEOUT, async () => (listStates().join() === '2 closed' ? true : undefined));
  });

  test('aborts calls and reconciliations on close, and leaves no engine open', async () => {
    await reconcile(1);
    const { engine } = await engines.engineFor(DEPLOYMENT);
    const aborted = assert.rejects(collectText(engine, 'hang'), /The service is shutting down/);
    fake.gate = new Promise(() => undefined);
    const reconciliation = assert.rejects(reconcile(2));
    await engines.close();
    await Promise.all([aborted, reconciliation]);
    assert.deepEqual(listStates(), ['1 closed']);
    assert.equal(intervals.size, 0);
    await assert.rejects(reconcile(3, { generation: 7 }));
  });
});
