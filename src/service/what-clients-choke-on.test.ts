import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { ERROR_KINDS } from '../core/error.ts';
import { createService } from './service.ts';
import type { Service } from './service.ts';

// What breaks real clients, row by row of wire.md section 11, on the bytes of the whole service. Rows that belong to
// interfaces of their own stand beside these; here are those of generation, vectors, and whatever is answered over HTTP.

const CHAT = '/compatible-mode/v1/chat/completions';
const NATIVE = '/api/v1/services/aigc/text-generation/generation';
const PARTS = '/api/v1/services/aigc/multimodal-generation/generation';
const EMBEDDINGS = '/compatible-mode/v1/embeddings';

type Fields = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string>>;

interface Call {
  readonly index?: number;
  readonly id?: string;
  readonly type?: string;
  readonly function: { readonly name?: string; readonly arguments?: string };
}

interface Told {
  readonly role?: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly Call[] | null;
}

interface Choice {
  readonly index?: number;
  readonly delta?: Told;
  readonly message?: Told;
  readonly finish_reason?: string | null;
}

/** Of both families: choices stand at the top of one, in the output of the other. */
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

const STREAMED: Headers = { 'x-dashscope-sse': 'enable' };
const MESSAGE = { result_format: 'message' };
/** Two pieces far enough apart that a cumulative stream tells them one by one. */
const PIECES = ['Hel', { delayMs: 110 }, 'lo'];
const BROKEN = ['Hel', { delayMs: 5 }, { fail: 'engine-failed' }];

const says = (...steps: readonly unknown[]) => `script:${JSON.stringify(steps)}`;
const user = (content: unknown) => [{ role: 'user', content }];

/** What stands behind a field name at the beginning of a line, blanks and all. */
const fieldsOf = (text: string, name: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1));

const eventsOf = (text: string): readonly Body[] =>
  fieldsOf(text, 'data')
    .filter((line) => line.trim() !== '[DONE]')
    .map((line) => JSON.parse(line) as Body);

const choicesOf = (text: string): readonly Choice[] =>
  eventsOf(text).flatMap(({ choices, output }) => choices ?? output?.choices ?? []);

const callsOf = (text: string): readonly Call[] =>
  choicesOf(text).flatMap(({ delta, message }) => (delta ?? message)?.tool_calls ?? []);

