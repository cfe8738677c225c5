import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { JOB_TRIES_DEFAULT } from '../../src/core/limits.ts';
import type { Facts } from '../../src/core/telemetry.ts';
import { answers, createFixtureServer } from '../../src/engines/pool/__fixtures__/upstream-servers.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { until } from '../until.ts';
import { createService } from '../../src/service/service.ts';

type Fields = Readonly<Record<string, unknown>>;

const PATIENCE = { withinMs: 60_000 };

interface Started {
  /** Of the deployments' interface. */
  call(method: string, path?: string, body?: Fields): Promise<{ readonly status: number; readonly output: Fields }>;
  create(suffix: string, more?: Fields): Promise<string>;
  scale(name: string, capacity: number): Promise<Fields>;
  /** Resolves when it has this status, and so much of its capacity is ready. */
  settled(name: string, status: string, ready: number): Promise<Fields>;
  gone(name: string): Promise<void>;
  /** A streamed answer, heard to its end. */
  chat(model: string, content: string): Promise<{ readonly status: number; readonly text: string }>;
  /** A streamed answer that has begun. */
  begin(model: string, content: string, signal?: AbortSignal): Promise<{ readonly rest: Promise<string> }>;
  /** A streamed answer that has begun, and goes on until it is left. */
  hold(model: string): Promise<{ readonly leave: () => void }>;
  /** Moves and reasons of a deployment, as the log has them. */
  told(name: string): readonly string[];
  /** In vain, of all deployments. */
  tries(): number;
  /** Lets time be over. */
  leap(ms: number): void;
  close(): Promise<void>;
}

