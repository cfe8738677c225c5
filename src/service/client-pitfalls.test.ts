import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { ERROR_KINDS } from '../core/error.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';
import { isRecord } from '../lib/is-record.ts';

// Tests of the pitfalls that break real clients (docs/wire/clients.md#client-pitfalls), row by row, on the bytes of the complete
// service: generation, embeddings, and everything that HTTP answers. Rows of other interfaces are tested beside those.

const CHAT = '/compatible-mode/v1/chat/completions';
const NATIVE = '/api/v1/services/aigc/text-generation/generation';
const PARTS = '/api/v1/services/aigc/multimodal-generation/generation';
const EMBEDDINGS = '/compatible-mode/v1/embeddings';

type Fields = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string>>;

interface ToolCallPiece {
  readonly index?: number;
  readonly id?: string;
  readonly type?: string;
  readonly function: { readonly name?: string; readonly arguments?: string };
}

interface ChatMessage {
  readonly role?: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly ToolCallPiece[] | null;
}

interface Choice {
  readonly index?: number;
  readonly delta?: ChatMessage;
  readonly message?: ChatMessage;
  readonly finish_reason?: string | null;
}

/** Body of both API families: the OpenAI-compatible one has choices at the top, the native one inside output. */
interface Body {
  readonly output?: { readonly text?: string; readonly choices?: readonly Choice[] } | null;
  readonly choices?: readonly Choice[];
  readonly data?: readonly { readonly embedding: unknown }[];
  readonly error?: unknown;
}

const TOOL = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } };
const TOOLS = { tools: [TOOL], parallel_tool_calls: true };
const ONE_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>';
const TWO_CALLS = [ONE_CALL, '\n', ONE_CALL.replace('Paris', 'Rome')];

const SSE_HEADERS: Headers = { 'x-dashscope-sse': 'enable' };
const MESSAGE = { result_format: 'message' };
/** Two pieces with a delay that is long enough for a cumulative stream to send two events. */
const PIECES = ['Hel', { delayMs: 110 }, 'lo'];
const BROKEN = ['Hel', { delayMs: 5 }, { fail: 'engine-failed' }];

const script = (...steps: readonly unknown[]) => `script:${JSON.stringify(steps)}`;
const user = (content: unknown) => [{ role: 'user', content }];

/** Returns the values of a field, including leading blanks, from lines that begin with its name. */
const getFields = (text: string, name: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1));

const parseEvents = (text: string): readonly Body[] =>
  getFields(text, 'data')
    .filter((line) => line.trim() !== '[DONE]')
    .map((line) => JSON.parse(line) as Body);

const getChoices = (text: string): readonly Choice[] =>
  parseEvents(text).flatMap(({ choices, output }) => choices ?? output?.choices ?? []);

const getToolCalls = (text: string): readonly ToolCallPiece[] =>
  getChoices(text).flatMap(({ delta, message }) => (delta ?? message)?.tool_calls ?? []);

