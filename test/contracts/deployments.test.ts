import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { DeploymentRecord } from '../../src/core/deployment.ts';
import { DEPLOYMENT_EVENTS_MAX, DEPLOYMENTS_MAX } from '../../src/core/limits.ts';
import {
  createDeploymentRoom,
  draft,
  OWNER,
  START,
  stateOf,
} from '../../src/resources/deployments/__fixtures__/deployment-room.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

const KEY_2 = { ...OWNER, keyId: 'key_2' } as const;
const STRANGERS = [
  { ...OWNER, workspace: 'other' },
  { ...OWNER, region: 'ap-southeast-1' },
] as const;
const PTU = { inputTpm: 10_000, outputTpm: 1_000, thinkingOutputTpm: 0 };

for (const { name: dialectName, dialect } of DIALECTS) {
  describe(`deployments on ${dialectName}`, () => {
    let folder = '';
    let store: Store;
    let room: ReturnType<typeof createDeploymentRoom>;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-deployments-'));
      store = await openStore({ dialect: dialect(folder) });
    });
    after(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });
    beforeEach(async () => {
      for (const { id } of await store.deployments.listAll())
        await store.transaction(async ({ deployments, jobs }) => {
          await deployments.lock();
          await deployments.remove(id);
          await jobs.remove('deployment', id);
        });
      room = createDeploymentRoom(store);
    });

    const running = async (): Promise<DeploymentRecord> => {
      const { id, generation } = await room.deployments.create(OWNER, draft());
      return (await room.steps.reached(id, { generation, readyCapacity: 1 })) ?? assert.fail();
    };
    const told = async (name: string) =>
      (await room.deployments.events(OWNER, name)).map(({ move, from, to, reason, keyId }) =>
        [move, from ?? '-', to, reason, keyId ?? '-'].join('|'),
      );
    const jobOf = async ({ id }: DeploymentRecord) => {
      const job = await store.jobs.findBySubject('deployment', id);
      return job && { state: job.state, dueAt: job.dueAt };
    };

    it('gives back one as it was made, with its event and its job', async () => {
      const spec = { displayName: `O'Brien 密钥 🔑`, suffix: 'whole', enableThinking: true, maxContextLength: 1024 };
      const wish = { plan: 'ptu', capacity: undefined, ptu: PTU, rpmLimit: 5, tpmLimit: 1_000_000_000, spec } as const;
      const made = await room.deployments.create(OWNER, draft(wish));
      assert.deepEqual(made, {
        region: OWNER.region,
        workspace: OWNER.workspace,
        id: made.id,
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
        reached: 0,
        spec,
        creator: 'key_1',
        modifier: 'key_1',
        createdAt: START,
        modifiedAt: START,
      });
      assert.match(made.id, /^dep_[0-9a-f]{32}$/);
      assert.deepEqual(await room.deployments.find(OWNER, made.name), made);
      assert.deepEqual(await room.steps.find(made.id), made);
      assert.deepEqual(await room.deployments.events(OWNER, made.name), [
        {
          deployment: made.id,
          number: 1,
          at: START,
          move: 'create',
          from: undefined,
          to: 'pending',
          reason: 'input_tpm 10000, output_tpm 1000, thinking_output_tpm 0',
          keyId: 'key_1',
          generation: 1,
          capacity: 1,
          readyCapacity: 0,
        },
      ]);
      assert.deepEqual(await jobOf(made), { state: 'waiting', dueAt: START });
      assert.deepEqual(room.rings, ['due']);
    });

    it('gives a name of chance where no suffix is asked for', async () => {
      const names = new Set<string>();
      for (let count = 0; count < 3; count += 1)
        names.add((await room.deployments.create(OWNER, draft({ spec: {} }))).name);
      assert.equal(names.size, 3);
      for (const name of names) assert.match(name, /^svc-plus-[0-9a-f]{8}$/);
    });

    it('has one of a name in a workspace and region, until it is gone', async () => {
      const made = await room.deployments.create(OWNER, draft());
      const again = () => room.deployments.create(OWNER, draft());
      const taken = {
        kind: 'conflict',
        message: 'Deployed model svc-plus-a already exists, please specify a suffix.',
      } as const;
      await assert.rejects(again(), taken);
      const other = await room.deployments.create(STRANGERS[0], draft());
      assert.equal(other.name, made.name);
      const { generation } = await room.deployments.delete(OWNER, made.name);
      await assert.rejects(again(), taken);
      assert.equal(await room.steps.gone(made.id, { generation }), true);
      assert.notEqual((await again()).id, made.id);
      assert.equal((await room.deployments.find(STRANGERS[0], made.name)).id, other.id);
    });

    it('of many that are made at once under one name makes one, with one job', async () => {
      const results = await Promise.allSettled([1, 2, 3, 4].map(() => room.deployments.create(OWNER, draft())));
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal((await store.deployments.listAll()).length, 1);
      assert.equal((await store.jobs.list({ kind: 'deployment', limit: 100 })).length, 1);
    });

    it('shows, changes and follows nothing of another owner', async () => {
      const { name, id } = await running();
      for (const stranger of STRANGERS) {
        for (const work of [
          room.deployments.find(stranger, name),
          room.deployments.scale(stranger, name, { capacity: 2 }),
          room.deployments.throttle(stranger, name, { rpmLimit: 1 }),
          room.deployments.delete(stranger, name),
          room.deployments.events(stranger, name),
          room.deployments.watch(stranger, name, new AbortController().signal)[Symbol.asyncIterator]().next(),
        ]) {
          await assert.rejects(work, { kind: 'not-found', message: `Model: ${name} not found!` });
        }
        assert.deepEqual(await room.deployments.list(stranger, { limit: 10, skip: 0 }), { total: 0, deployments: [] });
      }
      assert.equal((await store.deployments.findById(id))?.status, 'running');
    });

    it('knows no name with a NUL in it, and fails for none', async () => {
      await assert.rejects(room.deployments.find(OWNER, 'a\0'), { kind: 'not-found' });
      await assert.rejects(room.deployments.create(OWNER, draft({ modelName: 'svc-\0' })), { kind: 'not-found' });
    });

    it('makes none of an unknown model, nor of one that another region has', async () => {
      await assert.rejects(room.deployments.create(OWNER, draft({ modelName: 'gpt-9' })), {
        kind: 'not-found',
        message: 'Model: gpt-9 not found!',
      });
      await assert.rejects(room.deployments.create(STRANGERS[1], draft()), { kind: 'not-found' });
    });

    it('refuses one more than a workspace may have', async () => {
      for (let count = 0; count < DEPLOYMENTS_MAX; count += 1)
        await room.deployments.create(OWNER, draft({ spec: { suffix: `n${count}` } }));
      await assert.rejects(room.deployments.create(OWNER, draft()), { kind: 'count-quota' });
      await room.deployments.create(STRANGERS[0], draft());
    });

    it('lists the newest first, by pages and by status', async () => {
      const names: string[] = [];
      for (const suffix of ['a', 'b', 'c', 'd'])
        names.unshift((await room.deployments.create(OWNER, draft({ spec: { suffix } }))).name);
      await room.deployments.delete(OWNER, 'svc-plus-b');
      const listed = async (wish: object) => {
        const { total, deployments } = await room.deployments.list(OWNER, { limit: 10, skip: 0, ...wish });
        return [total, deployments.map(({ name }) => names.indexOf(name))];
      };
      assert.deepEqual(await listed({}), [4, [0, 1, 2, 3]]);
      assert.deepEqual(await listed({ skip: 1, limit: 2 }), [4, [1, 2]]);
      assert.deepEqual(await listed({ status: 'deleting' }), [1, [2]]);
      assert.deepEqual(await listed({ status: 'pending', skip: 2 }), [3, [3]]);
    });

    it('answers a scale with what is wanted and what still is, and has its job due again', async () => {
      const { name } = await running();
      const job =
        (await store.jobs.claim({
          leaseOwner: 'a',
          leaseUntil: START + 1,
          now: START,
          kinds: ['deployment'],
        })) ?? assert.fail();
      await store.jobs.end(job.id, { leaseOwner: 'a', state: 'done', at: START });
      room.pass(1_000);
      const scaled = await room.deployments.scale(KEY_2, name, { capacity: 3 });
      assert.deepEqual(stateOf(scaled), {
        status: 'updating',
        capacity: 3,
        readyCapacity: 1,
        generation: 2,
        reached: 1,
      });
      assert.deepEqual([scaled.modifier, scaled.creator, scaled.modifiedAt], ['key_2', 'key_1', START + 1_000]);
      assert.deepEqual(await jobOf(scaled), { state: 'waiting', dueAt: START + 1_000 });
    });

    it('of two scales at once the later one counts, and both are events', async () => {
      const { name, id } = await running();
      const scaled = await Promise.all([
        room.deployments.scale(OWNER, name, { capacity: 2 }),
        room.deployments.scale(KEY_2, name, { capacity: 3 }),
      ]);
      const last = scaled.find(({ generation }) => generation === 3) ?? assert.fail();
      assert.deepEqual(await room.steps.find(id), last);
      const [first, second] = (await told(name)).slice(-2);
      assert.match(first ?? '', /^scale\|running\|updating\|capacity [23], after capacity 1\|key_[12]$/);
      assert.match(second ?? '', /^scale\|updating\|updating\|capacity [23], after capacity [23]\|key_[12]$/);
      assert.notEqual(first?.at(-1), second?.at(-1));
    });

    it('changes what is wanted with its job or not at all', async () => {
      const { name, id } = await running();
      const before = await room.steps.find(id);
      await assert.rejects(
        store.transaction(async (tables) => {
          await tables.deployments.lock();
          const record = (await tables.deployments.findById(id)) ?? assert.fail();
          await tables.deployments.save({ ...record, capacity: 9 });
          throw new Error('the job could not be written');
        }),
      );
      assert.deepEqual(await room.steps.find(id), before);
      assert.equal((await told(name)).length, 2);
    });

    it('limits requests without another status or generation, and takes a limit away', async () => {
      const { name, id } = await running();
      const limited = await room.deployments.throttle(KEY_2, name, { rpmLimit: 7, tpmLimit: 8 });
      assert.deepEqual([limited.rpmLimit, limited.tpmLimit, limited.modifier], [7, 8, 'key_2']);
      assert.deepEqual([limited.status, limited.generation], ['running', 1]);
      const half = await room.deployments.throttle(OWNER, name, { rpmLimit: undefined });
      assert.deepEqual([half.rpmLimit, half.tpmLimit], [undefined, 8]);
      assert.deepEqual(await room.steps.find(id), half);
      assert.deepEqual((await told(name)).slice(-2), [
        'throttle|running|running|rpm_limit 7, tpm_limit 8|key_2',
        'throttle|running|running|rpm_limit none, tpm_limit 8|key_1',
      ]);
    });

    it('deletes once, shows it as long as something is left of it, and forgets it then', async () => {
      const { name, id } = await running();
      const deleted = await room.deployments.delete(KEY_2, name);
      assert.deepEqual([deleted.status, deleted.generation, deleted.modifier], ['deleting', 2, 'key_2']);
      assert.deepEqual(await room.deployments.delete(OWNER, name), deleted);
      for (const work of [
        room.deployments.scale(OWNER, name, { capacity: 2 }),
        room.deployments.throttle(OWNER, name, { rpmLimit: 1 }),
      ])
        await assert.rejects(work, { kind: 'not-found' });
      assert.equal(await room.steps.gone(id, { generation: 1 }), false);
      assert.equal((await room.steps.ready(id, { generation: 2, readyCapacity: 0 }))?.status, 'deleting');
      assert.equal(await room.steps.gone(id, { generation: 2 }), true);
      assert.equal(await room.steps.gone(id, { generation: 2 }), true);
      await assert.rejects(room.deployments.find(OWNER, name), { kind: 'not-found' });
      assert.deepEqual(await store.deployments.listEvents(id, { after: 0, limit: 10 }), []);
      assert.equal(await store.deployments.lastEvent(id), undefined);
    });

    it('takes a step for the generation that is wanted, and for no other', async () => {
      const { name, id } = await running();
      await room.deployments.scale(OWNER, name, { capacity: 2 });
      const late = { generation: 1, readyCapacity: 1, reason: 'late' };
      assert.equal(await room.steps.reached(id, late), undefined);
      assert.equal(await room.steps.ready(id, late), undefined);
      assert.equal(await room.steps.fail(id, late), undefined);
      assert.equal(await room.steps.begin(id, late), undefined);
      assert.equal(await room.steps.gone(id, late), false);
      const reached = await room.steps.reached(id, { generation: 2, readyCapacity: 1, reason: 'no room for more' });
      assert.deepEqual(stateOf(reached ?? assert.fail()), {
        status: 'running',
        capacity: 2,
        readyCapacity: 1,
        generation: 2,
        reached: 2,
      });
      assert.equal((await told(name)).at(-1), 'reach|updating|running|no room for more|-');
      assert.equal(await room.steps.reached('dep_none', late), undefined);
    });

    it('says a step that changes nothing once', async () => {
      const { name, id } = await running();
      const wish = { generation: 1, readyCapacity: 0, reason: 'its process ended' };
      for (let turn = 0; turn < 3; turn += 1) await room.steps.ready(id, wish);
      for (let turn = 0; turn < 3; turn += 1) await room.steps.ready(id, { ...wish, reason: 'no memory' });
      await room.steps.ready(id, { generation: 1, readyCapacity: 0 });
      assert.deepEqual((await told(name)).slice(2), [
        'ready|running|running|its process ended|-',
        'ready|running|running|no memory|-',
      ]);
    });

    it('stops where nothing is wanted, fails where nothing came up, and scales from both', async () => {
      const { name, id } = await running();
      await room.deployments.scale(OWNER, name, { capacity: 0 });
      const stopped = await room.steps.reached(id, { generation: 2, readyCapacity: 0 });
      assert.equal(stopped?.status, 'stopped');
      assert.deepEqual(await room.steps.reached(id, { generation: 2, readyCapacity: 0 }), stopped);
      assert.equal(await room.steps.fail(id, { generation: 2, reason: 'x' }), undefined);
      await room.deployments.scale(OWNER, name, { capacity: 1 });
      const failed = await room.steps.fail(id, { generation: 3, reason: 'no weights' });
      assert.deepEqual([failed?.status, failed?.readyCapacity], ['failed', 0]);
      assert.deepEqual(await room.steps.fail(id, { generation: 3, reason: 'no weights' }), failed);
      assert.equal(await room.steps.reached(id, { generation: 3, readyCapacity: 1 }), undefined);
      assert.equal((await room.deployments.scale(OWNER, name, { capacity: 1 })).status, 'updating');
    });

    it('is deploying only where it is new and of reserved tokens', async () => {
      const ptu = await room.deployments.create(
        OWNER,
        draft({ plan: 'ptu', capacity: undefined, ptu: PTU, spec: { suffix: 'p' } }),
      );
      assert.equal((await room.steps.begin(ptu.id, { generation: 1 }))?.status, 'deploying');
      assert.equal((await room.steps.begin(ptu.id, { generation: 1 }))?.status, 'deploying');
      assert.deepEqual(await told(ptu.name).then((lines) => lines.length), 2);
      const mu = await room.deployments.create(OWNER, draft());
      assert.equal((await room.steps.begin(mu.id, { generation: 1 }))?.status, 'pending');
    });

    it('keeps the newest events, counted on, and cuts a long reason', async () => {
      const { name, id } = await running();
      for (let count = 0; count < DEPLOYMENT_EVENTS_MAX; count += 1)
        await room.steps.ready(id, { generation: 1, readyCapacity: count % 2, reason: `${count}${'x'.repeat(999)}\0` });
      const events = await room.deployments.events(OWNER, name);
      assert.equal(events.length, DEPLOYMENT_EVENTS_MAX);
      assert.deepEqual([events[0]?.number, events.at(-1)?.number], [3, DEPLOYMENT_EVENTS_MAX + 2]);
      assert.equal(events[0]?.reason.length, 500);
      const page = await store.deployments.listEvents(id, { after: 4, limit: 2 });
      assert.deepEqual(
        page.map(({ number }) => number),
        [5, 6],
      );
    });

    it('counts what changes, and no look', async () => {
      const before = await store.deployments.changes();
      const { name, id } = await running();
      const after = await store.deployments.changes();
      assert.ok(after > before);
      await room.deployments.find(OWNER, name);
      await room.steps.reached(id, { generation: 1, readyCapacity: 1 });
      assert.equal(await store.deployments.changes(), after);
      await room.deployments.throttle(OWNER, name, { rpmLimit: 1 });
      assert.ok((await store.deployments.changes()) > after);
    });

    it('writes each change and its reason to the log', async () => {
      const { name, id } = await running();
      await room.deployments.delete(OWNER, name);
      await room.steps.gone(id, { generation: 2 });
      const { message, facts } = room.lines[1] ?? assert.fail();
      assert.deepEqual(
        [message, facts?.['deployment'], facts?.['from'], facts?.['to'], facts?.['readyCapacity']],
        ['a deployment changed', name, 'pending', 'running', 1],
      );
      assert.equal(room.lines.at(-1)?.message, 'a deployment is gone');
    });
  });
}
