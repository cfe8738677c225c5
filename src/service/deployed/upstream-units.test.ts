import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { ModelEntry } from '../../catalogue/model.ts';
import { answers, createFixtureServer, reply, WORDS } from '../../engines/pool/__fixtures__/upstream-servers.ts';
import type { FixtureServer } from '../../engines/pool/__fixtures__/upstream-servers.ts';
import { systemClock } from '../../lib/clock.ts';
import { until } from '../../../test/until.ts';
import { ENTRY, request } from './__fixtures__/played-units.ts';
import type { OpenedUnits } from './opened-units.ts';
import { openUpstreamUnits } from './upstream-units.ts';

const NEVER = new AbortController().signal;
const PATIENCE = { withinMs: 20_000 };
const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet };

describe('servers elsewhere as units', () => {
  let servers: FixtureServer[];
  let opened: OpenedUnits | undefined;
  beforeEach(async () => {
    servers = await Promise.all(Array.from({ length: 3 }, () => createFixtureServer(answers)));
  });
  afterEach(async () => {
    await opened?.close();
    opened = undefined;
    await Promise.all(servers.map((server) => server.stop()));
  });

  const open = async (units: number): Promise<OpenedUnits> => {
    const runs = {
      type: 'upstream',
      addresses: servers.map(({ url }) => url),
      remote: { model: 'their-model', input: 'chat', forward: [], timeouts: {}, family: 'template' },
    } as const satisfies ModelEntry['runs'];
    const wish = { name: 'a', entry: { ...ENTRY, runs }, units, previous: undefined };
    opened = await openUpstreamUnits(wish, runs, { environment: {}, log, clock: systemClock }, NEVER);
    return opened;
  };
  const ask = async ({ engine }: OpenedUnits): Promise<string> => {
    let heard = '';
    const input = { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] } as const;
    const { batches } = await engine.start({ ...request(), input }, NEVER);
    for await (const batch of batches) for (const event of batch) if (event.type === 'text') heard += event.text;
    return heard;
  };
  const asked = () => servers.map((server) => server.asked);

  test('are as many addresses as are wanted, and no more of them are called', async () => {
    const units = await open(2);
    assert.deepEqual([units.units.length, units.reason], [2, undefined]);
    assert.deepEqual(units.reach, { type: 'servers', addresses: servers.slice(0, 2).map(({ url }) => url) });
    const before = asked();
    for (let at = 0; at < 6; at++) assert.equal(await ask(units), WORDS);
    assert.equal(asked()[2], before[2]);
    assert.ok(units.units.every((unit) => units.isUp(unit)));
  });

  test('are those that answer, and where these are too few it is told', async () => {
    await servers[0]?.stop();
    const units = await open(3);
    assert.equal(units.units.length, 2);
    assert.equal(units.reason, '2 of 3 servers answer; one server is one unit.');
    assert.equal(await ask(units), WORDS);
  });

  test('do not wait for a server that is silent where others are enough', { timeout: 20_000 }, async () => {
    const [silent = assert.fail(), ...others] = servers;
    silent.play = quiet;
    const units = await open(2);
    assert.deepEqual(units.reach, { type: 'servers', addresses: others.map(({ url }) => url) });
    assert.equal(await ask(units), WORDS);
  });

  test('are none where no server answers', async () => {
    for (const server of servers) server.play = reply(500, { error: { message: 'worker died' } });
    await assert.rejects(open(1), /^ServiceError: No server answers: /);
  });

  test('are away while their server is, and back when it has answered a call', async () => {
    const units = await open(2);
    const [first = assert.fail(), second = assert.fail()] = units.units;
    for (const server of servers) server.play = (response) => response.destroy();
    await until('it is seen', PATIENCE, async () => {
      await ask(units).catch(() => undefined);
      return units.isUp(first) || units.isUp(second) ? undefined : true;
    });
    for (const server of servers) server.play = answers;
    await until('it is seen', PATIENCE, async () => {
      await ask(units).catch(() => undefined);
      return units.isUp(first) && units.isUp(second) ? true : undefined;
    });
  });
});
