import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { JOB_ATTEMPTS_DEFAULT } from '../../src/resources/limits.ts';
import type { LogFields } from '../../src/core/telemetry.ts';
import { respondFully, startFakeUpstreamServer } from '../../src/engines/pool/__fixtures__/fake-upstream-server.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { until } from '../until.ts';
import { createService } from '../../src/service/service.ts';

type Fields = Readonly<Record<string, unknown>>;

const TIMEOUT = { timeoutMs: 60_000 };

interface TestService {
  /** Calls the API of deployments. */
  call(method: string, path?: string, body?: Fields): Promise<{ readonly status: number; readonly output: Fields }>;
  create(suffix: string, more?: Fields): Promise<string>;
  scale(name: string, capacity: number): Promise<Fields>;
  /** Waits until the deployment has a status and a ready capacity. */
  waitForStatus(name: string, status: string, ready: number): Promise<Fields>;
  waitUntilGone(name: string): Promise<void>;
  /** Requests a streamed answer, and reads it to its end. */
  chat(model: string, content: string): Promise<{ readonly status: number; readonly text: string }>;
  /** Requests a streamed answer, and waits for its first token. */
  startStream(model: string, content: string, signal?: AbortSignal): Promise<{ readonly rest: Promise<string> }>;
  /** Starts a streamed answer that runs until `leave` is called. */
  startEndlessStream(model: string): Promise<{ readonly leave: () => void }>;
  /** Lists transitions, capacities and reasons of a deployment from the log. */
  listTransitions(name: string): readonly string[];
  /** Counts failed starts of all deployments in the log. */
  countFailedStarts(): number;
  /** Moves the wall clock forward. */
  advanceTime(ms: number): void;
  close(): Promise<void>;
}

