import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { until } from '../../../test/until.ts';
import { ENTRY, hear, playUnits, record } from './__fixtures__/played-units.ts';
import type { PlayedUnits } from './__fixtures__/played-units.ts';
import { createDeployedEngines } from './deployed-engines.ts';

const CALLED = { id: 'dep_1', name: 'svc-plus-a', status: 'running', capacity: 1 } as const;
const PATIENCE = { withinMs: 10_000 };
const NEVER = new AbortController().signal;

describe('engines of deployments', () => {
  let played: PlayedUnits;
  let engines: ReturnType<typeof createDeployedEngines>;
  let told: string[];
  let looks: Set<() => void>;
  let entry: typeof ENTRY;
  beforeEach(() => {
    entry = ENTRY;
    played = playUnits();
    told = [];
    looks = new Set();
    const note = (message: string) => void told.push(message);
    engines = createDeployedEngines({
      catalogue: { find: (name) => (name === 'svc-plus' ? entry : undefined) },
      open: played.open,
      contextTokens: undefined,
      drainMs: 60_000,
      log: { info: note, warn: note },
      onStanding: (id) => note(`standing ${id} ${engines.standingOf(id)?.readyUnits}`),
      onSwitch: (id) => note(`switch ${id}`),
      every(_ms, run) {
        looks.add(run);
        return () => void looks.delete(run);
      },
    });
  });
  afterEach(() => engines.close());

  const bring = (capacity: number, change = {}, signal = NEVER) => engines.bringAbout(record(capacity, change), signal);
  const states = () => played.opened.map(({ units, isClosed }) => `${units} ${isClosed ? 'closed' : 'open'}`);
  const look = () => looks.forEach((run) => run());

  test('calls are put to it from the moment all its units have answered', async () => {
    assert.equal(engines.standingOf('dep_1'), undefined);
    await assert.rejects(
      engines.engineFor({ ...CALLED, status: 'pending' }),
      /svc-plus-a serves no calls: its status is PENDING/,
    );
    assert.deepEqual(await bring(2), { readyUnits: 2 });
    assert.deepEqual(engines.standingOf('dep_1'), { readyUnits: 2 });
    const { engine, release } = await engines.engineFor(CALLED);
    assert.equal(await hear(engine), '');
    release();
  });

  test('what was brought about is not made again', async () => {
    await bring(2);
    assert.deepEqual(await bring(2, { generation: 9 }), { readyUnits: 2 });
    assert.deepEqual(states(), ['2 open']);
  });

  test('what runs its model may be another one by now: the same capacity is made of that when it is asked for again', async () => {
    await bring(2);
    entry = { ...ENTRY, runs: { type: 'weights', weights: 'others', family: 'template' } };
    assert.deepEqual(await bring(2, { generation: 9 }), { readyUnits: 2 });
    await until('the earlier one ends', PATIENCE, async () =>
      states().join() === '2 closed,2 open' ? true : undefined,
    );
  });

  test('a scale makes another engine, and the earlier one ends with its last call', async () => {
    await bring(1);
    const { engine, release } = await engines.engineFor(CALLED);
    assert.deepEqual(await bring(2), { readyUnits: 2 });
    assert.deepEqual(states(), ['1 open', '2 open']);
    assert.ok(told.includes('switch dep_1'));
    assert.equal(await hear(engine), '');
    release();
    await until('the end of the earlier one', PATIENCE, async () =>
      states().join() === '1 closed,2 open' ? true : undefined,
    );
  });

  test('less than was wanted serves, with the reason, and more of it is tried without taking away what serves', async () => {
    played.holds = 2;
    const standing = { readyUnits: 2, reason: 'The machine holds 2.' };
    assert.deepEqual(await bring(5), standing);
    const { engine } = await engines.engineFor(CALLED);
    assert.deepEqual(await bring(5), standing);
    assert.deepEqual(states(), ['2 open', '2 closed']);
    assert.equal((await engines.engineFor(CALLED)).engine, engine);
    played.holds = 4;
    assert.deepEqual(await bring(5), { readyUnits: 4, reason: 'The machine holds 4.' });
    played.holds = 9;
    assert.deepEqual(await bring(5), { readyUnits: 5 });
  });

  test('a scale down that the machine holds even less of keeps what is more', async () => {
    await bring(4);
    played.holds = 1;
    assert.deepEqual(await bring(2), { readyUnits: 4, reason: 'The machine holds 1.' });
  });

  test('of what does not come up together half as much is tried', async () => {
    played.together = 3;
    const { readyUnits, reason } = await bring(8);
    assert.equal(readyUnits, 2);
    assert.match(reason ?? '', /^2 of 8 units come up together/);
    assert.deepEqual(states(), ['8 closed', '4 closed', '2 open']);
  });

  test('half of what the machine holds is tried, not of what was wanted', async () => {
    played.together = 3;
    played.holds = 4;
    assert.equal((await bring(100)).readyUnits, 2);
    assert.deepEqual(states(), ['4 closed', '2 open']);
  });

  test('where not one unit comes up, it is told why', async () => {
    played.together = 0;
    await assert.rejects(bring(2), /No memory is left/);
    assert.deepEqual(states(), ['2 closed', '1 closed']);
    played.failure = new ServiceError('overloaded', 'The weights are not here.');
    await assert.rejects(bring(2), /The weights are not here/);
    assert.equal(engines.standingOf('dep_1')?.readyUnits, 0);
  });

  test('where a change fails, what served before goes on, with the reason', async () => {
    await bring(1);
    played.failure = new ServiceError('overloaded', 'The weights are not here.');
    assert.deepEqual(await bring(2), { readyUnits: 1, reason: 'The weights are not here.' });
    assert.equal(await hear((await engines.engineFor(CALLED)).engine), '');
  });

  test('a model that is not offered any more is told', async () => {
    await assert.rejects(bring(1, { baseModel: 'gone' }), /There is no model gone any more/);
  });

  test('a newer wish ends the making of an older one', async () => {
    played.gate = new Promise(() => undefined);
    const older = bring(2, { generation: 1 });
    const both = Promise.allSettled([older, bring(2, { generation: 1 })]);
    played.gate = Promise.resolve();
    const newer = bring(3, { generation: 2 });
    assert.deepEqual(await newer, { readyUnits: 3 });
    for (const { status } of await both) assert.equal(status, 'rejected');
    assert.deepEqual(states(), ['3 open']);
  });

  test('0 units take no calls, and the engine ends with its last one', async () => {
    await bring(1);
    const { engine, release } = await engines.engineFor(CALLED);
    assert.deepEqual(await bring(0), { readyUnits: 0 });
    await assert.rejects(engines.engineFor({ ...CALLED, status: 'stopped' }), /Its capacity is 0; scale it up/);
    assert.deepEqual(states(), ['1 open']);
    assert.equal(await hear(engine), '');
    release();
    await until('its end', PATIENCE, async () => (states().join() === '1 closed' ? true : undefined));
  });

  test('a retired one is gone when its last call has ended, and not before', async () => {
    assert.equal(await engines.retire('dep_1'), true);
    await bring(1);
    const { release } = await engines.engineFor(CALLED);
    assert.equal(await engines.retire('dep_1'), false);
    await assert.rejects(engines.engineFor({ ...CALLED, status: 'deleting' }), /It is being deleted/);
    assert.equal(await engines.retire('dep_1'), false);
    assert.deepEqual(states(), ['1 open']);
    release();
    await until('its end', PATIENCE, async () => ((await engines.retire('dep_1')) ? true : undefined));
    assert.deepEqual(states(), ['1 closed']);
    assert.equal(engines.standingOf('dep_1'), undefined);
  });

  test('retiring ends what is being made', async () => {
    played.gate = new Promise(() => undefined);
    const made = assert.rejects(bring(1), /deleted/);
    assert.equal(await engines.retire('dep_1'), false);
    await made;
    assert.equal(await engines.retire('dep_1'), true);
  });

  test('units that went away are told of, and again when they have shown that they are back', async () => {
    await bring(2);
    const [opening = assert.fail()] = played.opened;
    opening.up = false;
    look();
    assert.match(engines.standingOf('dep_1')?.reason ?? '', /^2 of 2 units went away/);
    assert.deepEqual(told, ['standing dep_1 0']);
    look();
    assert.equal(told.length, 1);
    opening.up = true;
    look();
    await until('it is back', PATIENCE, async () => (told.includes('standing dep_1 2') ? true : undefined));
    assert.deepEqual(engines.standingOf('dep_1'), { readyUnits: 2 });
  });

  test('units that are there again and do not answer are not ready', async () => {
    await bring(2);
    const [opening = assert.fail()] = played.opened;
    opening.up = false;
    look();
    played.together = 1;
    opening.up = true;
    look();
    await until('both were asked', PATIENCE, async () => (played.refused === 2 ? true : undefined));
    assert.equal(engines.standingOf('dep_1')?.readyUnits, 0);
    played.together = 2;
    await until('it is asked once more, and answers', PATIENCE, async () => {
      look();
      return engines.standingOf('dep_1')?.readyUnits === 2 ? true : undefined;
    });
    assert.deepEqual(told, ['standing dep_1 0', 'standing dep_1 2']);
  });

  test('a context that was asked for counts, and no more than its model has', async () => {
    const contexts: number[] = [];
    const { open } = played;
    const asked = createDeployedEngines({
      catalogue: { find: () => ({ ...ENTRY, isContextGuessed: true }) },
      open(wish, signal) {
        contexts.push(wish.entry.contextTokens);
        if (wish.entry.contextTokens < ENTRY.contextTokens) assert.equal(wish.entry.isContextGuessed, undefined);
        return open(wish, signal);
      },
      contextTokens: undefined,
      drainMs: 0,
      log: { info: () => undefined, warn: () => undefined },
      onStanding: () => undefined,
      every: () => () => undefined,
    });
    for (const [at, maxContextLength] of [512, 1_000_000].entries())
      await asked.bringAbout(record(at + 1, { spec: { maxContextLength } }), NEVER);
    assert.deepEqual(contexts, [512, 4_096]);
    await asked.close();
  });

  test('a loan keeps the engine from being closed until it is given back', async () => {
    assert.equal(engines.lend('dep_1'), undefined);
    await bring(2);
    const loan = engines.lend('dep_1') ?? assert.fail();
    assert.deepEqual([loan.name, loan.units, loan.reach], ['svc-plus-a', 2, { type: 'scripted' }]);
    assert.equal(loan.entry.name, 'svc-plus');
    await bring(0);
    assert.equal(engines.lend('dep_1'), undefined);
    assert.deepEqual(states(), ['2 open']);
    loan.release();
    await until('its end', PATIENCE, async () => (states().join() === '2 closed' ? true : undefined));
  });

  test('closing breaks off calls, ends what is being made, and leaves no engine', async () => {
    await bring(1);
    const { engine } = await engines.engineFor(CALLED);
    const cut = assert.rejects(hear(engine, 'hang'), /The service ends/);
    played.gate = new Promise(() => undefined);
    const making = assert.rejects(bring(2));
    await engines.close();
    await Promise.all([cut, making]);
    assert.deepEqual(states(), ['1 closed']);
    assert.equal(looks.size, 0);
    await assert.rejects(bring(3, { generation: 7 }));
  });
});
