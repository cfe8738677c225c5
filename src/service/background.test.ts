import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { systemIdGenerator } from '../core/id.ts';
import { CONVERSATION_LEASE_MS } from '../resources/responses/limits.ts';
import { systemClock } from '../lib/clock.ts';
import { createSseParser } from '../lib/sse.ts';
import { encodeChange } from '../protocols/compatible/responses/encode-change.ts';
import { createJobNotifier } from '../resources/jobs/job-notifier.ts';
import { createBackgroundResponses } from '../resources/responses/background-service.ts';
import { createRunNotifier } from '../resources/responses/run-notifier.ts';
import { createSqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore } from '../store/store.ts';
import { createService, type Service } from './service.ts';

// Tests of background responses over HTTP, with two complete services that share a database.

type Fields = Readonly<Record<string, unknown>>;

interface Body extends Fields {
  readonly id: string;
  readonly status: string;
  readonly output: readonly { readonly content: readonly { readonly text: string }[] }[];
  readonly data: readonly (Fields & { readonly role: string })[];
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null } | null;
}

interface Event extends Fields {
  readonly type: string;
  readonly sequence_number: number;
  readonly response?: Body;
}

const MODERN = '/compatible-mode/v1/responses';
const OLD = '/api/v2/apps/protocols/compatible-mode/v1/responses';
/** Generous, because the machine may be busy. */
const TIMEOUT_MS = 20_000;

const createScript = (...steps: readonly unknown[]): string => `script:${JSON.stringify(steps)}`;
const HANGS = createScript('One ', { hang: true });
const SLOW = createScript('One ', { delayMs: 250 }, 'two ', { delayMs: 250 }, 'three.');
const FINAL_STATUSES = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

const parseEvents = (text: string): Event[] =>
  createSseParser({ sizeMax: 1_000_000 })
    .push(text)
    .map(({ data }) => JSON.parse(data) as Event);