describe('what clients choke on', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-choke-'));
  let service: Service | undefined;
  let url = '';
  let key = '';

  before(async () => {
    const quiet = () => undefined;
    const env = {
      PARLEY_DATA: folder,
      PARLEY_PORT: '0',
      PARLEY_ENGINE_KIND: 'scripted',
      PARLEY_ENGINE_SEQUENCES: '8',
      PARLEY_HUB_URL: 'off',
    };
    service = await createService(loadConfig({ env }).config, { log: { info: quiet, warn: quiet, error: quiet } });
    const [address] = await service.listen();
    url = address?.url ?? '';
    key = (await service.firstKey())?.secret ?? '';
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const post = (path: string, body: unknown, headers: Headers = {}, signal?: AbortSignal) =>
    fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  const get = (path: string) => fetch(url + path, { headers: { authorization: `Bearer ${key}` } });

  const chat = (steps: readonly unknown[], fields: Fields = {}) =>
    post(CHAT, { model: 'svc-plus', messages: user(says(...steps)), ...fields });
  const native = (steps: readonly unknown[], parameters: Fields = {}, headers: Headers = {}) =>
    post(NATIVE, { model: 'svc-plus', input: { messages: user(says(...steps)) }, parameters }, headers);
  const parts = (steps: readonly unknown[], headers: Headers = {}) =>
    post(PARTS, { model: 'svc-plus', input: { messages: user([{ text: says(...steps) }]) }, parameters: {} }, headers);

  /** The bytes of a stream that was taken in. */
  const textOf = async (answer: Promise<Response>): Promise<string> => {
    const response = await answer;
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return text;
  };
  const bodyOf = async (answer: Promise<Response>): Promise<Body> => JSON.parse(await textOf(answer)) as Body;
  const chatText = (steps: readonly unknown[], fields: Fields = {}) => textOf(chat(steps, { stream: true, ...fields }));
  const nativeText = (steps: readonly unknown[], parameters: Fields = {}) =>
    textOf(native(steps, parameters, STREAMED));

  /** Every form that a native answer in messages has, for these steps. */
  const nativeForms = async (steps: readonly unknown[], parameters: Fields = MESSAGE): Promise<readonly Body[]> => [
    ...eventsOf(await nativeText(steps, parameters)),
    ...eventsOf(await nativeText(steps, { ...parameters, incremental_output: true })),
    await bodyOf(native(steps, parameters)),
  ];

  /** Refusals of one family: by the engine for every reason there is, by the front, and by the endpoint. */
  const refusals = async (path: string, prefix: string): Promise<readonly Response[]> => {
    const isNative = path === NATIVE;
    const headers = isNative ? STREAMED : {};
    const asking = (content: string): Fields =>
      isNative
        ? { model: 'svc-plus', input: { messages: user(content) } }
        : { model: 'svc-plus', messages: user(content), stream: true };
    const bodies = [...ERROR_KINDS.map((kind) => asking(says({ fail: kind }))), { ...asking('Hi'), model: 'nix' }];
    return Promise.all([
      ...bodies.map((body) => post(path, body, headers)),
      ...['{', '[]', '', '{"model":"svc-plus"}'].map((body) => post(path, body, headers)),
      post(path, asking('Hi'), { ...headers, authorization: 'Bearer sk-wrong' }),
      post(path, asking('Hi'), { ...headers, 'x-dashscope-workspace': 'other' }),
      post(`${prefix}/nowhere`, {}),
      get(path),
    ]);
  };

  for (const [family, path, prefix] of [
    ['native', NATIVE, '/api/v1'],
    ['compatible', CHAT, '/compatible-mode/v1'],
  ] as const) {
    test(`row 1: a ${family} refusal has a status of its own, also where a stream was asked for`, async () => {
      for (const answer of await refusals(path, prefix)) {
        const text = await answer.text();
        assert.ok(answer.status >= 400 && answer.status < 600, `${answer.status} ${text}`);
        assert.equal(answer.headers.get('content-type'), 'application/json', text);
      }
    });
  }

  test('row 2: success has neither a code nor a message', async () => {
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
      get('/api/v1/tasks'),
      get('/api/v1/tasks/nix'),
    ]);
    for (const answer of answers) {
      const text = await answer.text();
      assert.equal(answer.status, 200, `${answer.url} ${text}`);
      const { code = '', message = '' } = JSON.parse(text) as Fields;
      assert.deepEqual([code, message], ['', ''], answer.url);
    }
    for (const event of [...eventsOf(await nativeText(['Hi'])), ...eventsOf(await chatText(['Hi']))])
      assert.ok(!('code' in event) && !('message' in event));
  });

  test('row 4: a native refusal has three strings', async () => {
    for (const answer of await refusals(NATIVE, '/api/v1')) {
      const text = await answer.text();
      const { code, message, request_id: id } = JSON.parse(text) as Fields;
      assert.deepEqual([typeof code, typeof message, typeof id], ['string', 'string', 'string'], text);
      assert.ok(code !== '' && message !== '' && id !== '', text);
    }
  });

  test('row 6: the output of an answer without a word is an object', async () => {
    const bare = [...(await nativeForms([], {})), ...(await nativeForms([]))];
    for (const { output } of [...bare, ...eventsOf(await textOf(parts([], STREAMED))), await bodyOf(parts([]))])
      assert.ok(typeof output === 'object' && output !== null && !Array.isArray(output));
  });

  test('row 7: each message of each native event has its role', async () => {
    const bodies = [
      ...(await nativeForms(PIECES)),
      ...(await nativeForms([])),
      ...(await nativeForms(['Hi'], { ...MESSAGE, n: 2 })),
      ...(await nativeForms(TWO_CALLS, { ...MESSAGE, ...TOOLS })),
      ...eventsOf(await textOf(parts(PIECES, STREAMED))),
      await bodyOf(parts(PIECES)),
    ];
    for (const body of bodies) {
      const choices = body.output?.choices ?? [];
      assert.ok(choices.length > 0, JSON.stringify(body));
      for (const { message } of choices) assert.equal(message?.role, 'assistant', JSON.stringify(body));
    }
  });

  test('row 8: no blank stands before the name of a native event', async () => {
    assert.deepEqual(fieldsOf(await nativeText(BROKEN), 'event'), ['result', 'error']);
  });

  test('row 9: an event is one line of JSON, whatever breaks lines in the text', async () => {
    const piece = 'a\nb\r\nc\rd\u000be\fg\n\ndata:x\n\nh';
    for (const text of [await nativeText([piece]), await nativeText([piece], MESSAGE), await chatText([piece])]) {
      assert.doesNotMatch(text, /[\r\v\f]/);
      const frames = text.split('\n\n').slice(0, -1);
      assert.ok(frames.length > 0);
      for (const frame of frames) assert.equal(fieldsOf(frame, 'data').length, 1, frame);
      assert.ok(JSON.stringify(eventsOf(text)).includes(JSON.stringify(piece).slice(1, -1)));
    }
  });

  test('row 10: a native stream has no [DONE]', async () => {
    for (const parameters of [{}, MESSAGE, { incremental_output: true }])
      assert.doesNotMatch(await nativeText(['Hi'], parameters), /DONE/);
    assert.doesNotMatch(await nativeText(BROKEN), /DONE/);
    assert.doesNotMatch(await textOf(parts(['Hi'], STREAMED)), /DONE/);
  });

  test('row 11: what breaks a native stream off has code and message', async () => {
    const told = JSON.parse(fieldsOf(await nativeText(BROKEN), 'data').at(-1) ?? '') as Fields;
    assert.deepEqual([told['code'], typeof told['message']], ['InternalError', 'string']);
  });

  test('row 12: a stream says that it is one', async () => {
    for (const answer of [chat(['Hi'], { stream: true }), native(['Hi'], {}, STREAMED), parts(['Hi'], STREAMED)]) {
      const response = await answer;
      assert.equal(response.headers.get('content-type'), 'text/event-stream;charset=UTF-8');
      await response.text();
    }
  });

  test('row 13: a native stream repeats its answer from the start, unless it was asked for the new alone', async () => {
    const textsOf = (text: string) => eventsOf(text).map(({ output }) => output?.text);
    const whole = textsOf(await nativeText(PIECES));
    assert.deepEqual([whole[0], whole.at(-1)], ['Hel', 'Hello']);
    for (const [at, text] of whole.entries()) assert.ok(text?.startsWith(whole[at - 1] ?? ''), whole.join(' | '));
    const pieces = textsOf(await nativeText(PIECES, { incremental_output: true }));
    assert.equal(pieces[0], 'Hel');
    assert.equal(pieces.join(''), 'Hello');
  });

  test('row 14: each of several answers has its number in every event', async () => {
    const both = { n: 2, ...MESSAGE };
    for (const text of [
      await nativeText(PIECES, both),
      await nativeText(PIECES, { ...both, incremental_output: true }),
      await chatText(PIECES, { n: 2 }),
    ]) {
      const indexes = choicesOf(text).map(({ index }) => index);
      assert.deepEqual(new Set(indexes), new Set([0, 1]), text);
    }
  });

  test('row 25: each piece of a call says which call it is of', async () => {
    for (const text of [
      await chatText(TWO_CALLS, TOOLS),
      await nativeText(TWO_CALLS, { ...MESSAGE, ...TOOLS }),
      await nativeText(TWO_CALLS, { ...MESSAGE, ...TOOLS, incremental_output: true }),
    ]) {
      const indexes = callsOf(text).map(({ index }) => index);
      assert.deepEqual(new Set(indexes), new Set([0, 1]), text);
    }
  });

  test('row 26: the pieces of a call add up to one name, one id and one type', async () => {
    for (const [text, isCompatible] of [
      [await chatText(TWO_CALLS, TOOLS), true],
      [await nativeText(TWO_CALLS, { ...MESSAGE, ...TOOLS, incremental_output: true }), false],
    ] as const) {
      const calls = Map.groupBy(callsOf(text), ({ index }) => index);
      assert.equal(calls.size, 2, text);
      for (const [index, pieces] of calls) {
        const sum = (piece: (call: Call) => string | undefined) => pieces.map((call) => piece(call) ?? '').join('');
        const names = sum((call) => call.function.name);
        const types = sum(({ type }) => type);
        assert.equal(pieces.filter(({ id = '' }) => id !== '').length, 1, text);
        assert.equal(names, 'get_weather');
        // Native clients do not add types up.
        if (isCompatible) assert.equal(types, 'function');
        const given = JSON.parse(sum((call) => call.function.arguments)) as Fields;
        assert.deepEqual(given, { city: index === 0 ? 'Paris' : 'Rome' });
      }
    }
  });

  test('row 27: each answer of a compatible stream begins with its role and ends with its reason', async () => {
    for (const text of [
      await chatText(['Hi']),
      await chatText([]),
      await chatText(['Hi'], { n: 2, stream_options: { include_usage: true } }),
      await chatText(TWO_CALLS, TOOLS),
    ]) {
      const answers = Map.groupBy(choicesOf(text), ({ index }) => index);
      assert.ok(answers.size > 0, text);
      for (const chunks of answers.values()) {
        assert.equal(chunks[0]?.delta?.role, 'assistant', text);
        assert.match(chunks.at(-1)?.finish_reason ?? '', /^(stop|tool_calls)$/, text);
        for (const { delta } of chunks.slice(1)) assert.equal(delta?.role ?? '', '', text);
      }
    }
  });

  test('row 28: a compatible refusal holds its words in an error object', async () => {
    for (const answer of await refusals(CHAT, '/compatible-mode/v1')) {
      const text = await answer.text();
      const { error } = JSON.parse(text) as { error?: Fields };
      assert.deepEqual([typeof error?.['message'], typeof error?.['code']], ['string', 'string'], text);
      assert.ok(error?.['message'] !== '', text);
    }
  });

  test('row 29: only a failure has an error in its chunk', async () => {
    const whole = eventsOf(await chatText(['Hi'], { stream_options: { include_usage: true } }));
    assert.ok(whole.every(({ error }) => !error));
    const broken = eventsOf(await chatText(BROKEN));
    assert.deepEqual(
      broken.map(({ error }) => Boolean(error)),
      [...broken.slice(1).map(() => false), true],
    );
  });

  for (const kind of ['rate-limited', 'token-quota', 'overloaded'] as const) {
    test(`row 34: the wait that is asked for is one that clients keep: ${kind}`, async () => {
      for (const answer of [await chat([{ fail: kind }]), await native([{ fail: kind }])]) {
        const seconds = answer.headers.get('retry-after') ?? '';
        assert.match(seconds, /^\d+$/);
        assert.ok(Number(seconds) >= 1 && Number(seconds) <= 8, seconds);
        await answer.body?.cancel();
      }
    });
  }

  test('row 35: vectors have the form that was asked for, and numbers where none was', async () => {
    const embed = async (format: Fields) => {
      const { data } = await bodyOf(post(EMBEDDINGS, { model: 'text-embedding-v4', input: 'a', ...format }));
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

  test('row 39: a stream is sent as it is, each event when it is made', async () => {
    const accepting = { 'accept-encoding': 'gzip, deflate, br, zstd' };
    const content = says('Hel', { hang: true });
    for (const [path, body, headers] of [
      [CHAT, { model: 'svc-plus', messages: user(content), stream: true }, accepting],
      [NATIVE, { model: 'svc-plus', input: { messages: user(content) } }, { ...accepting, ...STREAMED }],
    ] as const) {
      const leaving = new AbortController();
      const response = await post(path, body, headers, leaving.signal);
      assert.equal(response.headers.get('content-encoding'), null);
      assert.equal(response.headers.get('content-length'), null);
      let text = '';
      for await (const bytes of response.body ?? []) {
        text += new TextDecoder().decode(bytes);
        // The engine says nothing more: whoever waits for the end of a block waits for ever.
        if (text.includes('Hel') && text.endsWith('\n\n')) break;
      }
      leaving.abort();
      assert.match(text, /Hel/);
    }
  });

  test('row 40: a key is found under any spelling of its scheme, and as x-api-key where clients send that', async () => {
    const hello = { model: 'svc-plus', messages: user('Hi') };
    for (const scheme of ['bearer', 'BEARER', 'Bearer']) {
      const authorization = `${scheme} ${key}`;
      await textOf(post(CHAT, hello, { authorization }));
      await textOf(post(NATIVE, { model: 'svc-plus', input: { prompt: 'Hi' } }, { authorization }));
    }
    const withKey = async (headers: Headers) => {
      const answer = await fetch(`${url}/apps/anthropic/v1/messages`, { method: 'POST', headers, body: '{}' });
      await answer.body?.cancel();
      return answer.status;
    };
    assert.equal(await withKey({}), 401);
    assert.equal(await withKey({ 'x-api-key': 'sk-wrong' }), 401);
    assert.notEqual(await withKey({ 'x-api-key': key }), 401);
    assert.notEqual(await withKey({ authorization: `bearer ${key}` }), 401);
  });

  test('row 43: fields that nobody knows are passed over, and named', async () => {
    const input = { messages: user('Hi'), of_input: null };
    const more = { resources: [{ a: 1 }], pre_task_id: 'x', stream_options: { include_usage: true } };
    for (const answer of [
      await post(NATIVE, { model: 'svc-plus', input, parameters: {}, ...more }),
      await post(NATIVE, { model: 'svc-plus', input, parameters: { nobody: { knows: [1] } } }, STREAMED),
      await chat(['Hi'], { nobody: { knows: [1] }, parameters: {} }),
      await post(EMBEDDINGS, { model: 'svc-embed', input: 'a', nobody: null, resources: [] }),
    ]) {
      assert.equal(answer.status, 200, await answer.text());
      assert.match(answer.headers.get('x-parley-ignored') ?? '', /resources|nobody/);
    }
  });
});
