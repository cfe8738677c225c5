import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Generate } from '../generation/generation.ts';
import {
  END_EVENTS,
  BLOCK_START_EVENT,
  START_EVENT,
  chatRequest,
  connectRaw,
  createTextDelta,
  startTestHttp,
} from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';
import type { Endpoint, ProtocolFamily } from '../protocols/endpoint.ts';

// Every invalid request gets a 4xx JSON response in its family's shape, with a request id and without the caller's
// text.

const PATHS: Record<ProtocolFamily, string> = {
  compatible: '/compatible-mode/v1/echo',
  native: '/api/v1/echo',
  messages: '/apps/anthropic/v1/echo',
};
const FAMILIES = Object.keys(PATHS) as ProtocolFamily[];
const SECRET = 'PROMPT-OF-THE-CALLER';

const echo = (family: ProtocolFamily): Endpoint => ({
  operation: `test.echo.${family}`,
  method: 'POST',
  path: PATHS[family],
  family,
  regions: ['cn-beijing'],
  onDisconnect: 'cancel',
  handle: ({ body }) => Promise.resolve({ type: 'json', status: 200, body: { got: body ?? null } }),
});

let server: TestHttp;
/**
 * Server for incomplete bodies. Complete requests go elsewhere: on a busy machine they may exceed its short timeout.
 */
let shortBodyTimeoutServer: TestHttp;
/** Server for incomplete heads, with the same restriction. */
let shortHeadTimeoutServer: TestHttp;
before(async () => {
  const more = FAMILIES.map(echo);
  server = await startTestHttp({ more, limits: { bodyBytesMax: 2_000 } });
  shortBodyTimeoutServer = await startTestHttp({ more, limits: { bodyBytesMax: 2_000, requestReceiveMs: 120 } });
  shortHeadTimeoutServer = await startTestHttp({ more, limits: { headersReceiveMs: 60 } });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await shortBodyTimeoutServer[Symbol.asyncDispose]();
  await shortHeadTimeoutServer[Symbol.asyncDispose]();
});

type Shape = Record<string, unknown>;