describe('background responses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-background-'));
  const services: Service[] = [];
  const urls: string[] = [];
  let key = '';
  let keyId = '';

  before(async () => {
    const quiet = () => undefined;
    const log = { info: quiet, warn: quiet, error: quiet };
    const env = {
      PARLEY_ENGINE_KIND: 'scripted',
      PARLEY_HUB_URL: 'off',
      PARLEY_PORT: '0',
      PARLEY_STORE_URL: `sqlite:${join(folder, 'parley.db')}`,
    };
    // Shorter intervals than in production, so that the tests do not wait for the next poll.
    const jobTiming = { renewMs: 100, pollMs: 100 };
    for (let at = 0; at < 2; at++) {
      const data = { PARLEY_DATA: join(folder, String(at)) };
      const service = await createService(loadConfig({ env: { ...env, ...data } }).config, { log, jobTiming });
      services.push(service);
      urls.push((await service.listen())[0]?.url ?? assert.fail());
    }
    const created = await services[0]?.keys.create({
      region: 'cn-beijing',
      workspace: 'primary',
      name: '',
      expiresAt: undefined,
    });
    key = created?.secret ?? assert.fail();
    keyId = created?.record.id ?? assert.fail();
  });
  after(async () => {
    for (const service of services) await service.close();
    rmSync(folder, { recursive: true });
  });

  const send = (
    serviceIndex: 0 | 1,
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<Response> =>
    fetch(`${urls[serviceIndex]}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  const call = async (...args: Parameters<typeof send>): Promise<{ status: number; body: Body; text: string }> => {
    const response = await send(...args);
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Body };
  };
  const backgroundRequest = (fields: Fields): Fields => ({ model: 'svc-plus', background: true, ...fields });
  const create = async (serviceIndex: 0 | 1, fields: Fields): Promise<Body> => {
    const { status, body, text } = await call(serviceIndex, 'POST', MODERN, backgroundRequest(fields));
    assert.equal(status, 200, text);
    return body;
  };
  const waitUntil = async <T>(what: string, poll: () => Promise<T | undefined>): Promise<T> => {
    for (const end = Date.now() + TIMEOUT_MS; Date.now() < end;) {
      const result = await poll();
      if (result !== undefined) return result;
      await yieldToEventLoop();
    }
    return assert.fail(`not within ${TIMEOUT_MS} ms: ${what}`);
  };
  const waitForEnd = (serviceIndex: 0 | 1, id: string): Promise<Body> =>
    waitUntil(id, async () => {
      const { body } = await call(serviceIndex, 'GET', `${MODERN}/${id}`);
      return FINAL_STATUSES.has(body.status) ? body : undefined;
    });
  /** Reads a stream until it has this many events, then disconnects. */
  const readSome = async (
    serviceIndex: 0 | 1,
    count: number,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<string> => {
    const controller = new AbortController();
    const response = await send(serviceIndex, method, path, body, controller.signal);
    assert.equal(response.status, 200);
    let text = '';
    try {
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        if (text.split('\n\n').length > count) controller.abort();
      }
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    }
    return text
      .split('\n\n')
      .slice(0, count)
      .map((frame) => `${frame}\n\n`)
      .join('');
  };
  /** Reads a stream concurrently with the test. */
  const follow = async (...args: Parameters<typeof send>) => {
    const response = await send(...args);
    assert.equal(response.status, 200);
    let text = '';
    const finished = (async () => {
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
      return text;
    })();
    return { getText: () => text, ended: finished };
  };
  /** Returns the id of the response once the stream contains an event of this type. */
  const findIdAfterEvent = (text: string, type: string): string | undefined => {
    const events = parseEvents(text);
    return events.some((event) => event.type === type) ? events[0]?.response?.id : undefined;
  };
  const createConversation = async (): Promise<string> => (await call(0, 'POST', '/v1/conversations', {})).body.id;
  const listItemRoles = async (id: string): Promise<readonly string[]> =>
    (await call(1, 'GET', `/v1/conversations/${id}/items?order=asc`)).body.data.map(({ role }) => role);

  for (const path of [MODERN, OLD])
    test(`are returned as queued at once, and completed like live ones: ${path}`, async () => {
      const id = await createConversation();
      const { body: queued } = await call(
        0,
        'POST',
        path,
        backgroundRequest({ input: createScript('Hello ', 'there.'), conversation: id }),
      );
      const queuedFields = [
        queued.status,
        queued.output,
        queued['background'],
        queued['completed_at'],
        queued['usage'],
      ];
      assert.deepEqual(queuedFields, ['queued', [], true, null, null]);
      const done = await waitForEnd(1, queued.id);
      assert.deepEqual(
        [done.status, done['created_at'], done['background']],
        ['completed', queued['created_at'], true],
      );
      assert.deepEqual(Object.keys(done), Object.keys(queued));
      assert.equal(done.output[0]?.content[0]?.text, 'Hello there.');
      assert.equal((await call(1, 'GET', `${path}/${queued.id}/input_items`)).body.data.length, 1);
      assert.deepEqual(await listItemRoles(id), ['user', 'assistant']);
      const next = await create(1, { input: createScript('On.'), previous_response_id: queued.id });
      assert.equal((await waitForEnd(0, next.id)).status, 'completed');
      assert.equal((await call(1, 'POST', `${path}/${queued.id}/cancel`)).body.status, 'completed');
    });

  test('stream the same bytes from any process, resumed at any event', async () => {
    for (const count of [1, 3, 6]) {
      const first = await readSome(0, count, 'POST', MODERN, backgroundRequest({ input: SLOW, stream: true }));
      const events = parseEvents(first);
      const id = events[0]?.response?.id ?? assert.fail(first);
      const last = events.at(-1)?.sequence_number;
      const [rest, whole] = await Promise.all([
        call(1, 'GET', `${MODERN}/${id}?stream=true&starting_after=${last}`),
        call(0, 'GET', `${OLD}/${id}?stream=true`),
      ]);
      assert.equal(first + rest.text, whole.text);
      assert.equal((await call(1, 'GET', `${MODERN}/${id}?stream=true`)).text, whole.text);
      const wholeEvents = parseEvents(whole.text);
      assert.deepEqual(
        wholeEvents.map(({ sequence_number: number }) => number),
        wholeEvents.map((_, index) => index),
      );
      assert.deepEqual(
        wholeEvents.slice(0, 3).map(({ type, response }) => [type, response?.status]),
        [
          ['response.created', 'queued'],
          ['response.queued', 'queued'],
          ['response.in_progress', 'in_progress'],
        ],
      );
      assert.equal(wholeEvents.at(-1)?.type, 'response.completed');
      assert.deepEqual(wholeEvents.at(-1)?.response, await waitForEnd(1, id));
      const beyond = await call(1, 'GET', `${MODERN}/${id}?stream=true&starting_after=${wholeEvents.length + 5}`);
      assert.deepEqual([beyond.status, beyond.text], [200, '']);
    }
  });

  test('wait for a conversation that another turn has locked since they were created', async () => {
    const store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
    try {
      const owner = { region: 'cn-beijing', workspace: 'primary', keyId } as const;
      const id = await createConversation();
      const [waiting, turn] = ['resp_waiting', 'resp_other'];
      const now = Date.now();
      assert.ok(
        await store.conversations.acquireTurnLease(owner, id, { turn, until: now + 2 * CONVERSATION_LEASE_MS, now }),
      );
      const notifiers = { notifier: createRunNotifier(), jobNotifier: createJobNotifier() };
      const deps = { store, clock: systemClock, ids: systemIdGenerator, encodeStatusChange: encodeChange };
      const background = createBackgroundResponses({ ...deps, ...notifiers });
      const body = JSON.stringify(backgroundRequest({ input: createScript('Hello.'), conversation: id }));
      await background.enqueue(owner, { id: waiting, conversation: id, body, json: '{"status":"queued"}' });
      await waitUntil('a second attempt', async () =>
        Number((await store.jobs.findBySubject('response', waiting))?.attempt) > 1 ? true : undefined,
      );
      assert.equal((await call(0, 'GET', `${MODERN}/${waiting}`)).body.status, 'queued');
      await store.conversations.releaseTurnLease(owner, id, turn);
      assert.equal((await waitForEnd(1, waiting)).status, 'completed');
      assert.deepEqual(await listItemRoles(id), ['user', 'assistant']);
    } finally {
      await store.close();
    }
  });

  for (const serviceIndex of [0, 1] as const)
    test(`are cancelled at once by ${serviceIndex === 0 ? 'the process that has them' : 'another process'}`, async () => {
      const id = await createConversation();
      const posted = await follow(
        0,
        'POST',
        MODERN,
        backgroundRequest({ input: HANGS, conversation: id, stream: true }),
      );
      const response = await waitUntil('the first delta', async () =>
        findIdAfterEvent(posted.getText(), 'response.output_text.delta'),
      );
      const other = await follow(1, 'GET', `${MODERN}/${response}?stream=true&starting_after=1`);
      assert.equal((await call(1, 'POST', MODERN, backgroundRequest({ input: 'Hi', conversation: id }))).status, 409);

      const { body } = await call(serviceIndex, 'POST', `${MODERN}/${response}/cancel`);
      assert.deepEqual([body.status, body.error, body['incomplete_details']], ['cancelled', null, null]);
      const whole = await posted.ended;
      const end = parseEvents(whole).at(-1);
      assert.deepEqual([end?.type, end?.response], ['response.incomplete', body]);
      assert.ok(whole.endsWith(await other.ended));
      for (const from of [0, 1] as const) {
        assert.deepEqual((await call(from, 'GET', `${MODERN}/${response}`)).body, body);
        assert.deepEqual((await call(from, 'POST', `${MODERN}/${response}/cancel`)).body, body);
        assert.equal((await call(from, 'GET', `${MODERN}/${response}?stream=true`)).text, whole);
      }
      await waitUntil('the conversation to be unlocked', async () => {
        const { status } = await call(1 - serviceIndex === 0 ? 0 : 1, 'POST', MODERN, {
          model: 'svc-plus',
          input: createScript('On.'),
          conversation: id,
        });
        return status === 200 ? true : undefined;
      });
      assert.deepEqual(await listItemRoles(id), ['user', 'assistant']);
      const refused = await call(0, 'POST', MODERN, backgroundRequest({ input: 'Hi', previous_response_id: response }));
      assert.deepEqual([refused.status, refused.body.error?.param], [400, 'previous_response_id']);
    });

  test('end their streams with an error event when they are deleted', async () => {
    const posted = await follow(0, 'POST', MODERN, backgroundRequest({ input: HANGS, stream: true }));
    const id = await waitUntil('the first delta', async () =>
      findIdAfterEvent(posted.getText(), 'response.output_text.delta'),
    );
    assert.equal((await call(1, 'DELETE', `${MODERN}/${id}`)).status, 200);
    const last = parseEvents(await posted.ended).at(-1);
    assert.deepEqual([last?.type, last?.['code']], ['error', 'not_found']);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '?stream=true'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const)
      assert.equal((await call(0, method, `${MODERN}/${id}${path}`)).status, 404);
  });

  test('keep their completed items when they fail, in the stream and when retrieved', async () => {
    const input = createScript('Easy.', '</think>', 'Half of ', { fail: 'engine-failed' });
    const { text } = await call(0, 'POST', MODERN, backgroundRequest({ input, stream: true, enable_thinking: true }));
    const events = parseEvents(text);
    const end = events.at(-1);
    assert.deepEqual([end?.type, end?.response?.error?.code], ['response.failed', 'internal_error']);
    const id = end?.response?.id ?? '';
    const stored = (await call(1, 'GET', `${MODERN}/${id}`)).body;
    assert.deepEqual(stored, end?.response);
    assert.deepEqual(
      stored.output.map((item) => Reflect.get(item, 'type')),
      ['reasoning'],
    );
    const plain = await create(1, { input: createScript({ fail: 'engine-failed' }) });
    const { status, error, output } = await waitForEnd(0, plain.id);
    assert.deepEqual([status, error?.code, output], ['failed', 'internal_error', []]);
    const long = await create(1, { input: 'word '.repeat(40_000) });
    assert.equal((await waitForEnd(0, long.id)).error?.code, 'invalid_parameter_error');
  });

  test('are incomplete at their token limit', async () => {
    const { id } = await create(0, { input: createScript('a ', 'b ', 'c '), max_output_tokens: 2 });
    const done = await waitForEnd(1, id);
    assert.deepEqual([done.status, done['incomplete_details']], ['incomplete', { reason: 'max_output_tokens' }]);
  });

  test('are refused at once for the same reasons as live ones', async () => {
    const { id: unfinished } = await create(0, { input: HANGS });
    for (const path of [MODERN, OLD]) {
      for (const [fields, status, param] of [
        [{ model: 'svc-none' }, 404, 'model'],
        [{ temperature: 7 }, 400, 'temperature'],
        [{ store: false }, 400, 'store'],
        [{ conversation: 'conv_none' }, 404, null],
        [{ previous_response_id: 'resp_none' }, 404, null],
        [{ previous_response_id: unfinished }, 400, 'previous_response_id'],
        [{ input: [{ type: 'function_call_output', call_id: 'c', output: '' }] }, 400, 'input[0].call_id'],
      ] as const) {
        for (const stream of [false, true]) {
          const refused = await call(0, 'POST', path, backgroundRequest({ input: 'Hi', stream, ...fields }));
          assert.deepEqual([refused.status, refused.body.error?.param], [status, param], refused.text);
        }
      }
      const live = await call(0, 'POST', path, { model: 'svc-plus', input: 'Hi', previous_response_id: unfinished });
      assert.equal(live.status, 400);
      assert.equal(
        (await call(0, 'GET', `${path}/${unfinished}?stream=true`)).body.error?.code,
        'unsupported_operation',
      );
      assert.equal(
        (await call(0, 'GET', `${path}/${unfinished}?starting_after=x`)).body.error?.param,
        'starting_after',
      );
    }
    await call(1, 'POST', `${MODERN}/${unfinished}/cancel`);
  });
});
