import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { until } from '../../../test/until.ts';
import { collectText } from './__fixtures__/fake-units.ts';
import { createHostedEngines, type HostedEngines, type HostedUnits } from './hosted-engines.ts';

const DEPLOYMENT = { id: 'dep_1', name: 'svc-plus-a', status: 'running', capacity: 1 } as const;
const TIMEOUT = { timeoutMs: 10_000 };

describe('createHostedEngines', () => {
  /** Leases and releases, in order. */
  let events: string[];
  /** Undefined: no unit serves. */
  let leaseUnits: (() => Promise<HostedUnits | undefined>) | undefined;
  let engines: HostedEngines;
  beforeEach(() => {
    events = [];
    let opened = 0;
    leaseUnits = async () => {
      const number = ++opened;
      const engine = createScriptedEngine({
        script: () => [
          { type: 'tokens', tokens: [`engine ${number}`] },
          ...(drainMs < 1_000 ? [{ type: 'hang' } as const] : []),
        ],
      });
      return { engine, release: async () => void events.push(`released ${number}`) };
    };
    createEngines(60_000);
  });
  let drainMs = 60_000;
  const createEngines = (ms: number): void => {
    drainMs = ms;
    engines = createHostedEngines({
      drainMs,
      openUnits(id) {
        events.push(`asked for ${id}`);
        return leaseUnits?.() ?? Promise.resolve(undefined);
      },
    });
  };
  const waitForRelease = (number: number) =>
    until(`the release of engine ${number}`, TIMEOUT, async () =>
      events.includes(`released ${number}`) ? true : undefined,
    );

  test('leases the units once, also for simultaneous calls', async () => {
    const leases = await Promise.all([engines.engineFor(DEPLOYMENT), engines.engineFor(DEPLOYMENT)]);
    for (const { engine, release } of leases) {
      assert.equal(await collectText(engine), 'engine 1');
      release();
    }
    assert.equal(await collectText((await engines.engineFor(DEPLOYMENT)).engine), 'engine 1');
    assert.deepEqual(events, ['asked for dep_1']);
  });

  test('refuses a call when no unit serves, and leases again for the next call', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const originalLease = leaseUnits;
    leaseUnits = () => promise;
    const refused = assert.rejects(
      engines.engineFor({ ...DEPLOYMENT, status: 'pending' }),
      /svc-plus-a cannot serve calls: its status is PENDING/,
    );
    resolve(undefined);
    await refused;
    leaseUnits = () => Promise.reject(new Error('the primary has exited'));
    await assert.rejects(engines.engineFor(DEPLOYMENT), /has exited/);
    leaseUnits = originalLease;
    assert.equal(await collectText((await engines.engineFor(DEPLOYMENT)).engine), 'engine 1');
  });

  test('releases replaced units after their last call, and routes later calls to the new units', async () => {
    const first = await engines.engineFor(DEPLOYMENT);
    engines.invalidate('dep_1');
    engines.invalidate('dep_other');
    const second = await engines.engineFor(DEPLOYMENT);
    assert.equal(await collectText(second.engine), 'engine 2');
    assert.equal(await collectText(first.engine), 'engine 1');
    assert.ok(!events.includes('released 1'));
    first.release();
    await waitForRelease(1);
    assert.ok(!events.includes('released 2'));
  });

  test('releases units that were replaced while they were leased, and leases again', async () => {
    const gate = Promise.withResolvers<void>();
    const originalLease = leaseUnits;
    leaseUnits = async () => {
      const units = await originalLease?.();
      await gate.promise;
      return units;
    };
    const leased = engines.engineFor(DEPLOYMENT);
    engines.invalidate('dep_1');
    gate.resolve();
    assert.equal(await collectText((await leased).engine), 'engine 2');
    await waitForRelease(1);
  });

  test('aborts calls that exceed the drain time, and says why', async () => {
    createEngines(50);
    const { engine } = await engines.engineFor(DEPLOYMENT);
    const aborted = assert.rejects(collectText(engine), /Deployment svc-plus-a was scaled or deleted/);
    engines.invalidate('dep_1');
    await aborted;
    await waitForRelease(1);
  });

  test('releases all units and aborts their calls on close', async () => {
    createEngines(999);
    const { engine } = await engines.engineFor(DEPLOYMENT);
    const aborted = assert.rejects(collectText(engine), /The service is shutting down/);
    await engines.close();
    await aborted;
    assert.ok(events.includes('released 1'));
  });
});