describe('client pitfalls', () => {
  const { getUrl, getSecret } = registerTestService({ env: { PARLEY_ENGINE_SEQUENCES: '8' } });
  let key = '';
  before(async () => {
    key = await getSecret();
  });

  const post = (path: string, body: unknown, headers: Headers = {}, signal?: AbortSignal) =>
    fetch(getUrl() + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  const get = (path: string) => fetch(getUrl() + path, { headers: { authorization: `Bearer ${key}` } });

  const chat = (steps: readonly unknown[], fields: Fields = {}) =>
    post(CHAT, { model: 'svc-plus', messages: user(script(...steps)), ...fields });
  const native = (steps: readonly unknown[], parameters: Fields = {}, headers: Headers = {}) =>
    post(NATIVE, { model: 'svc-plus', input: { messages: user(script(...steps)) }, parameters }, headers);
  const parts = (steps: readonly unknown[], headers: Headers = {}) =>
    post(
      PARTS,
      { model: 'svc-plus', input: { messages: user([{ text: script(...steps) }]) }, parameters: {} },
      headers,
    );

  /** Reads the text of a successful response. */
  const readText = async (answer: Promise<Response>): Promise<string> => {
    const response = await answer;
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return text;
  };
  const readBody = async (answer: Promise<Response>): Promise<Body> => JSON.parse(await readText(answer)) as Body;
  const chatText = (steps: readonly unknown[], fields: Fields = {}) =>
    readText(chat(steps, { stream: true, ...fields }));
  const nativeText = (steps: readonly unknown[], parameters: Fields = {}) =>
    readText(native(steps, parameters, SSE_HEADERS));

  /** Returns all forms of a native answer in message format, for these steps. */
  const collectNativeForms = async (
    steps: readonly unknown[],
    parameters: Fields = MESSAGE,
  ): Promise<readonly Body[]> => [
    ...parseEvents(await nativeText(steps, parameters)),
    ...parseEvents(await nativeText(steps, { ...parameters, incremental_output: true })),
    await readBody(native(steps, parameters)),
  ];

  /** Collects refusals of one API family: by the engine for each error kind, by the HTTP layer, and by the endpoint. */
  const collectRefusals = async (path: string, prefix: string): Promise<readonly Response[]> => {
    const isNative = path === NATIVE;
    const headers = isNative ? SSE_HEADERS : {};
    const createRequest = (content: string): Fields =>
      isNative
        ? { model: 'svc-plus', input: { messages: user(content) } }
        : { model: 'svc-plus', messages: user(content), stream: true };
    const bodies = [
      ...ERROR_KINDS.map((kind) => createRequest(script({ fail: kind }))),
      { ...createRequest('Hi'), model: 'nix' },
    ];
    return Promise.all([
      ...bodies.map((body) => post(path, body, headers)),
      ...['{', '[]', '', '{"model":"svc-plus"}'].map((body) => post(path, body, headers)),
      post(path, createRequest('Hi'), { ...headers, authorization: 'Bearer sk-wrong' }),
      post(path, createRequest('Hi'), { ...headers, 'x-dashscope-workspace': 'other' }),
      post(`${prefix}/nowhere`, {}),
      get(path),
    ]);
  };

  for (const [family, path, prefix] of [
    ['native', NATIVE, '/api/v1'],
    ['compatible', CHAT, '/compatible-mode/v1'],
  ] as const) {
    test(`row 1: answers a ${family} refusal with an error status, also for a stream`, async () => {
      for (const answer of await collectRefusals(path, prefix)) {
        const text = await answer.text();
        assert.ok(answer.status >= 400 && answer.status < 600, `${answer.status} ${text}`);
        assert.equal(answer.headers.get('content-type'), 'application/json', text);
      }
    });
  }

  test('row 2: omits code and message on success', async () => {
    const input = { texts: ['a'] };
    const answers = await Promise.all([
      native(['Hi']),
      native(['Hi'], MESSAGE),
      parts(['Hi']),
      chat(['Hi']),
      post(EMBEDDINGS, { model: 'svc-embed', input: 'a' }),
      post('/api/v1/services/embeddings/text-embedding/text-embedding', { model: 'svc-embed', input }),
      post('/api/v1/tokenizer', { model: 'svc-plus', input: { prompt: 'Hi' } }),
      get('/api/v1/models'),
      get('/compatible-mode/v1/models'),
    ]);
    for (const answer of answers) {
      const text = await answer.text();
      assert.equal(answer.status, 200, `${answer.url} ${text}`);
      const { code = '', message = '' } = JSON.parse(text) as Fields;
      assert.deepEqual([code, message], ['', ''], answer.url);
    }
    for (const event of [...parseEvents(await nativeText(['Hi'])), ...parseEvents(await chatText(['Hi']))])
      assert.ok(!('code' in event) && !('message' in event));
  });

  test('row 4: answers a native refusal with three strings', async () => {
    for (const answer of await collectRefusals(NATIVE, '/api/v1')) {
      const text = await answer.text();
      const { code, message, request_id: id } = JSON.parse(text) as Fields;
      assert.deepEqual([typeof code, typeof message, typeof id], ['string', 'string', 'string'], text);
      assert.ok(code !== '' && message !== '' && id !== '', text);
    }
  });

  test('row 6: keeps output an object when the answer is empty', async () => {
    const bare = [...(await collectNativeForms([], {})), ...(await collectNativeForms([]))];
    for (const { output } of [
      ...bare,
      ...parseEvents(await readText(parts([], SSE_HEADERS))),
      await readBody(parts([])),
    ])
      assert.ok(isRecord(output));
  });

  test('row 7: sends the role in each message of each native event', async () => {
    const bodies = [
      ...(await collectNativeForms(PIECES)),
      ...(await collectNativeForms([])),
      ...(await collectNativeForms(['Hi'], { ...MESSAGE, n: 2 })),
      ...(await collectNativeForms(TWO_CALLS, { ...MESSAGE, ...TOOLS })),
      ...parseEvents(await readText(parts(PIECES, SSE_HEADERS))),
      await readBody(parts(PIECES)),
    ];
    for (const body of bodies) {
      const choices = body.output?.choices ?? [];
      assert.ok(choices.length > 0, JSON.stringify(body));
      for (const { message } of choices) assert.equal(message?.role, 'assistant', JSON.stringify(body));
    }
  });

  test('row 8: sends no blank before the name of a native event', async () => {
    assert.deepEqual(getFields(await nativeText(BROKEN), 'event'), ['result', 'error']);
  });

  test('row 9: encodes each event as one line of JSON, whatever line breaks the text has', async () => {
    const piece = 'a\nb\r\nc\rd\u000be\fg\n\ndata:x\n\nh';
    for (const text of [await nativeText([piece]), await nativeText([piece], MESSAGE), await chatText([piece])]) {
      assert.doesNotMatch(text, /[\r\v\f]/);
      const frames = text.split('\n\n').slice(0, -1);
      assert.ok(frames.length > 0);
      for (const frame of frames) assert.equal(getFields(frame, 'data').length, 1, frame);
      assert.ok(JSON.stringify(parseEvents(text)).includes(JSON.stringify(piece).slice(1, -1)));
    }
  });

  test('row 10: ends a native stream without [DONE]', async () => {
    for (const parameters of [{}, MESSAGE, { incremental_output: true }])
      assert.doesNotMatch(await nativeText(['Hi'], parameters), /DONE/);
    assert.doesNotMatch(await nativeText(BROKEN), /DONE/);
    assert.doesNotMatch(await readText(parts(['Hi'], SSE_HEADERS)), /DONE/);
  });

  test('row 11: sends code and message in the error event of a native stream', async () => {
    const lastEvent = JSON.parse(getFields(await nativeText(BROKEN), 'data').at(-1) ?? '') as Fields;
    assert.deepEqual([lastEvent['code'], typeof lastEvent['message']], ['InternalError', 'string']);
  });

  test('row 12: sends the content type of event streams', async () => {
    for (const answer of [
      chat(['Hi'], { stream: true }),
      native(['Hi'], {}, SSE_HEADERS),
      parts(['Hi'], SSE_HEADERS),
    ]) {
      const response = await answer;
      assert.equal(response.headers.get('content-type'), 'text/event-stream;charset=UTF-8');
      await response.text();
    }
  });

  test('row 13: repeats the whole answer in each native event, unless the request sets incremental_output', async () => {
    const getTexts = (text: string) => parseEvents(text).map(({ output }) => output?.text);
    const whole = getTexts(await nativeText(PIECES));
    assert.deepEqual([whole[0], whole.at(-1)], ['Hel', 'Hello']);
    for (const [at, text] of whole.entries()) assert.ok(text?.startsWith(whole[at - 1] ?? ''), whole.join(' | '));
    const pieces = getTexts(await nativeText(PIECES, { incremental_output: true }));
    assert.equal(pieces[0], 'Hel');
    assert.equal(pieces.join(''), 'Hello');
  });

  test('row 14: sends the index of each choice in every event', async () => {
    const both = { n: 2, ...MESSAGE };
    for (const text of [
      await nativeText(PIECES, both),
      await nativeText(PIECES, { ...both, incremental_output: true }),
      await chatText(PIECES, { n: 2 }),
    ]) {
      const indexes = getChoices(text).map(({ index }) => index);
      assert.deepEqual(new Set(indexes), new Set([0, 1]), text);
    }
  });

  test('row 25: sends the index of the tool call with each piece', async () => {
    for (const text of [
      await chatText(TWO_CALLS, TOOLS),
      await nativeText(TWO_CALLS, { ...MESSAGE, ...TOOLS }),
      await nativeText(TWO_CALLS, { ...MESSAGE, ...TOOLS, incremental_output: true }),
    ]) {
      const indexes = getToolCalls(text).map(({ index }) => index);
      assert.deepEqual(new Set(indexes), new Set([0, 1]), text);
    }
  });

  test('row 26: sends name, id and type of a tool call once', async () => {
    for (const [text, isCompatible] of [
      [await chatText(TWO_CALLS, TOOLS), true],
      [await nativeText(TWO_CALLS, { ...MESSAGE, ...TOOLS, incremental_output: true }), false],
    ] as const) {
      const calls = Map.groupBy(getToolCalls(text), ({ index }) => index);
      assert.equal(calls.size, 2, text);
      for (const [index, pieces] of calls) {
        const sum = (piece: (call: ToolCallPiece) => string | undefined) =>
          pieces.map((call) => piece(call) ?? '').join('');
        const names = sum((call) => call.function.name);
        const types = sum(({ type }) => type);
        assert.equal(pieces.filter(({ id = '' }) => id !== '').length, 1, text);
        assert.equal(names, 'get_weather');
        // Native clients do not concatenate types.
        if (isCompatible) assert.equal(types, 'function');
        const toolArguments = JSON.parse(sum((call) => call.function.arguments)) as Fields;
        assert.deepEqual(toolArguments, { city: index === 0 ? 'Paris' : 'Rome' });
      }
    }
  });

  test('row 27: begins each compatible choice with its role and ends it with its finish reason', async () => {
    for (const text of [
      await chatText(['Hi']),
      await chatText([]),
      await chatText(['Hi'], { n: 2, stream_options: { include_usage: true } }),
      await chatText(TWO_CALLS, TOOLS),
    ]) {
      const answers = Map.groupBy(getChoices(text), ({ index }) => index);
      assert.ok(answers.size > 0, text);
      for (const chunks of answers.values()) {
        assert.equal(chunks[0]?.delta?.role, 'assistant', text);
        assert.match(chunks.at(-1)?.finish_reason ?? '', /^(stop|tool_calls)$/, text);
        for (const { delta } of chunks.slice(1)) assert.equal(delta?.role ?? '', '', text);
      }
    }
  });

  test('row 28: answers a compatible refusal with an error object', async () => {
    for (const answer of await collectRefusals(CHAT, '/compatible-mode/v1')) {
      const text = await answer.text();
      const { error } = JSON.parse(text) as { error?: Fields };
      assert.deepEqual([typeof error?.['message'], typeof error?.['code']], ['string', 'string'], text);
      assert.ok(error?.['message'] !== '', text);
    }
  });

  test('row 29: sends an error field only in the chunk of a failure', async () => {
    const whole = parseEvents(await chatText(['Hi'], { stream_options: { include_usage: true } }));
    assert.ok(whole.every(({ error }) => !error));
    const broken = parseEvents(await chatText(BROKEN));
    assert.deepEqual(
      broken.map(({ error }) => Boolean(error)),
      [...broken.slice(1).map(() => false), true],
    );
  });

  for (const kind of ['rate-limited', 'token-quota', 'overloaded'] as const) {
    test(`row 34: sends a Retry-After that clients honor: ${kind}`, async () => {
      for (const answer of [await chat([{ fail: kind }]), await native([{ fail: kind }])]) {
        const seconds = answer.headers.get('retry-after') ?? '';
        assert.match(seconds, /^\d+$/);
        assert.ok(Number(seconds) >= 1 && Number(seconds) <= 8, seconds);
        await answer.body?.cancel();
      }
    });
  }

  test('row 35: encodes embeddings in the requested format, by default as numbers', async () => {
    const embed = async (format: Fields) => {
      const { data } = await readBody(post(EMBEDDINGS, { model: 'text-embedding-v4', input: 'a', ...format }));
      return data?.[0]?.embedding;
    };
    const numbers = await embed({});
    assert.ok(Array.isArray(numbers) && numbers.every((each) => typeof each === 'number'));
    assert.deepEqual(await embed({ encoding_format: 'float' }), numbers);
    const packed = await embed({ encoding_format: 'base64' });
    assert.ok(typeof packed === 'string');
    const bytes = Buffer.from(packed, 'base64');
    assert.equal(bytes.length, 4 * numbers.length);
    assert.deepEqual(
      numbers.map((_, at) => bytes.readFloatLE(4 * at)),
      [...Float32Array.from(numbers)],
    );
  });

  test('row 39: sends each event of a stream at once and uncompressed', async () => {
    const accepting = { 'accept-encoding': 'gzip, deflate, br, zstd' };
    const content = script('Hel', { hang: true });
    for (const [path, body, headers] of [
      [CHAT, { model: 'svc-plus', messages: user(content), stream: true }, accepting],
      [NATIVE, { model: 'svc-plus', input: { messages: user(content) } }, { ...accepting, ...SSE_HEADERS }],
    ] as const) {
      const controller = new AbortController();
      const response = await post(path, body, headers, controller.signal);
      assert.equal(response.headers.get('content-encoding'), null);
      assert.equal(response.headers.get('content-length'), null);
      let text = '';
      for await (const bytes of response.body ?? []) {
        text += new TextDecoder().decode(bytes);
        // The engine sends nothing more, so a buffered event would never arrive.
        if (text.includes('Hel') && text.endsWith('\n\n')) break;
      }
      controller.abort();
      assert.match(text, /Hel/);
    }
  });

  test('row 40: accepts the key with any spelling of Bearer, and as x-api-key for the messages interface', async () => {
    const hello = { model: 'svc-plus', messages: user('Hi') };
    for (const scheme of ['bearer', 'BEARER', 'Bearer']) {
      const authorization = `${scheme} ${key}`;
      await readText(post(CHAT, hello, { authorization }));
      await readText(post(NATIVE, { model: 'svc-plus', input: { prompt: 'Hi' } }, { authorization }));
    }
    const withKey = async (headers: Headers) => {
      const answer = await fetch(`${getUrl()}/apps/anthropic/v1/messages`, { method: 'POST', headers, body: '{}' });
      await answer.body?.cancel();
      return answer.status;
    };
    assert.equal(await withKey({}), 401);
    assert.equal(await withKey({ 'x-api-key': 'sk-wrong' }), 401);
    assert.notEqual(await withKey({ 'x-api-key': key }), 401);
    assert.notEqual(await withKey({ authorization: `bearer ${key}` }), 401);
  });

  test('row 43: ignores and names unknown fields', async () => {
    const input = { messages: user('Hi'), of_input: null };
    const more = { resources: [{ a: 1 }], pre_task_id: 'x', stream_options: { include_usage: true } };
    for (const answer of [
      await post(NATIVE, { model: 'svc-plus', input, parameters: {}, ...more }),
      await post(NATIVE, { model: 'svc-plus', input, parameters: { nobody: { knows: [1] } } }, SSE_HEADERS),
      await chat(['Hi'], { nobody: { knows: [1] }, parameters: {} }),
      await post(EMBEDDINGS, { model: 'svc-embed', input: 'a', nobody: null, resources: [] }),
    ]) {
      assert.equal(answer.status, 200, await answer.text());
      assert.match(answer.headers.get('x-parley-ignored') ?? '', /resources|nobody/);
    }
  });
});