async function start(folder: string, settings: string, env: Readonly<Record<string, string>> = {}): Promise<Started> {
  writeFileSync(join(folder, 'parley.yaml'), `port: 0\n${settings}`);
  const told: { readonly message: string; readonly facts: Facts }[] = [];
  const note = (message: string, facts: Facts = {}) => void told.push({ message, facts });
  let leaptMs = 0;
  const service = await createService(
    loadConfig({ env: { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off', ...env } }).config,
    {
      log: { info: note, warn: note, error: note },
      clock: { now: () => systemClock.now() + leaptMs, monotonic: () => systemClock.monotonic() },
    },
  );
  const [{ url } = assert.fail()] = await service.listen();
  const { secret = '' } = (await service.firstKey()) ?? {};
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const send = (method: string, path: string, body?: Fields, signal: AbortSignal | null = null): Promise<Response> =>
    fetch(`${url}${path}`, { method, headers, signal, ...(body ? { body: JSON.stringify(body) } : {}) });
  const call: Started['call'] = async (method, path = '', body) => {
    const response = await send(method, `/api/v1/deployments${path}`, body);
    return { status: response.status, output: ((await response.json()) as { output?: Fields }).output ?? {} };
  };
  const ask = (model: string, content: string, signal?: AbortSignal): Promise<Response> => {
    const messages = [{ role: 'user', content }];
    return send('POST', '/compatible-mode/v1/chat/completions', { model, stream: true, messages }, signal);
  };
  const begin: Started['begin'] = async (model, content, signal) => {
    const { body } = await ask(model, content, signal);
    const reader = (body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('"content":"one')) text += (await reader.read()).value ?? assert.fail(text);
    const rest = async (): Promise<string> => {
      for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
      return text;
    };
    return { rest: rest() };
  };
  return {
    call,
    async create(suffix, more = {}) {
      const wish = { model_name: 'svc-plus', plan: 'mu', capacity: 1, suffix, ...more };
      const { status, output } = await call('POST', '', wish);
      assert.deepEqual([status, output['status']], [200, 'PENDING']);
      return String(output['deployed_model']);
    },
    scale: async (name, capacity) => (await call('PUT', `/${name}/scale`, { capacity })).output,
    settled: (name, status, ready) =>
      until(`${name} ${status} ${ready}`, PATIENCE, async () => {
        const { output } = await call('GET', `/${name}`);
        return output['status'] === status && output['ready_capacity'] === ready ? output : undefined;
      }),
    gone: async (name) =>
      void (await until(`the end of ${name}`, PATIENCE, async () =>
        (await call('GET', `/${name}`)).status === 404 ? true : undefined,
      )),
    async chat(model, content) {
      const response = await ask(model, content);
      return { status: response.status, text: await response.text() };
    },
    begin,
    async hold(model) {
      const leaving = new AbortController();
      const { rest } = await begin(model, 'script:["one ",{"hang":true}]', leaving.signal);
      rest.catch(() => undefined);
      return { leave: () => leaving.abort() };
    },
    told: (name) =>
      told
        .filter(({ message, facts }) => message === 'a deployment changed' && facts['deployment'] === name)
        .map(({ facts: { move, readyCapacity, capacity, reason } }) =>
          `${String(move)} ${String(readyCapacity)}/${String(capacity)} ${String(reason)}`.trim(),
        ),
    tries: () => told.filter(({ message }) => message === 'a deployment does not come up').length,
    leap: (ms) => void (leaptMs += ms),
    close: () => service.close(),
  };
}

const pause = (ms: number): string => `script:["one ",{"delayMs":${ms}},"two"]`;
const END = 'data: [DONE]\n\n';

describe('the capacity of a deployment', () => {
  const folders: string[] = [];
  after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));
  const folderOf = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-capacity-'));
    folders.push(folder);
    return folder;
  };
  const startFor = async (
    context: TestContext,
    settings = '',
    env: Readonly<Record<string, string>> = {},
  ): Promise<Started> => {
    const started = await start(folderOf(), settings, env);
    context.after(() => started.close());
    return started;
  };

  test('is how many answers run side by side, on an engine of its own', async (context) => {
    const parley = await startFor(context);
    const [one, two] = [await parley.create('one'), await parley.create('two', { capacity: 2 })];
    await parley.settled(one, 'RUNNING', 1);
    await parley.settled(two, 'RUNNING', 2);
    const begun: string[] = [];
    const holdAs = async (which: string, name: string) => {
      const held = await parley.hold(name);
      begun.push(which);
      return held;
    };
    const first = await holdAs('first of one', one);
    const second = holdAs('second of one', one);
    // Beside another one that has too much to do.
    const pair = [await holdAs('first of two', two), await holdAs('second of two', two)];
    const third = holdAs('third of two', two);
    first.leave();
    const after = await second;
    assert.deepEqual(begun, ['first of one', 'first of two', 'second of two', 'second of one']);
    pair[0]?.leave();
    for (const held of [...pair, after, await third]) held.leave();
  });

  test('may be more than there is: what there is serves, and it is told why it is not more', async (context) => {
    const server = await createFixtureServer(answers);
    context.after(() => server.stop());
    const parley = await startFor(context, `models: {svc-plus: {url: '${server.url}', upstreamModel: theirs}}\n`);
    const name = await parley.create('far', { capacity: 3 });
    const running = await parley.settled(name, 'RUNNING', 1);
    assert.equal(running['capacity'], 3);
    assert.equal(parley.told(name).at(-1), 'reach 1/3 1 of 1 servers answer; one server is one unit.');
    assert.equal((await parley.chat(name, 'Hi')).status, 200);
    await parley.scale(name, 9);
    await parley.settled(name, 'RUNNING', 1);
    assert.equal(parley.told(name).at(-1), 'reach 1/9 1 of 1 servers answer; one server is one unit.');
    await parley.scale(name, 1);
    await until('all of it', PATIENCE, async () =>
      parley.told(name).at(-1) === 'reach 1/1 All that is wanted serves.' ? true : undefined,
    );
  });

  test('0 takes no calls and says so, what runs goes on; and calls are taken again afterwards', async (context) => {
    const parley = await startFor(context);
    const name = await parley.create('stop');
    await parley.settled(name, 'RUNNING', 1);
    const running = await parley.begin(name, pause(1_000));
    await parley.scale(name, 0);
    await parley.settled(name, 'STOPPED', 0);
    const { status, text } = await parley.chat(name, 'Hi');
    assert.equal(status, 503);
    assert.match(
      text,
      new RegExp(
        `Deployment ${name} serves no calls: its status is STOPPED\\. Its capacity is 0; scale it up to use it\\.`,
      ),
    );
    assert.ok((await running.rest).endsWith(END));
    await parley.scale(name, 1);
    await parley.settled(name, 'RUNNING', 1);
    assert.equal((await parley.chat(name, 'Hi')).status, 200);
  });

  test('goes with a delete when the running answers have ended, and not before', async (context) => {
    const parley = await startFor(context);
    const name = await parley.create('gone', { capacity: 2 });
    await parley.settled(name, 'RUNNING', 2);
    const running = await parley.begin(name, pause(1_500));
    // That one may be over before it is looked; this one not.
    const held = await parley.hold(name);
    const { output } = await parley.call('DELETE', `/${name}`);
    assert.equal(output['status'], 'DELETING');
    const refused = await parley.chat(name, 'Hi');
    assert.equal(refused.status, 503);
    assert.match(refused.text, /DELETING/);
    assert.ok((await running.rest).endsWith(END));
    const { status } = await parley.call('GET', `/${name}`);
    assert.equal(status, 200, 'it is there while it is called');
    held.leave();
    await parley.gone(name);
    assert.equal((await parley.chat(name, 'Hi')).status, 404);
    assert.equal(await parley.create('gone'), name, 'its name is free');
  });

  test('that answers hold on to for too long is taken away from them, and they are told', async (context) => {
    const parley = await startFor(context, 'deployments: {drainMs: 300}\n');
    const name = await parley.create('cut');
    await parley.settled(name, 'RUNNING', 1);
    const running = await parley.begin(name, 'script:["one ",{"hang":true}]');
    await parley.scale(name, 2);
    await parley.settled(name, 'RUNNING', 2);
    assert.match(
      await running.rest,
      /Deployment svc-plus-cut was scaled or deleted 0.3 s ago, and this answer had not ended/,
    );
    const other = await parley.begin(name, 'script:["one ",{"hang":true}]');
    await parley.call('DELETE', `/${name}`);
    assert.match(await other.rest, /was scaled or deleted/);
    await parley.gone(name);
  });

  test('of two scales at once is that of the later one, and both are told', async (context) => {
    const parley = await startFor(context);
    const name = await parley.create('both');
    const wishes = [2, 3, 4, 5, 6, 7];
    const told = await Promise.all(wishes.map((capacity) => parley.scale(name, capacity)));
    for (const [at, { status, capacity }] of told.entries())
      assert.deepEqual([status, capacity], ['UPDATING', wishes[at]]);
    const scales = parley.told(name).filter((each) => each.startsWith('scale'));
    assert.equal(scales.length, wishes.length);
    const last = Number(/\/(\d+)/.exec(scales.at(-1) ?? '')?.[1]);
    const { capacity } = await parley.settled(name, 'RUNNING', last);
    assert.equal(capacity, last);
  });

  test('is nothing after a restart, and all of it soon', async () => {
    const folder = folderOf();
    const first = await start(folder, '');
    const name = await first.create('again', { capacity: 2 });
    const stopped = await first.create('off', { capacity: 0 });
    await first.settled(name, 'RUNNING', 2);
    await first.settled(stopped, 'STOPPED', 0);
    await first.close();
    const second = await start(folder, '');
    try {
      await second.settled(name, 'RUNNING', 2);
      assert.deepEqual(second.told(name), [
        'ready 0/2 The service was started again.',
        'reach 2/2 All that is wanted serves.',
      ]);
      assert.equal((await second.chat(name, 'Hi')).status, 200);
      await second.settled(stopped, 'STOPPED', 0);
    } finally {
      await second.close();
    }
  });

  test('of a model whose weights are not there is tried for a while, and fails with the reason', async (context) => {
    const empty = folderOf();
    const parley = await startFor(context, '', { PARLEY_ENGINE_KIND: 'llama', PARLEY_MODELS_FOLDER: empty });
    const name = await parley.create('lost');
    let tries = 0;
    await until('it has failed', PATIENCE, async () => {
      // The next try is a minute away, at most.
      if (parley.tries() > tries) parley.leap(60_000);
      tries = parley.tries();
      return (await parley.call('GET', `/${name}`)).output['status'] === 'FAILED' ? true : undefined;
    });
    // The last one may have come between the two looks.
    assert.equal(parley.tries(), JOB_TRIES_DEFAULT);
    assert.match(parley.told(name).at(-1) ?? '', /^fail 0\/1 The weights of svc-plus are not on this machine/);
    const { status, text } = await parley.chat(name, 'Hi');
    assert.equal(status, 503);
    assert.match(text, /FAILED/);
    const scaled = await parley.scale(name, 0);
    assert.equal(scaled['status'], 'UPDATING');
    await parley.settled(name, 'STOPPED', 0);
  });

  test('changes from 1 to 2, 1, 0 and 1 during 200 streams, of which none fails but for those that meet the 0', async (context) => {
    const parley = await startFor(context);
    const name = await parley.create('busy');
    await parley.settled(name, 'RUNNING', 1);
    const wishes = [1, 2, 1, 0, 1];
    const ends: { readonly status: number; readonly text: string; readonly wasZero: boolean }[] = [];
    let zeros = 0;
    let isZero = false;
    let isOver = false;
    const callers = Array.from({ length: 8 }, async (_, caller) => {
      for (let at = 0; !isOver; at++) {
        const [zerosBefore, wasZero] = [zeros, isZero];
        const content = `script:["one ",{"repeat":"${caller}-${at} ","times":8,"perTick":1},{"delayMs":20},"end"]`;
        const { status, text } = await parley.chat(name, content);
        ends.push({ status, text, wasZero: wasZero || isZero || zeros > zerosBefore });
      }
    });
    for (const capacity of wishes) {
      if (capacity === 0) {
        isZero = true;
        zeros++;
      }
      await parley.scale(name, capacity);
      await parley.settled(name, capacity === 0 ? 'STOPPED' : 'RUNNING', capacity);
      const met = (): number => ends.filter(({ status }) => (status === 200) === capacity > 0).length;
      const seen = met();
      const untilMet = (count: number) =>
        until(`${count} calls of ${capacity}`, PATIENCE, async () => (met() >= seen + count ? true : undefined));
      await untilMet(1);
      isZero = capacity === 0;
      await untilMet(50);
    }
    isOver = true;
    await Promise.all(callers);
    const good = ends.filter(({ status }) => status === 200);
    for (const { text } of good) {
      assert.ok(text.endsWith(END), text);
      assert.match(text, /"content":"end"/);
    }
    const refused = ends.filter(({ status }) => status !== 200);
    for (const { status, text, wasZero } of refused) {
      assert.equal(status, 503, text);
      assert.match(
        text,
        /svc-plus-busy serves no calls: its status is (STOPPED|UPDATING)\. Its capacity is (0; scale it up|not ready yet)/,
      );
      assert.ok(wasZero, text);
    }
    assert.ok(refused.length >= 50 && good.length >= 200, `${good.length} answered, ${refused.length} refused`);
  });
});
