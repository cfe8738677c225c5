import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { ERROR_KINDS } from '../core/error.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';

// Tests of the messages interface over HTTP, with its client pitfalls (docs/wire/clients.md#client-pitfalls).

const ROOT = '/apps/anthropic/v1';
const CREATE = `${ROOT}/messages`;
const COUNT = `${ROOT}/messages/count_tokens`;
const MODELS = `${ROOT}/models`;

type Fields = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string>>;

interface Body {
  readonly type?: string;
  readonly error?: { readonly type: string; readonly message: string };
  readonly request_id?: string;
  readonly input_tokens?: number;
  readonly content?: readonly Fields[];
  readonly stop_reason?: string;
  readonly usage?: Readonly<Record<string, number>>;
  readonly data?: readonly { readonly id: string; readonly type: string; readonly created_at: string }[];
  readonly has_more?: boolean;
  readonly first_id?: string | null;
  readonly last_id?: string | null;
  readonly id?: string;
}

const script = (...steps: readonly unknown[]) => `script:${JSON.stringify(steps)}`;
const createRequest = (steps: readonly unknown[], fields: Fields = {}): Fields => ({
  model: 'svc-plus',
  max_tokens: 64,
  messages: [{ role: 'user', content: script(...steps) }],
  ...fields,
});

const TOOL = { name: 'f', description: 'Does it.', input_schema: { type: 'object', properties: {} } };
const THINKING_ON = { thinking: { type: 'enabled', budget_tokens: 16 } };
const TOOL_TURN = [
  { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: [1, 'two'] } }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Done and done.' }] },
];
const GREETING = { role: 'user', content: 'Hi there' };
const THOUGHT = { type: 'thinking', thinking: 'It is a greeting.', signature: 's' };