async function startTestService(
  folder: string,
  settings: string,
  env: Readonly<Record<string, string>> = {},
): Promise<TestService> {
  writeFileSync(join(folder, 'parley.yaml'), `port: 0\n${settings}`);
  const logLines: { readonly message: string; readonly fields: LogFields }[] = [];
  const log = (message: string, fields: LogFields = {}) => void logLines.push({ message, fields });
  let skippedMs = 0;
  const service = await createService(
    loadConfig({ env: { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off', ...env } }).config,
    {
      log: { info: log, warn: log, error: log },
      clock: { now: () => systemClock.now() + skippedMs, monotonic: () => systemClock.monotonic() },
    },
  );
  const [{ url } = assert.fail()] = await service.listen();
  const { secret = '' } = (await service.getFirstKey()) ?? {};
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const send = (method: string, path: string, body?: Fields, signal: AbortSignal | null = null): Promise<Response> =>
    fetch(`${url}${path}`, { method, headers, signal, ...(body ? { body: JSON.stringify(body) } : {}) });
  const call: TestService['call'] = async (method, path = '', body) => {
    const response = await send(method, `/api/v1/deployments${path}`, body);
    return { status: response.status, output: ((await response.json()) as { output?: Fields }).output ?? {} };
  };
  const sendChat = (model: string, content: string, signal?: AbortSignal): Promise<Response> => {
    const messages = [{ role: 'user', content }];
    return send('POST', '/compatible-mode/v1/chat/completions', { model, stream: true, messages }, signal);
  };
  const startStream: TestService['startStream'] = async (model, content, signal) => {
    const { body } = await sendChat(model, content, signal);
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
      const request = { model_name: 'svc-plus', plan: 'mu', capacity: 1, suffix, ...more };
      const { status, output } = await call('POST', '', request);
      assert.deepEqual([status, output['status']], [200, 'PENDING']);
      return String(output['deployed_model']);
    },
    scale: async (name, capacity) => (await call('PUT', `/${name}/scale`, { capacity })).output,
    waitForStatus: (name, status, ready) =>
      until(`${name} ${status} ${ready}`, TIMEOUT, async () => {
        const { output } = await call('GET', `/${name}`);
        return output['status'] === status && output['ready_capacity'] === ready ? output : undefined;
      }),
    waitUntilGone: async (name) =>
      void (await until(`${name} is removed`, TIMEOUT, async () =>
        (await call('GET', `/${name}`)).status === 404 ? true : undefined,
      )),
    async chat(model, content) {
      const response = await sendChat(model, content);
      return { status: response.status, text: await response.text() };
    },
    startStream,
    async startEndlessStream(model) {
      const caller = new AbortController();
      const { rest } = await startStream(model, 'script:["one ",{"hang":true}]', caller.signal);
      rest.catch(() => undefined);
      return { leave: () => caller.abort() };
    },
    listTransitions: (name) =>
      logLines
        .filter(({ message, fields }) => message === 'deployment changed' && fields['deployment'] === name)
        .map(({ fields: { transition, readyCapacity, capacity, reason } }) =>
          `${String(transition)} ${String(readyCapacity)}/${String(capacity)} ${String(reason)}`.trim(),
        ),
    countFailedStarts: () => logLines.filter(({ message }) => message === 'deployment failed to start').length,
    advanceTime: (ms) => void (skippedMs += ms),
    close: () => service.close(),
  };
}

const createPauseScript = (ms: number): string => `script:["one ",{"delayMs":${ms}},"two"]`;
const STREAM_END = 'data: [DONE]\n\n';

describe('capacity of a deployment', () => {
  const folders: string[] = [];
  after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));
  const createFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-capacity-'));
    folders.push(folder);
    return folder;
  };
  const startForTest = async (
    context: TestContext,
    settings = '',
    env: Readonly<Record<string, string>> = {},
  ): Promise<TestService> => {
    const service = await startTestService(createFolder(), settings, env);
    context.after(() => service.close());
    return service;
  };

  test('limits concurrent answers on a separate engine per deployment', async (context) => {
    const parley = await startForTest(context);
    const [one, two] = [await parley.create('one'), await parley.create('two', { capacity: 2 })];
    await parley.waitForStatus(one, 'RUNNING', 1);
    await parley.waitForStatus(two, 'RUNNING', 2);
    const startOrder: string[] = [];
    const startNamedStream = async (which: string, name: string) => {
      const stream = await parley.startEndlessStream(name);
      startOrder.push(which);
      return stream;
    };
    const first = await startNamedStream('first of one', one);
    const second = startNamedStream('second of one', one);
    // The other deployment answers although this one is busy.
    const pair = [await startNamedStream('first of two', two), await startNamedStream('second of two', two)];
    const third = startNamedStream('third of two', two);
    first.leave();
    const secondStream = await second;
    assert.deepEqual(startOrder, ['first of one', 'first of two', 'second of two', 'second of one']);
    pair[0]?.leave();
    for (const stream of [...pair, secondStream, await third]) stream.leave();
  });

  test('may exceed the available units: these serve, and the log has the reason for the difference', async (context) => {
    const server = await startFakeUpstreamServer(respondFully);
    context.after(() => server.stop());
    const parley = await startForTest(
      context,
      `models: {svc-plus: {url: '${server.url}', upstreamModel: server-model}}\n`,
    );
    const name = await parley.create('far', { capacity: 3 });
    const running = await parley.waitForStatus(name, 'RUNNING', 1);
    assert.equal(running['capacity'], 3);
    assert.equal(
      parley.listTransitions(name).at(-1),
      'reach 1/3 1 of 1 upstream servers answer; each server is one unit.',
    );
    assert.equal((await parley.chat(name, 'Hi')).status, 200);
    await parley.scale(name, 9);
    await parley.waitForStatus(name, 'RUNNING', 1);
    assert.equal(
      parley.listTransitions(name).at(-1),
      'reach 1/9 1 of 1 upstream servers answer; each server is one unit.',
    );
    await parley.scale(name, 1);
    await until('all of the capacity is ready', TIMEOUT, async () =>
      parley.listTransitions(name).at(-1) === 'reach 1/1 The requested capacity is ready.' ? true : undefined,
    );
  });

  test('0 refuses calls with a reason and finishes running answers, and scaling up accepts calls again', async (context) => {
    const parley = await startForTest(context);
    const name = await parley.create('stop');
    await parley.waitForStatus(name, 'RUNNING', 1);
    const running = await parley.startStream(name, createPauseScript(1_000));
    await parley.scale(name, 0);
    await parley.waitForStatus(name, 'STOPPED', 0);
    const { status, text } = await parley.chat(name, 'Hi');
    assert.equal(status, 503);
    assert.match(
      text,
      new RegExp(
        `Deployment ${name} cannot serve calls: its status is STOPPED\\. Its capacity is 0; scale it up to use it\\.`,
      ),
    );
    assert.ok((await running.rest).endsWith(STREAM_END));
    await parley.scale(name, 1);
    await parley.waitForStatus(name, 'RUNNING', 1);
    assert.equal((await parley.chat(name, 'Hi')).status, 200);
  });

  test('is removed by a delete only after the running answers have ended', async (context) => {
    const parley = await startForTest(context);
    const name = await parley.create('gone', { capacity: 2 });
    await parley.waitForStatus(name, 'RUNNING', 2);
    const running = await parley.startStream(name, createPauseScript(1_500));
    // The first answer may end before the next request; this one runs until it is left.
    const endlessStream = await parley.startEndlessStream(name);
    const { output } = await parley.call('DELETE', `/${name}`);
    assert.equal(output['status'], 'DELETING');
    const rejected = await parley.chat(name, 'Hi');
    assert.equal(rejected.status, 503);
    assert.match(rejected.text, /DELETING/);
    assert.ok((await running.rest).endsWith(STREAM_END));
    const { status } = await parley.call('GET', `/${name}`);
    assert.equal(status, 200, 'the deployment exists while it is in use');
    endlessStream.leave();
    await parley.waitUntilGone(name);
    assert.equal((await parley.chat(name, 'Hi')).status, 404);
    assert.equal(await parley.create('gone'), name, 'the name can be reused');
  });

  test('is taken from answers that outlast the drain time, with an error', async (context) => {
    const parley = await startForTest(context, 'deployments: {drainMs: 300}\n');
    const name = await parley.create('cut');
    await parley.waitForStatus(name, 'RUNNING', 1);
    const running = await parley.startStream(name, 'script:["one ",{"hang":true}]');
    await parley.scale(name, 2);
    await parley.waitForStatus(name, 'RUNNING', 2);
    assert.match(
      await running.rest,
      /Deployment svc-plus-cut was scaled or deleted 0.3 s ago, and this response was not complete within that time/,
    );
    const other = await parley.startStream(name, 'script:["one ",{"hang":true}]');
    await parley.call('DELETE', `/${name}`);
    assert.match(await other.rest, /was scaled or deleted/);
    await parley.waitUntilGone(name);
  });

  test('is that of the last of several concurrent scale requests, and all of them are logged', async (context) => {
    const parley = await startForTest(context);
    const name = await parley.create('both');
    const capacities = [2, 3, 4, 5, 6, 7];
    const results = await Promise.all(capacities.map((capacity) => parley.scale(name, capacity)));
    for (const [at, { status, capacity }] of results.entries())
      assert.deepEqual([status, capacity], ['UPDATING', capacities[at]]);
    const scales = parley.listTransitions(name).filter((each) => each.startsWith('scale'));
    assert.equal(scales.length, capacities.length);
    const last = Number(/\/(\d+)/.exec(scales.at(-1) ?? '')?.[1]);
    const { capacity } = await parley.waitForStatus(name, 'RUNNING', last);
    assert.equal(capacity, last);
  });

  test('is 0 after a restart, and is restored soon', async () => {
    const folder = createFolder();
    const first = await startTestService(folder, '');
    const name = await first.create('again', { capacity: 2 });
    const stopped = await first.create('off', { capacity: 0 });
    await first.waitForStatus(name, 'RUNNING', 2);
    await first.waitForStatus(stopped, 'STOPPED', 0);
    await first.close();
    const second = await startTestService(folder, '');
    try {
      await second.waitForStatus(name, 'RUNNING', 2);
      assert.deepEqual(second.listTransitions(name), [
        'ready 0/2 The service was restarted.',
        'reach 2/2 The requested capacity is ready.',
      ]);
      assert.equal((await second.chat(name, 'Hi')).status, 200);
      await second.waitForStatus(stopped, 'STOPPED', 0);
    } finally {
      await second.close();
    }
  });

  test('fails with the reason after all attempts when the weights are missing', async (context) => {
    const empty = createFolder();
    const parley = await startForTest(context, '', { PARLEY_ENGINE_KIND: 'llama', PARLEY_MODELS_FOLDER: empty });
    const name = await parley.create('lost');
    let failedStarts = 0;
    await until('the deployment has failed', TIMEOUT, async () => {
      // The next attempt starts at most a minute later.
      if (parley.countFailedStarts() > failedStarts) parley.advanceTime(60_000);
      failedStarts = parley.countFailedStarts();
      return (await parley.call('GET', `/${name}`)).output['status'] === 'FAILED' ? true : undefined;
    });
    // The last attempt may have happened between the two polls.
    assert.equal(parley.countFailedStarts(), JOB_ATTEMPTS_DEFAULT);
    assert.match(
      parley.listTransitions(name).at(-1) ?? '',
      /^fail 0\/1 The weights of svc-plus are not on this machine/,
    );
    const { status, text } = await parley.chat(name, 'Hi');
    assert.equal(status, 503);
    assert.match(text, /FAILED/);
    const scaled = await parley.scale(name, 0);
    assert.equal(scaled['status'], 'UPDATING');
    await parley.waitForStatus(name, 'STOPPED', 0);
  });

  test('changes from 1 to 2, 1, 0 and 1 during 200 streams, and only streams at capacity 0 fail', async (context) => {
    const parley = await startForTest(context);
    const name = await parley.create('busy');
    await parley.waitForStatus(name, 'RUNNING', 1);
    const capacities = [1, 2, 1, 0, 1];
    const responses: { readonly status: number; readonly text: string; readonly wasZero: boolean }[] = [];
    let zeros = 0;
    let isZero = false;
    let isStopped = false;
    const callers = Array.from({ length: 8 }, async (_, caller) => {
      for (let at = 0; !isStopped; at++) {
        const [zerosBefore, wasZero] = [zeros, isZero];
        const content = `script:["one ",{"repeat":"${caller}-${at} ","times":8,"perTick":1},{"delayMs":20},"end"]`;
        const { status, text } = await parley.chat(name, content);
        responses.push({ status, text, wasZero: wasZero || isZero || zeros > zerosBefore });
      }
    });
    for (const capacity of capacities) {
      if (capacity === 0) {
        isZero = true;
        zeros++;
      }
      await parley.scale(name, capacity);
      await parley.waitForStatus(name, capacity === 0 ? 'STOPPED' : 'RUNNING', capacity);
      const countExpected = (): number => responses.filter(({ status }) => (status === 200) === capacity > 0).length;
      const countBefore = countExpected();
      const waitForExpected = (count: number) =>
        until(`${count} calls of ${capacity}`, TIMEOUT, async () =>
          countExpected() >= countBefore + count ? true : undefined,
        );
      await waitForExpected(1);
      isZero = capacity === 0;
      await waitForExpected(50);
    }
    isStopped = true;
    await Promise.all(callers);
    const good = responses.filter(({ status }) => status === 200);
    for (const { text } of good) {
      assert.ok(text.endsWith(STREAM_END), text);
      assert.match(text, /"content":"end"/);
    }
    const refused = responses.filter(({ status }) => status !== 200);
    for (const { status, text, wasZero } of refused) {
      assert.equal(status, 503, text);
      assert.match(
        text,
        /svc-plus-busy cannot serve calls: its status is (STOPPED|UPDATING)\. Its capacity is (0; scale it up|not ready yet)/,
      );
      assert.ok(wasZero, text);
    }
    assert.ok(refused.length >= 50 && good.length >= 200, `${good.length} answered, ${refused.length} refused`);
  });
});