/** Checks the family's error shape and returns its message and request id. */
function readShape(family: ProtocolFamily, body: string): { message: string; requestId: unknown } {
  const json = JSON.parse(body) as Shape;
  if (family === 'native') {
    assert.deepEqual(Object.keys(json), ['code', 'message', 'request_id']);
    return { message: String(json['message']), requestId: json['request_id'] };
  }
  const error = json['error'] as Shape;
  if (family === 'messages') assert.deepEqual([json['type'], Object.keys(error)], ['error', ['type', 'message']]);
  else assert.deepEqual(Object.keys(error), ['message', 'type', 'param', 'code']);
  return { message: String(error['message']), requestId: json['request_id'] };
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

interface Row {
  readonly name: string;
  readonly status: number;
  readonly message: RegExp;
  readonly method?: string;
  readonly path?: (path: string) => string;
  readonly type?: string | null;
  readonly encoding?: string;
  readonly expect?: string;
  readonly body?: string | Buffer;
}

const rows: readonly Row[] = [
  { name: 'malformed JSON', status: 400, message: /it is not JSON/, body: `{"a": "${SECRET}` },
  { name: 'two values', status: 400, message: /it is not JSON/, body: '{} {}' },
  { name: 'invalid UTF-8', status: 400, message: /not valid UTF-8/, body: Buffer.from([0x22, 0xc3, 0x28, 0x22]) },
  { name: 'a byte order mark', status: 400, message: /byte order mark/, body: '\ufeff{}' },
  { name: 'UTF-16', status: 400, message: /not valid UTF-8|not JSON/, body: Buffer.from('\ufeff{}', 'utf16le') },
  { name: 'nesting', status: 400, message: /nested deeper than 64/, body: nested(65) },
  { name: 'a body too large', status: 413, message: /^Payload Too Large\./, body: `"${SECRET.repeat(200)}"` },
  {
    name: 'a form',
    status: 400,
    message: /Content-Type must be/,
    type: 'application/x-www-form-urlencoded',
    body: 'a=1',
  },
  { name: 'plain text', status: 400, message: /Content-Type must be/, type: 'text/plain', body: '{}' },
  { name: 'another charset', status: 400, message: /UTF-8/, type: 'application/json; charset=latin1', body: '{}' },
  { name: 'a content type that is none', status: 400, message: /Content-Type must be/, type: ';;;', body: '{}' },
  { name: 'a compressed body', status: 400, message: /Content-Encoding/, encoding: 'gzip', body: '{}' },
  {
    name: 'a wrong method',
    status: 405,
    message: /^Request method 'PUT' is not supported\.$/,
    method: 'PUT',
    body: '{}',
  },
  { name: 'PATCH', status: 405, message: /'PATCH'/, method: 'PATCH', body: '{}' },
  { name: 'PUT of a content type that is none', status: 405, message: /'PUT'/, method: 'PUT', type: ';;;', body: '{}' },
  { name: 'GET', status: 405, message: /'GET'/, method: 'GET' },
  { name: 'OPTIONS without an origin', status: 405, message: /'OPTIONS'/, method: 'OPTIONS' },
  { name: 'a WebDAV method', status: 405, message: /'PROPFIND'/, method: 'PROPFIND' },
  { name: 'a cache method', status: 405, message: /'PURGE'/, method: 'PURGE' },
  { name: 'a search', status: 405, message: /'SEARCH'/, method: 'SEARCH', body: '{}' },
  { name: 'a query', status: 405, message: /'QUERY'/, method: 'QUERY', body: '{}', type: ';;;' },
  {
    name: 'an unsupported method on an unknown path',
    status: 404,
    message: /^Not found! No route matches PURGE \/\S+\/v1\/echox\.$/,
    method: 'PURGE',
    path: (path) => `${path}x`,
  },
  {
    name: 'an expectation',
    status: 400,
    message: /^The Expect header must be 100-continue\.$/,
    expect: 'foo',
    body: '{}',
  },
  {
    name: 'an unknown path',
    status: 404,
    message: /^Not found! No route matches POST \/\S+\/v1\/echox\.$/,
    path: (path) => `${path}x`,
    body: '{}',
  },
  { name: 'bad percent-encoding', status: 400, message: /percent-encoding/, path: (path) => `${path}/%zz`, body: '{}' },
  { name: 'a NUL in the path', status: 404, message: /Not found!/, path: (path) => `${path}%00`, body: '{}' },
  { name: 'dots in the path', status: 404, message: /Not found!/, path: (path) => `${path}/../../etc`, body: '{}' },
];

for (const family of FAMILIES) {
  for (const {
    name,
    status,
    message: expected,
    method = 'POST',
    path = (same: string) => same,
    type,
    encoding,
    expect,
    body = '',
  } of rows) {
    test(`${family}: ${name} is ${status}`, async () => {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      const contentType = type === undefined ? 'application/json' : type;
      const head = [
        `${method} ${path(PATHS[family])} HTTP/1.1`,
        'host: localhost',
        'connection: close',
        'authorization: Bearer sk-good',
        ...(contentType === null ? [] : [`content-type: ${contentType}`]),
        ...(encoding === undefined ? [] : [`content-encoding: ${encoding}`]),
        ...(expect === undefined ? [] : [`expect: ${expect}`]),
        `content-length: ${bytes.length}`,
      ];
      using peer = connectRaw(server.port, `${head.join('\r\n')}\r\n\r\n`);
      peer.socket.write(bytes);
      const text = await peer.readToEnd();
      const [answer = '', json = ''] = text.split('\r\n\r\n');
      assert.equal(Number(answer.split(' ')[1]), status, text);
      assert.match(answer, /content-type: application\/json/);
      const { message, requestId } = readShape(family, json);
      assert.match(message, expected);
      assert.ok(answer.includes(`x-request-id: ${String(requestId)}`));
      assert.ok(!text.includes(SECRET) && !text.includes('/work') && !text.includes('.ts:'));
      if (status === 405) assert.match(answer, /^allow: POST$/m);
    });
  }
}

async function postEcho(headers: readonly string[], body: string): Promise<string> {
  const head = ['POST /v1/echo HTTP/1.1', 'connection: close', 'authorization: Bearer sk-good', ...headers];
  using peer = connectRaw(server.port, `${head.join('\r\n')}\r\n\r\n${body}`);
  return await peer.readToEnd();
}

test('parses a body without a content type, with a +json type and with charset utf-8', async () => {
  for (const type of [[], ['content-type: application/json; charset=UTF-8'], ['content-type: application/x+json']]) {
    assert.match(
      await postEcho([...type, 'content-length: 8'], '{"a": 1}'),
      /^HTTP\/1\.1 200 [^]*\{"got":\{"a":1\}\}$/,
    );
  }
});

test('treats an empty body as no body, whatever its headers', async () => {
  assert.match(await postEcho(['content-type: application/json', 'content-length: 0'], ''), /\{"got":null\}$/);
  assert.match(await postEcho(['transfer-encoding: chunked'], '0\r\n\r\n'), /\{"got":null\}$/);
});

test('accepts nesting up to the limit', async () => {
  assert.match(await postEcho(['content-length: 128'], nested(64)), /^HTTP\/1\.1 200/);
});

test('rejects a chunked body above the limit with 413', async () => {
  const chunk = `3e8\r\n${'x'.repeat(1_000)}\r\n`;
  assert.match(await postEcho(['transfer-encoding: chunked'], `${chunk.repeat(5)}0\r\n\r\n`), /^HTTP\/1\.1 413/);
});

test('keeps the connection open after a rejected request', async () => {
  const bad = chatRequest('{');
  using peer = connectRaw(server.port, bad);
  await peer.readUntil('not JSON');
  peer.socket.write(chatRequest());
  assert.match(await peer.readUntil('[DONE]'), /HTTP\/1\.1 200 OK/);
});

const broken: readonly (readonly [string, string, number, getServer?: () => TestHttp])[] = [
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n', 400],
  ['headers too large', `GET /v1/models HTTP/1.1\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
  ['both lengths', 'POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n', 400],
  [
    'a body that stops',
    chatRequest('{}', ['x: y']).replace('length: 2', 'length: 99'),
    408,
    () => shortBodyTimeoutServer,
  ],
  ['a head that stops', 'GET /v1/models HTTP/1.1\r\nhost: x', 408, () => shortHeadTimeoutServer],
];

for (const [name, bytes, status, getServer = () => server] of broken) {
  test(`answers ${name} with ${status} in JSON and closes the connection`, async () => {
    using peer = connectRaw(getServer().port, bytes);
    const text = await peer.readToEnd();
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.match(text, /"error":\{"message":/);
  });
}

test('rejects CONNECT in JSON, logs it and closes the connection', async () => {
  using peer = connectRaw(server.port, 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n');
  const text = await peer.readToEnd();
  assert.match(text, /^HTTP\/1\.1 405 /);
  assert.match(text, /^allow: *\r$/m);
  const { message, requestId } = readShape('compatible', text.split('\r\n\r\n')[1] ?? '');
  assert.match(message, /'CONNECT'/);
  const line = server.logLines.find((each) => each['requestId'] === requestId);
  assert.deepEqual([line?.['status'], line?.['kind']], [405, 'method-not-allowed']);
});

test('finishes the response of a request that is followed by invalid input, then closes the connection', async () => {
  for (const stream of [false, true]) {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    const generate: Generate = () => {
      const batches = (async function* () {
        yield [START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')];
        await go;
        yield [createTextDelta('lo'), ...END_EVENTS];
      })();
      return Promise.resolve({ batches, ignored: [] });
    };
    await using server = await startTestHttp({ generate });
    const body = JSON.stringify({ model: 'svc-plus', stream, messages: [{ role: 'user', content: 'Hi' }] });
    using peer = connectRaw(server.port, chatRequest(body));
    while (server.http.countInFlight() === 0) await yieldToEventLoop();
    if (stream) await peer.readUntil('Hel');
    peer.socket.write('no HTTP at all\r\n\r\n');
    while (!server.logLines.some((line) => line['operation'] === 'unreadable')) await yieldToEventLoop();
    peer.socket.write('and more of it\r\n\r\n');
    for (let turns = 0; turns < 20; turns++) await yieldToEventLoop();
    resolve();
    const text = await peer.readToEnd();
    assert.match(text, stream ? /"lo"[^]*\[DONE\]/ : /"content":"Hello"/);
    assert.equal(text.split('HTTP/1.1 ').length, 2, text);
    assert.equal(server.logLines.filter((line) => line['operation'] === 'unreadable').length, 1);
  }
});

test('sends no second response to an answered request whose body never completes', async () => {
  using peer = connectRaw(
    shortBodyTimeoutServer.port,
    chatRequest('x', ['content-encoding: gzip']).replace('length: 1', 'length: 99'),
  );
  const text = await peer.readToEnd();
  assert.match(text, /^HTTP\/1\.1 400 /);
  assert.equal(text.split('HTTP/1.1 ').length, 2, text);
});

test('answers a request without a Host header', async () => {
  using peer = connectRaw(server.port, 'GET /health HTTP/1.1\r\nconnection: close\r\n\r\n');
  assert.match(await peer.readToEnd(), /^HTTP\/1\.1 200 [^]*\{"status":"ok"\}$/);
});

test('compares whole origins, and never allows credentials', async () => {
  await using open = await startTestHttp({ cors: { origins: ['https://app.example.com'] } });
  const requestFrom = (url: string, origin: string): Promise<Response> =>
    fetch(`${url}/health`, { headers: { origin, cookie: 'a=b' } });
  for (const origin of [
    'null',
    'http://app.example.com',
    'https://app.example.com:8443',
    'https://app.example.com.evil.com',
    'https://evil-app.example.com',
    'https://evil.com/https://app.example.com',
    'https://APP.example.com',
    'https://app.example.com/',
    'https://app.example.com, https://evil.com',
    '*',
  ]) {
    const { headers } = await requestFrom(open.url, origin);
    assert.deepEqual([origin, headers.get('access-control-allow-origin')], [origin, null]);
    assert.equal(headers.get('vary'), 'Origin');
  }
  await using all = await startTestHttp({ cors: { origins: ['*'] } });
  const { headers } = await requestFrom(all.url, 'https://evil.com');
  assert.equal(headers.get('access-control-allow-origin'), 'https://evil.com');
  assert.equal(headers.get('access-control-allow-credentials'), null);
});

test('answers a CORS preflight without a key, only if an origin is allowed', async () => {
  const cors = { origins: ['https://app.example.com'] };
  await using open = await startTestHttp({ cors });
  const ask = (url: string, origin: string): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    });
  const allowed = await ask(open.url, 'https://app.example.com');
  assert.equal(allowed.status, 204);
  assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://app.example.com');
  assert.equal(allowed.headers.get('access-control-allow-headers'), 'authorization,content-type');
  assert.match(allowed.headers.get('access-control-allow-methods') ?? '', /POST/);
  for (const refused of [
    await ask(open.url, 'https://evil.example.com'),
    await ask(server.url, 'https://app.example.com'),
  ]) {
    assert.equal(refused.status, 403);
    assert.equal(refused.headers.get('access-control-allow-origin'), null);
    assert.match(await refused.text(), /may not call. The operator allows it with the setting cors\.origins/);
  }
  const refused = await fetch(`${open.url}/v1/models`, { headers: { origin: 'https://app.example.com' } });
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get('access-control-allow-origin'), 'https://app.example.com');
  assert.equal(refused.headers.get('vary'), 'Origin');
  for (const name of [
    'x-parley-ignored',
    'x-parley-dropped-items',
    'x-parley-estimated',
    'deprecation',
    'link',
    'retry-after',
  ]) {
    assert.ok(refused.headers.get('access-control-expose-headers')?.split(', ').includes(name), name);
  }
});