describe('the messages interface', () => {
  const env = { PARLEY_ENGINE_SEQUENCES: '8', PARLEY_ENGINE_CONTEXT_TOKENS: '500' };
  const { getUrl, getSecret } = registerTestService({ env });
  let key = '';
  before(async () => {
    key = await getSecret();
  });

  const call = (method: string, path: string, body?: unknown, headers: Headers = { 'x-api-key': key }) =>
    fetch(getUrl() + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const readBody = async (answer: Promise<Response>): Promise<Body> => (await (await answer).json()) as Body;
  const readError = async (answer: Promise<Response>) => ({
    status: (await answer).status,
    ...(await readBody(answer)),
  });
  const readSuccess = async (answer: Promise<Response>): Promise<Body> => {
    const response = await answer;
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text) as Body;
  };

  for (const [name, headers] of Object.entries<() => Headers>({
    'x-api-key': () => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    'a bearer': () => ({ authorization: `bearer ${key}`, 'anthropic-version': 'of tomorrow', 'anthropic-beta': 'a,b' }),
    both: () => ({ authorization: `Bearer ${key}`, 'x-api-key': key }),
  })) {
    test(`takes the key as ${name}, any version and any beta`, async () => {
      const response = await call('POST', `${CREATE}?beta=true`, createRequest(['Hel', 'lo']), headers());
      const { id, content, usage, stop_reason: reason } = (await response.json()) as Body;
      assert.deepEqual(content, [{ type: 'text', text: 'Hello' }]);
      assert.equal(reason, 'end_turn');
      assert.ok((usage?.['input_tokens'] ?? 0) > 0 && usage?.['output_tokens'] === 2);
      const requestId = response.headers.get('request-id');
      assert.equal(id, `msg_${requestId}`);
      assert.equal(response.headers.get('x-request-id'), requestId);
    });
  }

  test('answers below /v1 too, in its own format and with its own credentials', async () => {
    const { content } = await readSuccess(call('POST', '/v1/messages', createRequest(['Hel', 'lo'])));
    assert.deepEqual(content, [{ type: 'text', text: 'Hello' }]);
    const { input_tokens: tokens } = await readSuccess(
      call('POST', '/v1/messages/count_tokens', { model: 'svc-plus', messages: [GREETING] }),
    );
    assert.ok(Number(tokens) > 0);
    const unknown = await readError(call('POST', '/v1/messages/nothing', {}));
    assert.deepEqual([unknown.status, unknown.type], [404, 'error']);
  });

  for (const [path, expected] of [
    ['/apps/anthropic/v1/v1/messages', '/apps/anthropic/v1/messages'],
    ['/apps/anthropic/messages', '/apps/anthropic/v1/messages'],
    ['/messages', '/v1/messages'],
  ])
    test(`names the path that works for ${path}`, async () => {
      const response = await call('POST', path ?? '', {});
      assert.equal(response.status, 404);
      assert.ok((await response.text()).includes(`Did you mean POST ${expected}?`));
    });

  test('answers errors in the Anthropic format with their status, also for streams', async () => {
    const stream = { stream: true };
    const refusals = await Promise.all([
      ...ERROR_KINDS.map((kind) => call('POST', CREATE, createRequest([{ fail: kind }], stream))),
      ...['{', '[]', '', '{"model":"svc-plus"}'].map((body) => call('POST', CREATE, body)),
      call('POST', COUNT, '{}'),
      call('POST', CREATE, createRequest([], { model: 'nix', ...stream })),
      call('POST', CREATE, createRequest([], stream), { 'x-api-key': 'sk-wrong' }),
      call('POST', CREATE, createRequest([], stream), {}),
      call('POST', CREATE, createRequest([], stream), { 'x-api-key': key, authorization: 'Bearer sk-other' }),
      call('POST', CREATE, createRequest([], stream), { 'x-api-key': key, 'x-dashscope-workspace': 'other' }),
      call('POST', '/apps/anthropic/api/event_logging/batch', {}),
      call('GET', CREATE),
      call('GET', `${MODELS}/nix`),
    ]);
    for (const response of refusals) {
      const text = await response.text();
      assert.ok(response.status >= 400 && response.status < 600, text);
      assert.equal(response.headers.get('content-type'), 'application/json', text);
      const { type, error, request_id: id } = JSON.parse(text) as Body;
      assert.equal(type, 'error', text);
      assert.equal(id, response.headers.get('request-id'));
      assert.ok(error?.message, text);
      assert.equal(error.type, ERROR_TYPES.get(response.status) ?? error.type, text);
    }
  });

  for (const [name, path, body, status, type, message] of [
    ['no such model', CREATE, createRequest([], { model: 'nix' }), 404, 'not_found_error', /nix/],
    [
      'a model of another interface',
      CREATE,
      createRequest([], { model: 'svc-embed' }),
      404,
      'not_found_error',
      /svc-embed/,
    ],
    [
      'no max_tokens',
      CREATE,
      createRequest([], { max_tokens: undefined }),
      400,
      'invalid_request_error',
      /^max_tokens: Field required/,
    ],
    [
      'an image',
      CREATE,
      createRequest([], {
        messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://x' } }] }],
      }),
      400,
      'invalid_request_error',
      /accepts text only/,
    ],
    [
      'a prompt that is too long',
      CREATE,
      createRequest([], { messages: [{ role: 'user', content: 'x '.repeat(600) }] }),
      400,
      'invalid_request_error',
      /^prompt is too long: \d+ tokens > 499 maximum\./,
    ],
    ['no such model to count for', COUNT, { model: 'nix', messages: [GREETING] }, 404, 'not_found_error', /nix/],
    ['a full queue', CREATE, createRequest([{ fail: 'overloaded' }]), 503, 'overloaded_error', /./],
    ['a quota of tokens', CREATE, createRequest([{ fail: 'token-quota' }]), 429, 'billing_error', /./],
    [
      'more than a body may hold',
      CREATE,
      createRequest([], { metadata: { user_id: 'x'.repeat(21_000_000) } }),
      413,
      'request_too_large',
      /./,
    ],
  ] as const) {
    test(`refuses ${name} with ${status} ${type}`, async () => {
      const response = await call('POST', path, body);
      const { error } = (await response.json()) as Body;
      assert.deepEqual([response.status, error?.type], [status, type], error?.message);
      assert.match(error?.message ?? '', message);
    });
  }

  test('names ignored parameters', async () => {
    const response = await call(
      'POST',
      CREATE,
      createRequest(['Hi'], { container: 'c', colour: 'red', max_tokens: 9999 }),
    );
    const names = (response.headers.get('x-parley-ignored') ?? '').split(',').map(decodeURIComponent);
    assert.deepEqual(names, ['max_tokens(clamped)', 'container', 'colour']);
  });

  test('rows 31, 32, 33: names each event, begins with message_start, and splits tool input into JSON pieces', async () => {
    const steps = ['<tool_call>\n{"name": "f", "arg', 'uments": {"a": [1, "tw', 'o"]}}\n</tool_call>'];
    const text = await (await call('POST', CREATE, createRequest(steps, { stream: true, tools: [TOOL] }))).text();
    const frames = text.split('\n\n').slice(0, -1);
    const events = frames.map((frame) => {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? assert.fail(frame);
      const event = JSON.parse(data ?? '') as Fields & { readonly delta?: Fields; readonly usage?: Fields };
      assert.equal(event['type'], name);
      return event;
    });
    assert.equal(events[0]?.['type'], 'message_start');
    assert.equal(events.at(-1)?.['type'], 'message_stop');
    assert.equal(typeof events.find(({ type }) => type === 'message_delta')?.usage?.['output_tokens'], 'number');
    const pieces = events
      .map(({ delta }) => (typeof delta?.['partial_json'] === 'string' ? delta['partial_json'] : ''))
      .join('');
    assert.deepEqual(JSON.parse(pieces), { a: [1, 'two'] });
    assert.doesNotMatch(text, /DONE/);
  });

  for (const [name, fields] of Object.entries<Fields>({
    'a word': { messages: [GREETING] },
    'a system prompt in blocks': {
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: ' Be kind.' },
      ],
    },
    tools: { tools: [TOOL, { ...TOOL, name: 'g' }] },
    'tools that must be used': { tools: [TOOL], tool_choice: { type: 'any' } },
    'tools that must not': { tools: [TOOL], tool_choice: { type: 'none' } },
    thinking: { ...THINKING_ON },
    'thinking with tools': { ...THINKING_ON, tools: [TOOL] },
    'earlier thoughts': {
      ...THINKING_ON,
      messages: [GREETING, { role: 'assistant', content: [THOUGHT, { type: 'text', text: 'Hi' }] }, GREETING],
    },
    'calls and their results': { tools: [TOOL], messages: [GREETING, ...TOOL_TURN] },
    'the beginning of the answer': { messages: [GREETING, { role: 'assistant', content: 'Well, I' }] },
    'a format': { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    'a mark for the cache': { cache_control: { type: 'ephemeral' } },
    'what it does not honour': { container: 'c', tools: [TOOL, { type: 'bash_20250124', name: 'bash' }] },
  })) {
    test(`counts the same input tokens as a generation with ${name}`, async () => {
      const body = { model: 'svc-plus', messages: [GREETING], ...fields };
      const count = await readSuccess(call('POST', COUNT, body));
      const { usage = {} } = await readSuccess(call('POST', CREATE, { ...body, max_tokens: 4 }));
      assert.deepEqual(count, {
        input_tokens:
          (usage['input_tokens'] ?? 0) +
          (usage['cache_read_input_tokens'] ?? 0) +
          (usage['cache_creation_input_tokens'] ?? 0),
      });
    });
  }

  test('counts with ignored parameters, and names them', async () => {
    const response = await call('POST', COUNT, {
      model: 'svc-plus',
      messages: [GREETING],
      container: 'c',
      colour: 'red',
    });
    assert.equal(response.headers.get('x-parley-ignored'), 'container,colour');
  });

  test('counts a complete generation request without naming its output parameters', async () => {
    const body = createRequest([], {
      stream: true,
      temperature: 0.5,
      top_p: 1,
      top_k: 3,
      stop_sequences: ['x'],
      metadata: {},
    });
    const response = await call('POST', COUNT, { ...body, service_tier: 'auto' });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-parley-ignored'), null);
  });

  test('refuses to count what a generation would refuse', async () => {
    const body = { model: 'svc-plus', messages: [GREETING], tool_choice: { type: 'any' } };
    const { status, error } = await readError(call('POST', COUNT, body));
    assert.deepEqual([status, error?.type], [400, 'invalid_request_error']);
  });

  test('answers 404 for other paths, also to HEAD', async () => {
    for (const path of ['/apps/anthropic/api/event_logging/batch', '/apps/anthropic/v1/nothing']) {
      const { status, error } = await readError(call('POST', path, {}));
      assert.deepEqual([status, error?.type], [404, 'not_found_error'], path);
      const head = await call('HEAD', path);
      assert.deepEqual([head.status, await head.text()], [404, ''], path);
      assert.ok(head.headers.get('request-id'), path);
    }
  });

  test('treats empty cursors of the model list as absent', async () => {
    assert.deepEqual(
      await readSuccess(call('GET', `${MODELS}?after_id=&before_id=`)),
      await readSuccess(call('GET', MODELS)),
    );
  });

  test('pages the model list in both directions', async () => {
    const all = await readSuccess(call('GET', MODELS));
    const ids = (all.data ?? []).map(({ id }) => id);
    assert.ok(ids.includes('svc-plus') && !ids.includes('svc-embed'), ids.join());
    assert.deepEqual([all.has_more, all.first_id, all.last_id], [false, ids[0], ids.at(-1)]);
    for (const { type, created_at: created } of all.data ?? [])
      assert.ok(type === 'model' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(created));

    const forward: string[] = [];
    for (let after: string | null | undefined = undefined; ;) {
      const page: Body = await readSuccess(call('GET', `${MODELS}?limit=2${after ? `&after_id=${after}` : ''}`));
      forward.push(...(page.data ?? []).map(({ id }) => id));
      after = page.last_id;
      if (!page.has_more) break;
    }
    assert.deepEqual(forward, ids);
    const back = await readSuccess(call('GET', `${MODELS}?limit=1&before_id=${ids.at(-1)}`));
    assert.deepEqual([back.data?.[0]?.id, back.has_more], [ids.at(-2), ids.length > 2]);
    const none = await readSuccess(call('GET', `${MODELS}?after_id=${ids.at(-1)}`));
    assert.deepEqual(none, { data: [], has_more: false, first_id: null, last_id: null });
  });

  test('returns one model, also by an alias', async () => {
    assert.equal((await readSuccess(call('GET', `${MODELS}/svc-plus`))).id, 'svc-plus');
    assert.equal((await readSuccess(call('GET', `${MODELS}/qwen-plus`))).id, 'qwen-plus');
    const stranger = await call('GET', `${MODELS}/svc-embed`);
    assert.equal(stranger.status, 404);
  });

  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=x',
    'after_id=nix',
    'before_id=nix',
    'after_id=svc-plus&before_id=svc-plus',
  ]) {
    test(`refuses a model list with ${query}`, async () => {
      const response = await call('GET', `${MODELS}?${query}`);
      assert.equal(response.status, 400);
      assert.equal((await readBody(Promise.resolve(response))).error?.type, 'invalid_request_error');
    });
  }
});

/** Error types by status (docs/wire/clients.md#dashscope-python-2); a token quota has its own type. */
const ERROR_TYPES = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [503, 'overloaded_error'],
]);
