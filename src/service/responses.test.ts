import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';
import type { RegionId } from '../core/region.ts';
import { createSseParser } from '../lib/sse.ts';
import { createFakeEngines } from './__fixtures__/fake-engines.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';

// Tests of the responses interface over HTTP, with a fake engine.

type Fields = Readonly<Record<string, unknown>>;

interface Body extends Fields {
  readonly id: string;
  readonly status: string;
  readonly output: readonly (Fields & { readonly type: string; readonly id: string; readonly call_id: string })[];
  readonly usage: Readonly<Record<string, number>>;
  readonly data: readonly (Fields & { readonly id: string; readonly type: string; readonly role: string })[];
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null } | null;
  readonly input_tokens: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
}

const CONTEXT_TOKENS = 200;
const MODERN = '/compatible-mode/v1/responses';
const OLD = '/api/v2/apps/protocols/compatible-mode/v1/responses';

const TOOL = {
  type: 'function',
  name: 'weather',
  description: 'Tells the weather.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};
const call = (city: string): string => `<tool_call>\n{"name":"weather","arguments":{"city":"${city}"}}\n</tool_call>`;
const user = (content: string): Fields => ({ role: 'user', content });
const words = (count: number, word: string): string => Array.from({ length: count }, () => word).join(' ');

describe('responses endpoints of the complete service', () => {
  const { engines, prompts, enqueue } = createFakeEngines({ contextTokens: CONTEXT_TOKENS });
  const { getUrl, getSecret } = registerTestService({
    config:
      'regions: {cn-beijing: {port: 0}, ap-southeast-1: {port: 0}, us-east-1: {port: 0}}\n' +
      "models: {only: {url: 'http://127.0.0.1:9/v1', interfaces: [responses]}}\n",
    engines,
  });
  let key = '';

  before(async () => {
    key = await getSecret();
  });
  beforeEach(() => {
    prompts.length = 0;
  });

  const fetchPath = (
    method: string,
    path: string,
    body?: unknown,
    { secret = key, region = 'cn-beijing', signal }: { secret?: string; region?: RegionId; signal?: AbortSignal } = {},
  ): Promise<Response> =>
    fetch(`${getUrl(region)}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  const send = async (...args: Parameters<typeof fetchPath>): Promise<Answer> => {
    const response = await fetchPath(...args);
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : {}) as Body,
    };
  };
  const postResponse = (fields: Fields, path = MODERN): Promise<Answer> =>
    send('POST', path, { model: 'svc-plus', ...fields });
  const createResponse = async (fields: Fields): Promise<Body> => {
    const { status, text, body } = await postResponse(fields);
    assert.equal(status, 200, text);
    return body;
  };
  const createConversation = async (fields: Fields = {}): Promise<string> =>
    (await send('POST', '/v1/conversations', fields)).body.id;
  const listItems = async (id: string): Promise<Body['data']> =>
    (await send('GET', `/v1/conversations/${id}/items?order=asc&limit=100`)).body.data;
  const parseEvents = (text: string): (Fields & { readonly type: string; readonly response: Body })[] =>
    createSseParser({ sizeMax: 1_000_000 })
      .push(text)
      .map(({ data }) => JSON.parse(data) as Fields & { readonly type: string; readonly response: Body });

  for (const linkedBy of ['a conversation', 'previous_response_id'] as const) {
    test(`replays three turns with calls exactly, by ${linkedBy}`, async () => {
      const id = linkedBy === 'a conversation' ? await createConversation() : undefined;
      let last: string | undefined;
      const turnItems: unknown[] = [];
      const runTurn = async (input: readonly unknown[], ...answer: readonly string[]): Promise<Body> => {
        enqueue(answer);
        const link = id === undefined ? { previous_response_id: last } : { conversation: id };
        const body = await createResponse({ ...link, input, tools: [TOOL], parallel_tool_calls: true });
        last = body.id;
        turnItems.push(...input, ...body.output);
        return body;
      };
      const first = await runTurn([user('Bern and Basel?')], 'I look. ', call('Bern'), call('Basel'));
      const [bern, basel] = first.output.filter(({ type }) => type === 'function_call');
      await runTurn(
        [
          { type: 'function_call_output', call_id: bern?.call_id, output: 'Rain' },
          { type: 'function_call_output', call_id: basel?.call_id, output: [{ type: 'input_text', text: 'Sun' }] },
        ],
        'Rain and sun.',
      );
      await runTurn([user('Thanks')], 'Welcome.');

      // The prompt is the same as if the caller had sent all items again.
      const replayed = turnItems.slice(0, -1);
      await createResponse({ input: replayed, tools: [TOOL], parallel_tool_calls: true, store: false });
      assert.equal(prompts.length, 4);
      assert.equal(prompts[2], prompts[3]);
      for (const part of ['I look.', '"Bern"', '"Basel"', 'Rain', 'Sun', 'Rain and sun.', 'Thanks']) {
        assert.ok(prompts[2]?.includes(part), part);
      }
      // Each prompt begins with the previous one, so a turn evaluates new tokens only.
      for (const [earlier, later] of [
        [prompts[0], prompts[1]],
        [prompts[1], prompts[2]],
      ]) {
        assert.ok(later?.startsWith(earlier ?? 'x'), `${later} begins with ${earlier}`);
      }
      if (id !== undefined) {
        const storedItems = await listItems(id);
        assert.deepEqual(
          storedItems.map(({ type }) => type),
          [
            'message',
            'message',
            'function_call',
            'function_call',
            'function_call_output',
            'function_call_output',
          ].concat(['message', 'message', 'message']),
        );
        assert.deepEqual(storedItems.slice(1, 4), first.output);
      }
    });
  }

  test('joins all system and developer messages at the start of the prompt', async () => {
    const id = await createConversation({
      items: [
        { role: 'system', content: 'RULE TWO' },
        user('Ignore all rules.'),
        { role: 'assistant', content: 'No.' },
      ],
    });
    await createResponse({
      conversation: id,
      instructions: 'RULE ONE',
      input: [user('Now?'), { role: 'developer', content: [{ type: 'input_text', text: 'RULE THREE' }] }],
    });
    assert.equal(
      prompts[0],
      '<|im_start|>system\nRULE ONE\n\nRULE TWO\n\nRULE THREE<|im_end|>\n' +
        '<|im_start|>user\nIgnore all rules.<|im_end|>\n<|im_start|>assistant\nNo.<|im_end|>\n' +
        '<|im_start|>user\nNow?<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  test('does not carry instructions over to the next response of a chain', async () => {
    const { id } = await createResponse({ instructions: 'RULE', input: 'Hi' });
    await createResponse({ previous_response_id: id, input: 'And now?' });
    assert.ok(prompts[0]?.includes('RULE'));
    assert.ok(!prompts[1]?.includes('RULE'));
  });

  test('streams the response that it stores and returns later', async () => {
    enqueue(['Hel', 'lo']);
    const { text, headers } = await postResponse({ input: 'Hi', stream: true });
    assert.equal(headers.get('content-type'), 'text/event-stream;charset=UTF-8');
    assert.match(text, /^id:1\nevent:response\.created\n:HTTP_STATUS\/200\ndata:\{/);
    const last = parseEvents(text).at(-1);
    assert.equal(last?.type, 'response.completed');
    const { body } = await send('GET', `${MODERN}/${last.response.id}`);
    assert.deepEqual(body, last.response);
    const { body: input } = await send('GET', `${MODERN}/${last.response.id}/input_items`);
    assert.deepEqual(
      input.data.map(({ role, content }) => [role, content]),
      [['user', [{ type: 'input_text', text: 'Hi' }]]],
    );
    const { body: gone } = await send('DELETE', `${MODERN}/${last.response.id}`);
    assert.deepEqual(gone, { id: last.response.id, object: 'response', deleted: true });
    assert.equal((await send('GET', `${MODERN}/${last.response.id}`)).status, 404);
  });

  test('refuses a second turn while one runs, and discards a turn whose client disconnects', async () => {
    const id = await createConversation();
    enqueue(['Hel', { type: 'hang' }]);
    const controller = new AbortController();
    const running = await fetchPath(
      'POST',
      MODERN,
      { model: 'svc-plus', conversation: { id }, input: 'Hi', stream: true },
      { signal: controller.signal },
    );
    const reader = running.body?.getReader() ?? assert.fail();
    const firstChunk = new TextDecoder().decode((await reader.read()).value);
    const [firstEvent] = parseEvents(firstChunk);

    const second = await postResponse({ conversation: id, input: 'Me too' });
    assert.equal(second.status, 409, second.text);
    assert.equal(second.body.error?.code, 'conversation_locked');
    assert.ok(second.headers.has('retry-after'));
    // Counting tokens needs no lock.
    assert.equal((await postResponse({ conversation: id, input: 'Me too' }, `${MODERN}/input_tokens`)).status, 200);

    controller.abort();
    await reader.closed.catch(() => undefined);
    let next = await postResponse({ conversation: id, input: 'Now' });
    for (let tries = 0; next.status === 409 && tries < 500; tries++) {
      await new Promise((resolve) => setImmediate(resolve));
      next = await postResponse({ conversation: id, input: 'Now' });
    }
    assert.equal(next.status, 200, next.text);
    assert.ok(!/Hi|Hel|Me too/.test(prompts.at(-1) ?? 'Hi'));
    assert.equal((await listItems(id)).length, 2);
    assert.equal((await send('GET', `${MODERN}/${firstEvent?.response.id}`)).status, 404);
  });

  test('reports a failed response, and stores nothing of it', async () => {
    const id = await createConversation();
    enqueue(['Hel', { type: 'fail', kind: 'engine-failed' }]);
    const { text, status } = await postResponse({ conversation: id, input: 'Hi', stream: true });
    assert.equal(status, 200);
    const events = parseEvents(text);
    const last = events.at(-1);
    assert.equal(last?.type, 'response.failed');
    assert.equal(last.response.status, 'failed');
    assert.equal(last.response.error?.code, 'internal_error');
    assert.equal(last.response.id, events[0]?.response.id);
    enqueue(['Hel', { type: 'fail', kind: 'engine-failed' }]);
    assert.equal((await postResponse({ conversation: id, input: 'Hi' })).status, 500);
    enqueue([{ type: 'fail', kind: 'overloaded' }]);
    assert.equal((await postResponse({ conversation: id, input: 'Hi', stream: true })).status, 503);
    assert.deepEqual(await listItems(id), []);
    assert.equal((await send('GET', `${MODERN}/${last.response.id}`)).status, 404);
  });

  test('stores a response as incomplete when it reaches its token limit', async () => {
    const id = await createConversation();
    enqueue(['one ', 'two ', 'three']);
    const body = await createResponse({ conversation: id, input: 'Count', max_output_tokens: 2 });
    assert.equal(body.status, 'incomplete');
    assert.deepEqual(body['incomplete_details'], { reason: 'max_output_tokens' });
    assert.equal(body.output[0]?.['status'], 'incomplete');
    assert.equal((await listItems(id)).length, 2);
    assert.deepEqual((await send('GET', `${MODERN}/${body.id}`)).body, body);
  });

  test('limits thinking and answer together by max_output_tokens', async () => {
    enqueue(['a ', 'b ', 'c ', 'd ', 'e ']);
    const body = await createResponse({ input: 'Count', max_output_tokens: 3, enable_thinking: true });
    assert.equal(body.status, 'incomplete');
    assert.equal(body.usage['output_tokens'], 3);
  });

  test('stores no response with store: false, but adds the turn to its conversation', async () => {
    const id = await createConversation();
    const body = await createResponse({ conversation: id, input: 'Hi', store: false });
    assert.equal(body['store'], false);
    assert.equal((await send('GET', `${MODERN}/${body.id}`)).status, 404);
    assert.equal((await postResponse({ previous_response_id: body.id, input: 'Hi' })).status, 404);
    assert.equal((await listItems(id)).length, 2);
  });

  test('continues from a previous response without new input', async () => {
    enqueue(['Hello']);
    const { id } = await createResponse({ input: 'Hi' });
    await createResponse({ previous_response_id: id });
    assert.match(prompts[1] ?? '', /user\nHi<\|im_end\|>\n<\|im_start\|>assistant\nHello/);
  });

  test('refuses a model without this interface', async () => {
    for (const path of [MODERN, `${MODERN}/input_tokens`]) {
      const { status, body } = await postResponse({ model: 'svc-mt-plus', input: 'Hi' }, path);
      assert.deepEqual([status, body.error?.code], [404, 'model_not_supported']);
    }
    assert.deepEqual(prompts, []);
  });

  test('lists a model that has this interface only', async () => {
    const { body } = await send('GET', '/v1/models');
    assert.ok(body.data.some(({ id }) => id === 'only'));
    const ready = await fetch(`${getUrl()}/ready`);
    const { models } = (await ready.json()) as { models: { model: string; state: string }[] };
    assert.equal(models.find(({ model }) => model === 'only')?.state, 'ready');
  });

  test('continues a conversation without new input, unless it is empty', async () => {
    const id = await createConversation({ items: [user('Hi')] });
    await createResponse({ conversation: id });
    assert.ok(prompts[0]?.endsWith('<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'));
    const empty = await postResponse({ conversation: await createConversation() });
    assert.deepEqual([empty.status, empty.body.error?.param], [400, 'input'], empty.text);
  });

  test('drops the oldest complete turns with truncation auto, and refuses without it', async () => {
    const items = [
      { role: 'developer', content: 'RULE' },
      user(`OLD ${words(60, 'a')}`),
      { role: 'assistant', content: 'ONE' },
      user('MIDDLE'),
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: words(60, 'b') },
      { role: 'assistant', content: 'TWO' },
      user('RECENT'),
      { role: 'assistant', content: words(30, 'c') },
    ];
    const id = await createConversation();
    const added = await send('POST', `/v1/conversations/${id}/items`, { items });
    assert.equal(added.status, 200, added.text);
    const input = `NEW ${words(50, 'd')}`;

    for (const fields of [{}, { truncation: 'disabled' }]) {
      const refused = await postResponse({ conversation: id, input, ...fields });
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.body.error?.message ?? '', /\[1, 199\].* 2\d\d tokens.* 200/);
      assert.equal(refused.body.error?.param, 'input');
    }
    prompts.length = 0;
    // Without the first turn the prompt fits and leaves an eighth of the context free.
    const { status, headers, text } = await postResponse({ conversation: id, input, truncation: 'auto' });
    assert.equal(status, 200, text);
    assert.equal(headers.get('x-parley-dropped-items'), '2');
    const lastPrompt = prompts.at(-1) ?? '';
    for (const part of ['RULE', 'MIDDLE', 'weather', 'TWO', 'RECENT', 'NEW'])
      assert.ok(lastPrompt.includes(part), part);
    for (const part of ['OLD', 'ONE']) assert.ok(!lastPrompt.includes(part), part);
    assert.equal((await listItems(id)).length, items.length + 2, 'dropped items stay in the conversation');

    // A call and its result stay together, and the new input is never dropped.
    const tight = await postResponse({ conversation: id, input, truncation: 'auto', max_output_tokens: 100 });
    assert.equal(tight.headers.get('x-parley-dropped-items'), '10', tight.text);
    assert.ok(prompts.at(-1)?.includes('RULE') && prompts.at(-1)?.includes('NEW'));
    assert.equal((await postResponse({ input: words(300, 'e'), truncation: 'auto' })).status, 400);
  });

  test('keeps a call whose result is in the new input', async () => {
    const id = await createConversation();
    const items = [
      user(words(100, 'a')),
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' },
      user(words(60, 'b')),
    ];
    await send('POST', `/v1/conversations/${id}/items`, { items });
    const input = [{ type: 'function_call_output', call_id: 'c1', output: words(60, 'c') }];
    const { status, body } = await postResponse({ conversation: id, input, truncation: 'auto' });
    assert.deepEqual([status, body.error?.param], [400, 'input']);
  });

  test('counts the same input tokens as the request uses, with its history', async () => {
    const { id } = await createResponse({ input: 'Hi there you' });
    const fields = { previous_response_id: id, instructions: 'Be brief.', input: 'And now?', tools: [TOOL] };
    const { body: counted } = await postResponse(fields, `${MODERN}/input_tokens`);
    assert.deepEqual(Object.keys(counted), ['object', 'input_tokens']);
    assert.equal((await createResponse(fields)).usage['input_tokens'], counted.input_tokens);
  });

  test('replaces an item reference by the item', async () => {
    enqueue(['Hello']);
    const { output } = await createResponse({ input: 'Hi' });
    const input = [user('Hi'), { type: 'item_reference', id: output[0]?.id }, { id: output[0]?.id }, user('Go on')];
    const body = await createResponse({ input });
    assert.equal(prompts[1]?.match(/assistant\nHello/g)?.length, 2);
    const { data } = (await send('GET', `${MODERN}/${body.id}/input_items?order=asc`)).body;
    assert.deepEqual(
      data.map(({ role }) => role),
      ['user', 'assistant', 'assistant', 'user'],
    );
    assert.equal(new Set([...data.map(({ id }) => id), output[0]?.id]).size, 5, 'each item has its own id');
    const foreign = await send(
      'POST',
      MODERN,
      { model: 'svc-plus', input },
      { secret: await getSecret({ workspace: 'team-7' }) },
    );
    assert.deepEqual([foreign.status, foreign.body.error?.param], [400, 'input[1].id']);
  });

  test('hides responses and conversations of other workspaces and regions', async () => {
    const { id } = await createResponse({ input: 'Hi' });
    const ownConversation = await createConversation();
    const others = [
      { secret: await getSecret({ workspace: 'team-7' }) },
      { secret: await getSecret({ region: 'ap-southeast-1' }), region: 'ap-southeast-1' as const },
    ];
    for (const other of others) {
      for (const [method, path, body] of [
        ['GET', `${MODERN}/${id}`],
        ['DELETE', `${MODERN}/${id}`],
        ['GET', `${MODERN}/${id}/input_items`],
        ['POST', `${MODERN}/${id}/cancel`],
        ['POST', MODERN, { model: 'svc-plus', input: 'Hi', previous_response_id: id }],
        ['POST', MODERN, { model: 'svc-plus', input: 'Hi', conversation: ownConversation }],
        ['POST', `${MODERN}/input_tokens`, { model: 'svc-plus', input: 'Hi', conversation: ownConversation }],
      ] as const) {
        const { status, body: responseBody } = await send(method, path, body, other);
        assert.equal(status, 404, `${method} ${path}`);
        assert.match(
          responseBody.error?.message ?? '',
          /^(Response|Conversation) with id '(resp|conv)_\w+' not found\.$/,
        );
      }
    }
    assert.equal((await send('GET', `${MODERN}/${id}`)).status, 200);
    const usSecret = await getSecret({ region: 'us-east-1' });
    const elsewhere = await send(
      'POST',
      MODERN,
      { model: 'svc-plus', input: 'Hi' },
      { secret: usSecret, region: 'us-east-1' },
    );
    assert.equal(elsewhere.status, 403);
  });

  test('answers alike on the short path and on the deprecated one, which links its successor', async () => {
    const { body } = await postResponse({ input: 'Hi' }, '/v1/responses');
    for (const [method, path, payload] of [
      ['POST', '', { model: 'svc-plus', input: 'Hi' }],
      ['POST', '/input_tokens', { model: 'svc-plus', input: 'Hi' }],
      ['GET', `/${body.id}`],
      ['GET', `/${body.id}/input_items?limit=1`],
      ['POST', `/${body.id}/cancel`],
      ['POST', '/compact', { model: 'svc-plus', input: [{ role: 'assistant', content: 'Hi' }] }],
      ['GET', '/resp_nix'],
      ['DELETE', `/${body.id}`],
    ] as const) {
      const old = await send(method, OLD + path, payload);
      assert.equal(old.headers.get('deprecation'), '@1767225600', 'seconds');
      assert.equal(old.headers.get('link'), `<${MODERN}${path}>; rel="successor-version"`);
      if (method === 'DELETE') break;
      const modern = await send(method, MODERN + path, payload);
      assert.equal(modern.headers.get('deprecation'), null);
      assert.equal(old.status, modern.status, path);
      assert.deepEqual(Object.keys(old.body), Object.keys(modern.body));
    }
    // The headers are also sent when the path lacks the method.
    const refused = await send('PUT', OLD, {});
    assert.deepEqual([refused.status, refused.headers.get('link')], [405, `<${MODERN}>; rel="successor-version"`]);
    assert.equal((await send('PUT', MODERN, {})).headers.get('deprecation'), null);
    assert.equal((await send('GET', `${MODERN}/${body.id}`)).status, 404, 'deleted on the old path');
  });

  test('names ignored parameters', async () => {
    const { headers } = await postResponse({
      input: [user('Hi'), { type: 'web_search_call', id: 'ws_1', status: 'completed' }],
      tools: [TOOL, { type: 'mcp', server_label: 'x' }, { type: 'image_generation' }],
      tool_choice: { type: 'mcp' },
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'none', summary: 'auto' },
      text: { verbosity: 'low' },
      max_output_tokens: 100_000,
      user: 'u',
      service_tier: 'auto',
      prompt_cache_key: 'p',
      unknown: 1,
    });
    assert.deepEqual(
      decodeURIComponent(headers.get('x-parley-ignored') ?? '')
        .split(',')
        .toSorted(),
      [
        'max_output_tokens(clamped)',
        'tools[1]',
        'tools[2]',
        'tool_choice',
        'text.verbosity',
        'include(reasoning.encrypted_content)',
        'input[1]',
        'unknown',
      ].toSorted(),
    );
  });

  test('lets reasoning.effort override enable_thinking', async () => {
    const kinds = async (fields: Fields): Promise<string[]> => {
      enqueue(['Hm.', '</think>', 'Yes.']);
      return (await createResponse({ input: 'Hi', ...fields })).output.map(({ type }) => type);
    };
    const on = ['reasoning', 'message'];
    assert.deepEqual(await kinds({ reasoning: { effort: 'low' }, enable_thinking: false }), on);
    assert.deepEqual(await kinds({ reasoning: { effort: 'none' }, enable_thinking: true }), ['message']);
    assert.deepEqual(await kinds({ reasoning: {}, enable_thinking: true }), on);
    assert.deepEqual(await kinds({}), ['message']);
  });

  test('repeats earlier thinking in the prompt only with preserve_thinking', async () => {
    enqueue(['Hm.', '</think>', 'Yes.']);
    const { id } = await createResponse({ input: 'Hi', enable_thinking: true });
    await createResponse({ previous_response_id: id, input: 'Why?', enable_thinking: true });
    await createResponse({ previous_response_id: id, input: 'Why?', enable_thinking: true, preserve_thinking: true });
    assert.deepEqual(
      prompts.map((prompt) => prompt.includes('Hm.')),
      [false, false, true],
    );
  });

  test('returns one call without parallel_tool_calls, and offers only the allowed tools', async () => {
    enqueue([call('Bern'), call('Basel')]);
    const one = await createResponse({ input: 'Hi', tools: [TOOL] });
    assert.deepEqual(
      one.output.map(({ type }) => type),
      ['function_call'],
    );
    const other = { ...TOOL, name: 'time' };
    const choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'time' }] };
    await createResponse({ input: 'Hi', tools: [TOOL, other], tool_choice: choice });
    assert.ok(prompts[1]?.includes('"time"') && !prompts[1].includes('"weather"'));
    await createResponse({ input: 'Hi', tools: [TOOL], tool_choice: 'none' });
    assert.ok(!prompts[2]?.includes('weather'));
  });

  const format = { type: 'json_schema', name: 'x', schema: { type: 'object' } };
  for (const [name, fields, param] of [
    ['no input', {}, 'input'],
    ['an empty string', { input: '' }, 'input'],
    ['an empty list', { input: [] }, 'input'],
    ['an input that is neither', { input: 7 }, 'input'],
    ['an item of no known type', { input: [{ type: 'mesage', role: 'user', content: '' }] }, 'input[0].type'],
    [
      'a file that is nowhere',
      { input: [{ role: 'user', content: [{ type: 'input_file' }] }] },
      'input[0].content[0].file_id',
    ],
    [
      'an image, for a model that takes none',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,' }] }] },
      'input[0].content[0].type',
    ],
    [
      'a result without its call',
      { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] },
      'input[0].call_id',
    ],
    [
      'both of conversation and previous',
      { input: 'Hi', conversation: 'c', previous_response_id: 'r' },
      'previous_response_id',
    ],
    ['background without store', { input: 'Hi', background: true, store: false }, 'store'],
    ['a prompt template', { input: 'Hi', prompt: { id: 'p' } }, 'prompt'],
    ['a temperature of 2', { input: 'Hi', temperature: 2 }, 'temperature'],
    ['a top_p of 0', { input: 'Hi', top_p: 0 }, 'top_p'],
    ['max_output_tokens of 0', { input: 'Hi', max_output_tokens: 0 }, 'max_output_tokens'],
    ['a metadata value that is no string', { input: 'Hi', metadata: { a: 1 } }, 'metadata.a'],
    [
      '17 pairs of metadata',
      { input: 'Hi', metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, ''])) },
      'metadata',
    ],
    ['a tool name with a blank', { input: 'Hi', tools: [{ ...TOOL, name: 'a b' }] }, 'tools[0].name'],
    ['two tools of one name', { input: 'Hi', tools: [{ type: 'web_search' }, TOOL, TOOL] }, 'tools[2].name'],
    ['a tool without a type', { input: 'Hi', tools: [{ name: 'f' }] }, 'tools[0].type'],
    [
      'a choice that is no tool',
      { input: 'Hi', tools: [TOOL], tool_choice: { type: 'function', name: 'nix' } },
      'tool_choice.name',
    ],
    ['a choice without tools', { input: 'Hi', tool_choice: 'required' }, 'tool_choice'],
    [
      'an allowed tool that is none',
      {
        input: 'Hi',
        tools: [TOOL],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'nix' }] },
      },
      'tool_choice.tools',
    ],
    [
      'a format without its name',
      { input: 'Hi', text: { format: { ...format, name: undefined } } },
      'text.format.name',
    ],
    ['json_object without the word', { input: 'Hi', text: { format: { type: 'json_object' } } }, 'text.format'],
    ['another truncation', { input: 'Hi', truncation: 'some' }, 'truncation'],
    ['another effort', { input: 'Hi', reasoning: { effort: 'much' } }, 'reasoning.effort'],
  ] as const) {
    test(`refuses ${name}, naming the field, streamed or not`, async () => {
      for (const stream of [false, true]) {
        const { status, body, text } = await postResponse({ ...fields, stream });
        assert.equal(status, 400, text);
        assert.equal(body.error?.param, param, text);
        assert.ok(body.error?.message);
        assert.ok(body['request_id']);
      }
      assert.deepEqual(prompts, []);
    });
  }

  test('accepts json_object when the history contains the word JSON', async () => {
    const id = await createConversation({ items: [user('Answer in JSON.')] });
    enqueue(['{}']);
    await createResponse({ conversation: id, input: 'Hi', text: { format: { type: 'json_object' } } });
  });

  test('refuses to stream or cancel a response that is not in the background', async () => {
    const { id } = await createResponse({ input: 'Hi' });
    assert.equal((await send('GET', `${MODERN}/${id}?stream=false`)).status, 200);
    for (const [method, path] of [
      ['GET', `${MODERN}/${id}?stream=true`],
      ['POST', `${MODERN}/${id}/cancel`],
    ] as const) {
      const { status, body } = await send(method, path);
      assert.equal(status, 400);
      assert.equal(body.error?.code, 'unsupported_operation');
    }
  });
});
