import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { systemIds } from '../core/id.ts';
import { TURN_LEASE_MS } from '../core/limits.ts';
import { systemClock } from '../lib/clock.ts';
import { createSseParser } from '../lib/sse.ts';
import { tellChange } from '../protocols/compatible/responses/tell-change.ts';
import { createJobBell } from '../resources/jobs/job-bell.ts';
import { createBackgroundResponses } from '../resources/responses/background-service.ts';
import { createRunBell } from '../resources/responses/run-bell.ts';
import { sqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore } from '../store/store.ts';
import { createService } from './service.ts';
import type { Service } from './service.ts';

// Responses that nobody waits for, on the bytes of two whole services that share a database.

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
/** The machine may be busy. */
const PATIENCE_MS = 20_000;

const says = (...steps: readonly unknown[]): string => `script:${JSON.stringify(steps)}`;
const HANGS = says('One ', { hang: true });
const SLOW = says('One ', { delayMs: 250 }, 'two ', { delayMs: 250 }, 'three.');
const ENDS = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

const eventsOf = (text: string): Event[] =>
  createSseParser({ sizeMax: 1_000_000 })
    .push(text)
    .map(({ data }) => JSON.parse(data) as Event);

describe('responses in the background', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-background-'));
  const services: Service[] = [];
  const urls: string[] = [];
  let key = '';
  let keyId = '';

  before(async () => {
    const quiet = () => undefined;
    const log = { info: quiet, warn: quiet, error: quiet };
    const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off', PARLEY_PORT: '0' };
    // Sooner than in earnest, so that nobody waits for what one of them has to find out.
    const jobTiming = { renewMs: 100, lookMs: 100 };
    for (let at = 0; at < 2; at++) {
      const service = await createService(loadConfig({ env }).config, { log, jobTiming });
      services.push(service);
      urls.push((await service.listen())[0]?.url ?? assert.fail());
    }
    const made = await services[0]?.keys.create({
      region: 'cn-beijing',
      workspace: 'primary',
      name: '',
      expiresAt: undefined,
    });
    key = made?.secret ?? assert.fail();
    keyId = made?.record.id ?? assert.fail();
  });
  after(async () => {
    for (const service of services) await service.close();
    rmSync(folder, { recursive: true });
  });

  const send = (at: 0 | 1, method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> =>
    fetch(`${urls[at]}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  const ask = async (...args: Parameters<typeof send>): Promise<{ status: number; body: Body; text: string }> => {
    const response = await send(...args);
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Body };
  };
  const asked = (fields: Fields): Fields => ({ model: 'svc-plus', background: true, ...fields });
  const create = async (at: 0 | 1, fields: Fields): Promise<Body> => {
    const { status, body, text } = await ask(at, 'POST', MODERN, asked(fields));
    assert.equal(status, 200, text);
    return body;
  };
  const until = async <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end;) {
      const seen = await look();
      if (seen !== undefined) return seen;
      await turnOfOthers();
    }
    return assert.fail(`not within ${PATIENCE_MS} ms: ${what}`);
  };
  const ended = (at: 0 | 1, id: string): Promise<Body> =>
    until(id, async () => {
      const { body } = await ask(at, 'GET', `${MODERN}/${id}`);
      return ENDS.has(body.status) ? body : undefined;
    });
  /** Reads a stream until it has so many events, and leaves. */
  const readSome = async (at: 0 | 1, count: number, method: string, path: string, body?: unknown): Promise<string> => {
    const leave = new AbortController();
    const response = await send(at, method, path, body, leave.signal);
    assert.equal(response.status, 200);
    let text = '';
    try {
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        if (text.split('\n\n').length > count) leave.abort();
      }
    } catch (error) {
      if (!leave.signal.aborted) throw error;
    }
    return text
      .split('\n\n')
      .slice(0, count)
      .map((frame) => `${frame}\n\n`)
      .join('');
  };
  /** Reads a stream while the test goes on. */
  const follow = async (...args: Parameters<typeof send>) => {
    const response = await send(...args);
    assert.equal(response.status, 200);
    let text = '';
    const ended = (async () => {
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
      return text;
    })();
    return { soFar: () => text, ended };
  };
  /** Of the response, once such an event was told. */
  const idOnce = (text: string, type: string): string | undefined => {
    const events = eventsOf(text);
    return events.some((event) => event.type === type) ? events[0]?.response?.id : undefined;
  };
  const conversation = async (): Promise<string> => (await ask(0, 'POST', '/v1/conversations', {})).body.id;
  const itemsIn = async (id: string): Promise<readonly string[]> =>
    (await ask(1, 'GET', `/v1/conversations/${id}/items?order=asc`)).body.data.map(({ role }) => role);

  for (const path of [MODERN, OLD])
    test(`are told at once as queued, and in the end as live ones: ${path}`, async () => {
      const id = await conversation();
      const { body: queued } = await ask(0, 'POST', path, asked({ input: says('Hello ', 'there.'), conversation: id }));
      const told = [queued.status, queued.output, queued['background'], queued['completed_at'], queued['usage']];
      assert.deepEqual(told, ['queued', [], true, null, null]);
      const done = await ended(1, queued.id);
      assert.deepEqual(
        [done.status, done['created_at'], done['background']],
        ['completed', queued['created_at'], true],
      );
      assert.deepEqual(Object.keys(done), Object.keys(queued));
      assert.equal(done.output[0]?.content[0]?.text, 'Hello there.');
      assert.equal((await ask(1, 'GET', `${path}/${queued.id}/input_items`)).body.data.length, 1);
      assert.deepEqual(await itemsIn(id), ['user', 'assistant']);
      const next = await create(1, { input: says('On.'), previous_response_id: queued.id });
      assert.equal((await ended(0, next.id)).status, 'completed');
      assert.equal((await ask(1, 'POST', `${path}/${queued.id}/cancel`)).body.status, 'completed');
    });

  test('are streamed from anywhere, broken off anywhere, byte by byte the same', async () => {
    for (const count of [1, 3, 6]) {
      const first = await readSome(0, count, 'POST', MODERN, asked({ input: SLOW, stream: true }));
      const events = eventsOf(first);
      const id = events[0]?.response?.id ?? assert.fail(first);
      const last = events.at(-1)?.sequence_number;
      const [rest, whole] = await Promise.all([
        ask(1, 'GET', `${MODERN}/${id}?stream=true&starting_after=${last}`),
        ask(0, 'GET', `${OLD}/${id}?stream=true`),
      ]);
      assert.equal(first + rest.text, whole.text);
      assert.equal((await ask(1, 'GET', `${MODERN}/${id}?stream=true`)).text, whole.text);
      const told = eventsOf(whole.text);
      assert.deepEqual(
        told.map(({ sequence_number: number }) => number),
        told.map((_, index) => index),
      );
      assert.deepEqual(
        told.slice(0, 3).map(({ type, response }) => [type, response?.status]),
        [
          ['response.created', 'queued'],
          ['response.queued', 'queued'],
          ['response.in_progress', 'in_progress'],
        ],
      );
      assert.equal(told.at(-1)?.type, 'response.completed');
      assert.deepEqual(told.at(-1)?.response, await ended(1, id));
      const beyond = await ask(1, 'GET', `${MODERN}/${id}?stream=true&starting_after=${told.length + 5}`);
      assert.deepEqual([beyond.status, beyond.text], [200, '']);
    }
  });

  test('wait for their conversation where it was taken after they were asked for', async () => {
    const store = await openStore({ dialect: sqliteDialect({ file: join(folder, 'parley.db') }) });
    try {
      const owner = { region: 'cn-beijing', workspace: 'primary', keyId } as const;
      const id = await conversation();
      const [waiting, turn] = ['resp_waiting', 'resp_other'];
      const now = Date.now();
      assert.ok(await store.conversations.takeTurn(owner, id, { turn, until: now + 2 * TURN_LEASE_MS, now }));
      const unused = { bell: createRunBell(), jobBell: createJobBell() };
      const needs = { store, clock: systemClock, ids: systemIds, tellChange };
      const background = createBackgroundResponses({ ...needs, ...unused });
      const body = JSON.stringify(asked({ input: says('Hello.'), conversation: id }));
      await background.enqueue(owner, { id: waiting, conversation: id, body, json: '{"status":"queued"}' });
      await until('it was tried more than once', async () =>
        Number((await store.jobs.findBySubject('response', waiting))?.attempt) > 1 ? true : undefined,
      );
      assert.equal((await ask(0, 'GET', `${MODERN}/${waiting}`)).body.status, 'queued');
      await store.conversations.releaseTurn(owner, id, turn);
      assert.equal((await ended(1, waiting)).status, 'completed');
      assert.deepEqual(await itemsIn(id), ['user', 'assistant']);
    } finally {
      await store.close();
    }
  });

  for (const at of [0, 1] as const)
    test(`are cancelled at once by ${at === 0 ? 'the process that has them' : 'another process'}`, async () => {
      const id = await conversation();
      const posted = await follow(0, 'POST', MODERN, asked({ input: HANGS, conversation: id, stream: true }));
      const response = await until('its first delta', async () => idOnce(posted.soFar(), 'response.output_text.delta'));
      const other = await follow(1, 'GET', `${MODERN}/${response}?stream=true&starting_after=1`);
      assert.equal((await ask(1, 'POST', MODERN, asked({ input: 'Hi', conversation: id }))).status, 409);

      const { body } = await ask(at, 'POST', `${MODERN}/${response}/cancel`);
      assert.deepEqual([body.status, body.error, body['incomplete_details']], ['cancelled', null, null]);
      const whole = await posted.ended;
      const end = eventsOf(whole).at(-1);
      assert.deepEqual([end?.type, end?.response], ['response.incomplete', body]);
      assert.ok(whole.endsWith(await other.ended));
      for (const from of [0, 1] as const) {
        assert.deepEqual((await ask(from, 'GET', `${MODERN}/${response}`)).body, body);
        assert.deepEqual((await ask(from, 'POST', `${MODERN}/${response}/cancel`)).body, body);
        assert.equal((await ask(from, 'GET', `${MODERN}/${response}?stream=true`)).text, whole);
      }
      await until('the conversation is free', async () => {
        const { status } = await ask(1 - at === 0 ? 0 : 1, 'POST', MODERN, {
          model: 'svc-plus',
          input: says('On.'),
          conversation: id,
        });
        return status === 200 ? true : undefined;
      });
      assert.deepEqual(await itemsIn(id), ['user', 'assistant']);
      const refused = await ask(0, 'POST', MODERN, asked({ input: 'Hi', previous_response_id: response }));
      assert.deepEqual([refused.status, refused.body.error?.param], [400, 'previous_response_id']);
    });

  test('go with what was made of them when they are deleted, and their readers hear of it', async () => {
    const posted = await follow(0, 'POST', MODERN, asked({ input: HANGS, stream: true }));
    const id = await until('its first delta', async () => idOnce(posted.soFar(), 'response.output_text.delta'));
    assert.equal((await ask(1, 'DELETE', `${MODERN}/${id}`)).status, 200);
    const last = eventsOf(await posted.ended).at(-1);
    assert.deepEqual([last?.type, last?.['code']], ['error', 'not_found']);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '?stream=true'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const)
      assert.equal((await ask(0, method, `${MODERN}/${id}${path}`)).status, 404);
  });

  test('fail with the items that were complete, and say so whoever asks', async () => {
    const input = says('Easy.', '</think>', 'Half of ', { fail: 'engine-failed' });
    const { text } = await ask(0, 'POST', MODERN, asked({ input, stream: true, enable_thinking: true }));
    const events = eventsOf(text);
    const end = events.at(-1);
    assert.deepEqual([end?.type, end?.response?.error?.code], ['response.failed', 'internal_error']);
    const id = end?.response?.id ?? '';
    const told = (await ask(1, 'GET', `${MODERN}/${id}`)).body;
    assert.deepEqual(told, end?.response);
    assert.deepEqual(
      told.output.map((item) => Reflect.get(item, 'type')),
      ['reasoning'],
    );
    const plain = await create(1, { input: says({ fail: 'engine-failed' }) });
    const { status, error, output } = await ended(0, plain.id);
    assert.deepEqual([status, error?.code, output], ['failed', 'internal_error', []]);
    const long = await create(1, { input: 'word '.repeat(20_000) });
    assert.equal((await ended(0, long.id)).error?.code, 'invalid_parameter_error');
  });

  test('are incomplete at their limit', async () => {
    const { id } = await create(0, { input: says('a ', 'b ', 'c '), max_output_tokens: 2 });
    const done = await ended(1, id);
    assert.deepEqual([done.status, done['incomplete_details']], ['incomplete', { reason: 'max_output_tokens' }]);
  });

  test('are refused at once for whatever a live one is', async () => {
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
          const refused = await ask(0, 'POST', path, asked({ input: 'Hi', stream, ...fields }));
          assert.deepEqual([refused.status, refused.body.error?.param], [status, param], refused.text);
        }
      }
      const live = await ask(0, 'POST', path, { model: 'svc-plus', input: 'Hi', previous_response_id: unfinished });
      assert.equal(live.status, 400);
      assert.equal(
        (await ask(0, 'GET', `${path}/${unfinished}?stream=true`)).body.error?.code,
        'unsupported_operation',
      );
      assert.equal((await ask(0, 'GET', `${path}/${unfinished}?starting_after=x`)).body.error?.param, 'starting_after');
    }
    await ask(1, 'POST', `${MODERN}/${unfinished}/cancel`);
  });
});
