import assert from 'node:assert/strict';
import { beforeEach, it } from 'node:test';
import type { DeploymentRecord } from '../../src/core/deployment.ts';
import { DEPLOYMENT_EVENTS_MAX, DEPLOYMENTS_MAX } from '../../src/resources/limits.ts';
import {
  createTestDeployments,
  createDraft,
  OWNER,
  START,
  pickState,
} from '../../src/resources/deployments/__fixtures__/test-deployments.ts';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

const KEY_2 = { ...OWNER, keyId: 'key_2' } as const;
const STRANGERS = [
  { ...OWNER, workspace: 'other' },
  { ...OWNER, region: 'ap-southeast-1' },
] as const;
const PTU = { inputTpm: 10_000, outputTpm: 1_000, thinkingOutputTpm: 0 };

describeOnDialects('deployments', ({ onOpen }) => {
  let store: Store;
  let testDeployments: ReturnType<typeof createTestDeployments>;
  onOpen((opened) => void ({ store } = opened));
  beforeEach(async () => {
    for (const { id } of await store.deployments.listAll())
      await store.transaction(async ({ deployments, jobs }) => {
        await deployments.lock();
        await deployments.remove(id);
        await jobs.remove('deployment', id);
      });
    testDeployments = createTestDeployments(store);
  });

  const createRunning = async (): Promise<DeploymentRecord> => {
    const { id, generation } = await testDeployments.deployments.create(OWNER, createDraft());
    return (await testDeployments.lifecycle.reportReached(id, { generation, readyCapacity: 1 })) ?? assert.fail();
  };
  const listEventLines = async (name: string) =>
    (await testDeployments.deployments.events(OWNER, name)).map(({ transition, from, to, reason, keyId }) =>
      [transition, from ?? '-', to, reason, keyId ?? '-'].join('|'),
    );
  const findJobState = async ({ id }: DeploymentRecord) => {
    const job = await store.jobs.findBySubject('deployment', id);
    return job && { state: job.state, dueAt: job.dueAt };
  };

  it('returns a deployment as it was created, with its event and its job', async () => {
    const spec = { displayName: `O'Brien 密钥 🔑`, suffix: 'whole', enableThinking: true, maxContextLength: 1024 };
    const draftFields = {
      plan: 'ptu',
      capacity: undefined,
      ptu: PTU,
      rpmLimit: 5,
      tpmLimit: 1_000_000_000,
      spec,
    } as const;
    const created = await testDeployments.deployments.create(OWNER, createDraft(draftFields));
    assert.deepEqual(created, {
      region: OWNER.region,
      workspace: OWNER.workspace,
      id: created.id,
      name: 'svc-plus-whole',
      modelName: 'svc-plus',
      baseModel: 'svc-plus',
      plan: 'ptu',
      baseCapacity: 1,
      capacity: 1,
      readyCapacity: 0,
      ptu: PTU,
      rpmLimit: 5,
      tpmLimit: 1_000_000_000,
      status: 'pending',
      generation: 1,
      appliedGeneration: 0,
      spec,
      creator: 'key_1',
      modifier: 'key_1',
      createdAt: START,
      modifiedAt: START,
    });
    assert.match(created.id, /^dep_[0-9a-f]{32}$/);
    assert.deepEqual(await testDeployments.deployments.find(OWNER, created.name), created);
    assert.deepEqual(await testDeployments.lifecycle.find(created.id), created);
    assert.deepEqual(await testDeployments.deployments.events(OWNER, created.name), [
      {
        deployment: created.id,
        number: 1,
        at: START,
        transition: 'create',
        from: undefined,
        to: 'pending',
        reason: 'input_tpm 10000, output_tpm 1000, thinking_output_tpm 0',
        keyId: 'key_1',
        generation: 1,
        capacity: 1,
        readyCapacity: 0,
      },
    ]);
    assert.deepEqual(await findJobState(created), { state: 'waiting', dueAt: START });
    assert.deepEqual(testDeployments.notifications, ['due']);
  });

  it('creates a random name when the request has no suffix', async () => {
    const names = new Set<string>();
    for (let count = 0; count < 3; count += 1)
      names.add((await testDeployments.deployments.create(OWNER, createDraft({ spec: {} }))).name);
    assert.equal(names.size, 3);
    for (const name of names) assert.match(name, /^svc-plus-[0-9a-f]{8}$/);
  });

  it('allows one deployment per name, workspace and region, until it is deleted', async () => {
    const created = await testDeployments.deployments.create(OWNER, createDraft());
    const createAgain = () => testDeployments.deployments.create(OWNER, createDraft());
    const conflict = {
      kind: 'conflict',
      message: 'Deployed model svc-plus-a already exists, please specify a suffix.',
    } as const;
    await assert.rejects(createAgain(), conflict);
    const other = await testDeployments.deployments.create(STRANGERS[0], createDraft());
    assert.equal(other.name, created.name);
    const { generation } = await testDeployments.deployments.delete(OWNER, created.name);
    await assert.rejects(createAgain(), conflict);
    assert.equal(await testDeployments.lifecycle.finishDeletion(created.id, { generation }), true);
    assert.notEqual((await createAgain()).id, created.id);
    assert.equal((await testDeployments.deployments.find(STRANGERS[0], created.name)).id, other.id);
  });

  it('creates one deployment with one job for concurrent requests with the same name', async () => {
    const results = await Promise.allSettled(
      [1, 2, 3, 4].map(() => testDeployments.deployments.create(OWNER, createDraft())),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal((await store.deployments.listAll()).length, 1);
    assert.equal((await store.jobs.list({ kind: 'deployment', limit: 100 })).length, 1);
  });

  it('shows, changes and watches nothing of another owner', async () => {
    const { name, id } = await createRunning();
    for (const stranger of STRANGERS) {
      const { deployments } = testDeployments;
      for (const work of [
        () => deployments.find(stranger, name),
        () => deployments.scale(stranger, name, { capacity: 2 }),
        () => deployments.throttle(stranger, name, { rpmLimit: 1 }),
        () => deployments.delete(stranger, name),
        () => deployments.events(stranger, name),
        () => deployments.watch(stranger, name, new AbortController().signal)[Symbol.asyncIterator]().next(),
      ]) {
        await assert.rejects(work, { kind: 'not-found', message: `Model: ${name} not found!` });
      }
      assert.deepEqual(await testDeployments.deployments.list(stranger, { limit: 10, skip: 0 }), {
        total: 0,
        deployments: [],
      });
    }
    assert.equal((await store.deployments.findById(id))?.status, 'running');
  });

  it('rejects names with a NUL character as not found', async () => {
    await assert.rejects(testDeployments.deployments.find(OWNER, 'a\0'), { kind: 'not-found' });
    await assert.rejects(testDeployments.deployments.create(OWNER, createDraft({ modelName: 'svc-\0' })), {
      kind: 'not-found',
    });
  });

  it('rejects an unknown model and a model of another region', async () => {
    await assert.rejects(testDeployments.deployments.create(OWNER, createDraft({ modelName: 'gpt-9' })), {
      kind: 'not-found',
      message: 'Model: gpt-9 not found!',
    });
    await assert.rejects(testDeployments.deployments.create(STRANGERS[1], createDraft()), { kind: 'not-found' });
  });

  it('rejects a deployment above the limit of the workspace', async () => {
    for (let count = 0; count < DEPLOYMENTS_MAX; count += 1)
      await testDeployments.deployments.create(OWNER, createDraft({ spec: { suffix: `n${count}` } }));
    await assert.rejects(testDeployments.deployments.create(OWNER, createDraft()), { kind: 'count-quota' });
    await testDeployments.deployments.create(STRANGERS[0], createDraft());
  });

  it('lists the newest first, page by page and by status', async () => {
    const names: string[] = [];
    for (const suffix of ['a', 'b', 'c', 'd'])
      names.unshift((await testDeployments.deployments.create(OWNER, createDraft({ spec: { suffix } }))).name);
    await testDeployments.deployments.delete(OWNER, 'svc-plus-b');
    const listIndexes = async (query: object) => {
      const { total, deployments } = await testDeployments.deployments.list(OWNER, { limit: 10, skip: 0, ...query });
      return [total, deployments.map(({ name }) => names.indexOf(name))];
    };
    assert.deepEqual(await listIndexes({}), [4, [0, 1, 2, 3]]);
    assert.deepEqual(await listIndexes({ skip: 1, limit: 2 }), [4, [1, 2]]);
    assert.deepEqual(await listIndexes({ status: 'deleting' }), [1, [2]]);
    assert.deepEqual(await listIndexes({ status: 'pending', skip: 2 }), [3, [3]]);
  });

  it('returns requested and ready capacity after scaling, and makes the job due again', async () => {
    const { name } = await createRunning();
    const job =
      (await store.jobs.claim({
        leaseOwner: 'a',
        leaseUntil: START + 1,
        now: START,
        kinds: ['deployment'],
      })) ?? assert.fail();
    await store.jobs.finish(job.id, { leaseOwner: 'a', state: 'done', at: START });
    testDeployments.advanceClock(1_000);
    const scaled = await testDeployments.deployments.scale(KEY_2, name, { capacity: 3 });
    assert.deepEqual(pickState(scaled), {
      status: 'updating',
      capacity: 3,
      readyCapacity: 1,
      generation: 2,
      appliedGeneration: 1,
    });
    assert.deepEqual([scaled.modifier, scaled.creator, scaled.modifiedAt], ['key_2', 'key_1', START + 1_000]);
    assert.deepEqual(await findJobState(scaled), { state: 'waiting', dueAt: START + 1_000 });
  });

  it('applies the later of two concurrent scale requests, and stores an event for both', async () => {
    const { name, id } = await createRunning();
    const scaled = await Promise.all([
      testDeployments.deployments.scale(OWNER, name, { capacity: 2 }),
      testDeployments.deployments.scale(KEY_2, name, { capacity: 3 }),
    ]);
    const last = scaled.find(({ generation }) => generation === 3) ?? assert.fail();
    assert.deepEqual(await testDeployments.lifecycle.find(id), last);
    const [first, second] = (await listEventLines(name)).slice(-2);
    assert.match(first ?? '', /^scale\|running\|updating\|capacity [23], after capacity 1\|key_[12]$/);
    assert.match(second ?? '', /^scale\|updating\|updating\|capacity [23], after capacity [23]\|key_[12]$/);
    assert.notEqual(first?.at(-1), second?.at(-1));
  });

  it('changes a deployment together with its job or not at all', async () => {
    const { name, id } = await createRunning();
    const before = await testDeployments.lifecycle.find(id);
    await assert.rejects(
      store.transaction(async (tables) => {
        await tables.deployments.lock();
        const record = (await tables.deployments.findById(id)) ?? assert.fail();
        await tables.deployments.save({ ...record, capacity: 9 });
        throw new Error('the job could not be written');
      }),
    );
    assert.deepEqual(await testDeployments.lifecycle.find(id), before);
    assert.equal((await listEventLines(name)).length, 2);
  });

  it('sets and removes request limits without changing status or generation', async () => {
    const { name, id } = await createRunning();
    const throttled = await testDeployments.deployments.throttle(KEY_2, name, { rpmLimit: 7, tpmLimit: 8 });
    assert.deepEqual([throttled.rpmLimit, throttled.tpmLimit, throttled.modifier], [7, 8, 'key_2']);
    assert.deepEqual([throttled.status, throttled.generation], ['running', 1]);
    const updated = await testDeployments.deployments.throttle(OWNER, name, { rpmLimit: undefined });
    assert.deepEqual([updated.rpmLimit, updated.tpmLimit], [undefined, 8]);
    assert.deepEqual(await testDeployments.lifecycle.find(id), updated);
    assert.deepEqual((await listEventLines(name)).slice(-2), [
      'throttle|running|running|rpm_limit 7, tpm_limit 8|key_2',
      'throttle|running|running|rpm_limit none, tpm_limit 8|key_1',
    ]);
  });

  it('deletes once, shows the deployment until the deletion is finished, and removes it then', async () => {
    const { name, id } = await createRunning();
    const deleted = await testDeployments.deployments.delete(KEY_2, name);
    assert.deepEqual([deleted.status, deleted.generation, deleted.modifier], ['deleting', 2, 'key_2']);
    assert.deepEqual(await testDeployments.deployments.delete(OWNER, name), deleted);
    for (const work of [
      testDeployments.deployments.scale(OWNER, name, { capacity: 2 }),
      testDeployments.deployments.throttle(OWNER, name, { rpmLimit: 1 }),
    ])
      await assert.rejects(work, { kind: 'not-found' });
    assert.equal(await testDeployments.lifecycle.finishDeletion(id, { generation: 1 }), false);
    assert.equal(
      (await testDeployments.lifecycle.reportReady(id, { generation: 2, readyCapacity: 0 }))?.status,
      'deleting',
    );
    assert.equal(await testDeployments.lifecycle.finishDeletion(id, { generation: 2 }), true);
    assert.equal(await testDeployments.lifecycle.finishDeletion(id, { generation: 2 }), true);
    await assert.rejects(testDeployments.deployments.find(OWNER, name), { kind: 'not-found' });
    assert.deepEqual(await store.deployments.listEvents(id, { after: 0, limit: 10 }), []);
    assert.equal(await store.deployments.findLastEvent(id), undefined);
  });

  it('accepts reports for the current generation only', async () => {
    const { name, id } = await createRunning();
    await testDeployments.deployments.scale(OWNER, name, { capacity: 2 });
    const outdated = { generation: 1, readyCapacity: 1, reason: 'late' };
    assert.equal(await testDeployments.lifecycle.reportReached(id, outdated), undefined);
    assert.equal(await testDeployments.lifecycle.reportReady(id, outdated), undefined);
    assert.equal(await testDeployments.lifecycle.fail(id, outdated), undefined);
    assert.equal(await testDeployments.lifecycle.start(id, outdated), undefined);
    assert.equal(await testDeployments.lifecycle.finishDeletion(id, outdated), false);
    const reached = await testDeployments.lifecycle.reportReached(id, {
      generation: 2,
      readyCapacity: 1,
      reason: 'no capacity for more',
    });
    assert.deepEqual(pickState(reached ?? assert.fail()), {
      status: 'running',
      capacity: 2,
      readyCapacity: 1,
      generation: 2,
      appliedGeneration: 2,
    });
    assert.equal((await listEventLines(name)).at(-1), 'reach|updating|running|no capacity for more|-');
    assert.equal(await testDeployments.lifecycle.reportReached('dep_none', outdated), undefined);
  });

  it('stores a repeated report without a change once', async () => {
    const { name, id } = await createRunning();
    const report = { generation: 1, readyCapacity: 0, reason: 'its process ended' };
    for (let turn = 0; turn < 3; turn += 1) await testDeployments.lifecycle.reportReady(id, report);
    for (let turn = 0; turn < 3; turn += 1)
      await testDeployments.lifecycle.reportReady(id, { ...report, reason: 'no memory' });
    await testDeployments.lifecycle.reportReady(id, { generation: 1, readyCapacity: 0 });
    assert.deepEqual((await listEventLines(name)).slice(2), [
      'ready|running|running|its process ended|-',
      'ready|running|running|no memory|-',
    ]);
  });

  it('stops at capacity 0, fails when no unit starts, and scales from both states', async () => {
    const { name, id } = await createRunning();
    await testDeployments.deployments.scale(OWNER, name, { capacity: 0 });
    const stopped = await testDeployments.lifecycle.reportReached(id, { generation: 2, readyCapacity: 0 });
    assert.equal(stopped?.status, 'stopped');
    assert.deepEqual(await testDeployments.lifecycle.reportReached(id, { generation: 2, readyCapacity: 0 }), stopped);
    assert.equal(await testDeployments.lifecycle.fail(id, { generation: 2, reason: 'x' }), undefined);
    await testDeployments.deployments.scale(OWNER, name, { capacity: 1 });
    const failed = await testDeployments.lifecycle.fail(id, { generation: 3, reason: 'no weights' });
    assert.deepEqual([failed?.status, failed?.readyCapacity], ['failed', 0]);
    assert.deepEqual(await testDeployments.lifecycle.fail(id, { generation: 3, reason: 'no weights' }), failed);
    assert.equal(await testDeployments.lifecycle.reportReached(id, { generation: 3, readyCapacity: 1 }), undefined);
    assert.equal((await testDeployments.deployments.scale(OWNER, name, { capacity: 1 })).status, 'updating');
  });

  it('has the status deploying only when it is new and on the PTU plan', async () => {
    const ptu = await testDeployments.deployments.create(
      OWNER,
      createDraft({ plan: 'ptu', capacity: undefined, ptu: PTU, spec: { suffix: 'p' } }),
    );
    assert.equal((await testDeployments.lifecycle.start(ptu.id, { generation: 1 }))?.status, 'deploying');
    assert.equal((await testDeployments.lifecycle.start(ptu.id, { generation: 1 }))?.status, 'deploying');
    assert.deepEqual(await listEventLines(ptu.name).then((lines) => lines.length), 2);
    const mu = await testDeployments.deployments.create(OWNER, createDraft());
    assert.equal((await testDeployments.lifecycle.start(mu.id, { generation: 1 }))?.status, 'pending');
  });

  it('keeps the newest events with consecutive numbers, and truncates a long reason', async () => {
    const { name, id } = await createRunning();
    for (let count = 0; count < DEPLOYMENT_EVENTS_MAX; count += 1)
      await testDeployments.lifecycle.reportReady(id, {
        generation: 1,
        readyCapacity: count % 2,
        reason: `${count}${'x'.repeat(999)}\0`,
      });
    const events = await testDeployments.deployments.events(OWNER, name);
    assert.equal(events.length, DEPLOYMENT_EVENTS_MAX);
    assert.deepEqual([events[0]?.number, events.at(-1)?.number], [3, DEPLOYMENT_EVENTS_MAX + 2]);
    assert.equal(events[0]?.reason.length, 500);
    const page = await store.deployments.listEvents(id, { after: 4, limit: 2 });
    assert.deepEqual(
      page.map(({ number }) => number),
      [5, 6],
    );
  });

  it('increases the change count for changes, and not for reads', async () => {
    const before = await store.deployments.countChanges();
    const { name, id } = await createRunning();
    const after = await store.deployments.countChanges();
    assert.ok(after > before);
    await testDeployments.deployments.find(OWNER, name);
    await testDeployments.lifecycle.reportReached(id, { generation: 1, readyCapacity: 1 });
    assert.equal(await store.deployments.countChanges(), after);
    await testDeployments.deployments.throttle(OWNER, name, { rpmLimit: 1 });
    assert.ok((await store.deployments.countChanges()) > after);
  });

  it('logs each change and its reason', async () => {
    const { name, id } = await createRunning();
    await testDeployments.deployments.delete(OWNER, name);
    await testDeployments.lifecycle.finishDeletion(id, { generation: 2 });
    const { message, fields } = testDeployments.lines[1] ?? assert.fail();
    assert.deepEqual(
      [message, fields?.['deployment'], fields?.['from'], fields?.['to'], fields?.['readyCapacity']],
      ['deployment changed', name, 'pending', 'running', 1],
    );
    assert.equal(testDeployments.lines.at(-1)?.message, 'deployment removed');
  });
});
