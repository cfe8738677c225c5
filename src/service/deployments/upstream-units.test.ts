import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { ModelEntry } from '../../catalogue/model.ts';
import {
  respondFully,
  startFakeUpstreamServer,
  respondWithJson,
  FULL_TEXT,
  type FakeUpstreamServer,
} from '../../engines/pool/__fixtures__/fake-upstream-server.ts';
import { systemClock } from '../../lib/clock.ts';
import { until } from '../../../test/until.ts';
import { TEST_ENTRY, createTestRequest } from './__fixtures__/fake-units.ts';
import type { DeploymentUnits } from './deployment-units.ts';
import { openUpstreamUnits } from './upstream-units.ts';

const NEVER = new AbortController().signal;
const TIMEOUT = { timeoutMs: 20_000 };
const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet };

describe('openUpstreamUnits', () => {
  let servers: FakeUpstreamServer[];
  let opened: DeploymentUnits | undefined;
  beforeEach(async () => {
    servers = await Promise.all(Array.from({ length: 3 }, () => startFakeUpstreamServer(respondFully)));
  });
  afterEach(async () => {
    await opened?.close();
    opened = undefined;
    await Promise.all(servers.map((server) => server.stop()));
  });

  const open = async (units: number): Promise<DeploymentUnits> => {
    const runs = {
      type: 'upstream',
      addresses: servers.map(({ url }) => url),
      remote: { model: 'their-model', input: 'chat', forward: [], timeouts: {}, family: 'template' },
    } as const satisfies ModelEntry['runner'];
    const request = { name: 'a', entry: { ...TEST_ENTRY, runs }, units, previous: undefined };
    opened = await openUpstreamUnits(
      request,
      runs,
      { environment: {}, workspaceShare: 0.5, log, clock: systemClock },
      NEVER,
    );
    return opened;
  };
  const generateText = async ({ engine }: DeploymentUnits): Promise<string> => {
    let generated = '';
    const input = { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] } as const;
    const { batches } = await engine.start({ ...createTestRequest(), input }, NEVER);
    for await (const batch of batches) for (const event of batch) if (event.type === 'text') generated += event.text;
    return generated;
  };
  const countRequests = () => servers.map((server) => server.requestCount);

  test('uses as many servers as units are requested, and calls no others', async () => {
    const units = await open(2);
    assert.deepEqual([units.units.length, units.reason], [2, undefined]);
    assert.deepEqual(units.connection, { type: 'servers', addresses: servers.slice(0, 2).map(({ url }) => url) });
    const before = countRequests();
    for (let call = 0; call < 6; call++) assert.equal(await generateText(units), FULL_TEXT);
    assert.equal(countRequests()[2], before[2]);
    assert.ok(units.units.every((unit) => units.isUp(unit)));
  });

  test('uses the servers that answer, and gives the reason when they are too few', async () => {
    await servers[0]?.stop();
    const units = await open(3);
    assert.equal(units.units.length, 2);
    assert.equal(units.reason, '2 of 3 upstream servers answer; each server is one unit.');
    assert.equal(await generateText(units), FULL_TEXT);
  });

  test('does not wait for a silent server when enough others answer', { timeout: 20_000 }, async () => {
    const [silent = assert.fail(), ...others] = servers;
    silent.respond = quiet;
    const units = await open(2);
    assert.deepEqual(units.connection, { type: 'servers', addresses: others.map(({ url }) => url) });
    assert.equal(await generateText(units), FULL_TEXT);
  });

  test('fails when no server answers', async () => {
    for (const server of servers) server.respond = respondWithJson(500, { error: { message: 'worker died' } });
    await assert.rejects(open(1), /^ServiceError: No upstream server answers: /);
  });

  test('reports a unit as down while its server is, and as up after a successful call', async () => {
    const units = await open(2);
    const [first = assert.fail(), second = assert.fail()] = units.units;
    for (const server of servers) server.respond = (response) => response.destroy();
    await until('both units to be down', TIMEOUT, async () => {
      await generateText(units).catch(() => undefined);
      return units.isUp(first) || units.isUp(second) ? undefined : true;
    });
    for (const server of servers) server.respond = respondFully;
    await until('both units to be up', TIMEOUT, async () => {
      await generateText(units).catch(() => undefined);
      return units.isUp(first) && units.isUp(second) ? true : undefined;
    });
  });
});
