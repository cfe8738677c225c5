import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { until } from '../../../test/until.ts';
import { hear } from './__fixtures__/played-units.ts';
import { createReachedEngines } from './reached-engines.ts';
import type { ReachedEngines, ReachedUnits } from './reached-engines.ts';

const CALLED = { id: 'dep_1', name: 'svc-plus-a', status: 'running', capacity: 1 } as const;
const PATIENCE = { withinMs: 10_000 };

describe('deployments whose engines another process keeps', () => {
  /** What is asked, and what was given back, in order. */
  let events: string[];
  /** Undefined where nothing serves. */
  let answer: (() => Promise<ReachedUnits | undefined>) | undefined;
  let engines: ReachedEngines;
  beforeEach(() => {
    events = [];
    let opened = 0;
    answer = async () => {
      const number = ++opened;
      const engine = createScriptedEngine({
        script: () => [
          { type: 'tokens', tokens: [`engine ${number}`] },
          ...(drainMs < 1_000 ? [{ type: 'hang' } as const] : []),
        ],
      });
      return { engine, release: async () => void events.push(`released ${number}`) };
    };
    make(60_000);
  });
  let drainMs = 60_000;
  const make = (ms: number): void => {
    drainMs = ms;
    engines = createReachedEngines({
      drainMs,
      reach(id) {
        events.push(`asked for ${id}`);
        return answer?.() ?? Promise.resolve(undefined);
      },
    });
  };
  const released = (number: number) =>
    until(`${number} is given back`, PATIENCE, async () => (events.includes(`released ${number}`) ? true : undefined));

  test('are asked for once, also by calls that come together', async () => {
    const leases = await Promise.all([engines.engineFor(CALLED), engines.engineFor(CALLED)]);
    for (const { engine, release } of leases) {
      assert.equal(await hear(engine), 'engine 1');
      release();
    }
    assert.equal(await hear((await engines.engineFor(CALLED)).engine), 'engine 1');
    assert.deepEqual(events, ['asked for dep_1']);
  });

  test('are refused where nothing serves, and asked for anew by the next call', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const usual = answer;
    answer = () => promise;
    const refused = assert.rejects(
      engines.engineFor({ ...CALLED, status: 'pending' }),
      /svc-plus-a serves no calls: its status is PENDING/,
    );
    resolve(undefined);
    await refused;
    answer = () => Promise.reject(new Error('the other process has gone'));
    await assert.rejects(engines.engineFor(CALLED), /has gone/);
    answer = usual;
    assert.equal(await hear((await engines.engineFor(CALLED)).engine), 'engine 1');
  });

  test('are given back with the last call after a switch, and later calls go to what serves then', async () => {
    const first = await engines.engineFor(CALLED);
    engines.switched('dep_1');
    engines.switched('dep_other');
    const second = await engines.engineFor(CALLED);
    assert.equal(await hear(second.engine), 'engine 2');
    assert.equal(await hear(first.engine), 'engine 1');
    assert.ok(!events.includes('released 1'));
    first.release();
    await released(1);
    assert.ok(!events.includes('released 2'));
  });

  test('that are switched while they are opened are given back, and opened again', async () => {
    const gate = Promise.withResolvers<void>();
    const usual = answer;
    answer = async () => {
      const units = await usual?.();
      await gate.promise;
      return units;
    };
    const leased = engines.engineFor(CALLED);
    engines.switched('dep_1');
    gate.resolve();
    assert.equal(await hear((await leased).engine), 'engine 2');
    await released(1);
  });

  test('break off what goes on beyond the limit, and say why', async () => {
    make(50);
    const { engine } = await engines.engineFor(CALLED);
    const heard = assert.rejects(hear(engine), /Deployment svc-plus-a was scaled or deleted/);
    engines.switched('dep_1');
    await heard;
    await released(1);
  });

  test('are all given back when this process closes, and calls are broken off', async () => {
    make(999);
    const { engine } = await engines.engineFor(CALLED);
    const heard = assert.rejects(hear(engine), /The service ends/);
    await engines.close();
    await heard;
    assert.ok(events.includes('released 1'));
  });
});
