import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Generate } from '../generation/generation.ts';
import { END, OPEN, START, chatRequest, connectRaw, say, startHttp } from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';
import type { Endpoint, Family } from '../protocols/endpoint.ts';

// Bad input, the answer to it, in each family's shape: always 4xx, JSON, with a request id and no text of the caller's.

const PATHS: Record<Family, string> = {
  compatible: '/compatible-mode/v1/echo',
  native: '/api/v1/echo',
  messages: '/apps/anthropic/v1/echo',
};
const FAMILIES = Object.keys(PATHS) as Family[];
const SECRET = 'PROMPT-OF-THE-CALLER';

const echo = (family: Family): Endpoint => ({
  operation: `test.echo.${family}`,
  method: 'POST',
  path: PATHS[family],
  family,
  regions: ['cn-beijing'],
  onDisconnect: 'cancel',
  handle: ({ body }) => Promise.resolve({ type: 'json', status: 200, body: { got: body ?? null } }),
});

let front: TestHttp;
/** For what never arrives as a whole: on a busy machine the rest may need longer than these wait. */
let impatient: TestHttp;
/** The same for a head. Nothing else comes here: a head that is whole may need longer, too. */
let hasty: TestHttp;
before(async () => {
  const more = FAMILIES.map(echo);
  front = await startHttp({ more, limits: { bodyBytesMax: 2_000 } });
  impatient = await startHttp({ more, limits: { bodyBytesMax: 2_000, requestReceiveMs: 120 } });
  hasty = await startHttp({ more, limits: { headersReceiveMs: 60 } });
});
after(async () => {
  await front[Symbol.asyncDispose]();
  await impatient[Symbol.asyncDispose]();
  await hasty[Symbol.asyncDispose]();
});

type Shape = Record<string, unknown>;

/** The refusal's own words: all three shapes hold the same. */
function readShape(family: Family, body: string): { message: string; requestId: unknown } {
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
  readonly says: RegExp;
  readonly method?: string;
  readonly path?: (path: string) => string;
  readonly type?: string | null;
  readonly encoding?: string;
  readonly expect?: string;
  readonly body?: string | Buffer;
}

const rows: readonly Row[] = [
  { name: 'malformed JSON', status: 400, says: /it is not JSON/, body: `{"a": "${SECRET}` },
  { name: 'two values', status: 400, says: /it is not JSON/, body: '{} {}' },
  { name: 'invalid UTF-8', status: 400, says: /not valid UTF-8/, body: Buffer.from([0x22, 0xc3, 0x28, 0x22]) },
  { name: 'a byte order mark', status: 400, says: /byte order mark/, body: '\ufeff{}' },
  { name: 'UTF-16', status: 400, says: /not valid UTF-8|not JSON/, body: Buffer.from('\ufeff{}', 'utf16le') },
  { name: 'nesting', status: 400, says: /nested deeper than 64/, body: nested(65) },
  { name: 'a body too large', status: 413, says: /^Payload Too Large\./, body: `"${SECRET.repeat(200)}"` },
  { name: 'a form', status: 400, says: /Content-Type must be/, type: 'application/x-www-form-urlencoded', body: 'a=1' },
  { name: 'plain text', status: 400, says: /Content-Type must be/, type: 'text/plain', body: '{}' },
  { name: 'another charset', status: 400, says: /UTF-8/, type: 'application/json; charset=latin1', body: '{}' },
  { name: 'a content type that is none', status: 400, says: /Content-Type must be/, type: ';;;', body: '{}' },
  { name: 'a compressed body', status: 400, says: /Content-Encoding/, encoding: 'gzip', body: '{}' },
  { name: 'a wrong method', status: 405, says: /^Request method 'PUT' is not supported\.$/, method: 'PUT', body: '{}' },
  { name: 'PATCH', status: 405, says: /'PATCH'/, method: 'PATCH', body: '{}' },
  { name: 'PUT of a content type that is none', status: 405, says: /'PUT'/, method: 'PUT', type: ';;;', body: '{}' },
  { name: 'GET', status: 405, says: /'GET'/, method: 'GET' },
  { name: 'OPTIONS without an origin', status: 405, says: /'OPTIONS'/, method: 'OPTIONS' },
  { name: 'a method of others', status: 405, says: /'PROPFIND'/, method: 'PROPFIND' },
  { name: 'a cache’s method', status: 405, says: /'PURGE'/, method: 'PURGE' },
  { name: 'a search', status: 405, says: /'SEARCH'/, method: 'SEARCH', body: '{}' },
  { name: 'a query', status: 405, says: /'QUERY'/, method: 'QUERY', body: '{}', type: ';;;' },
  {
    name: 'a method of others elsewhere',
    status: 404,
    says: /^Not found!$/,
    method: 'PURGE',
    path: (path) => `${path}x`,
  },
  { name: 'an expectation', status: 400, says: /^Expect: only 100-continue /, expect: 'foo', body: '{}' },
  { name: 'an unknown path', status: 404, says: /^Not found!$/, path: (path) => `${path}x`, body: '{}' },
  { name: 'bad percent-encoding', status: 400, says: /percent-encoding/, path: (path) => `${path}/%zz`, body: '{}' },
  { name: 'a NUL in the path', status: 404, says: /Not found!/, path: (path) => `${path}%00`, body: '{}' },
  { name: 'dots in the path', status: 404, says: /Not found!/, path: (path) => `${path}/../../etc`, body: '{}' },
];

for (const family of FAMILIES) {
  for (const {
    name,
    status,
    says,
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
      using peer = connectRaw(front.port, `${head.join('\r\n')}\r\n\r\n`);
      peer.socket.write(bytes);
      const text = await peer.rest();
      const [answer = '', json = ''] = text.split('\r\n\r\n');
      assert.equal(Number(answer.split(' ')[1]), status, text);
      assert.match(answer, /content-type: application\/json/);
      const { message, requestId } = readShape(family, json);
      assert.match(message, says);
      assert.ok(answer.includes(`x-request-id: ${String(requestId)}`));
      assert.ok(!text.includes(SECRET) && !text.includes('/work') && !text.includes('.ts:'));
      if (status === 405) assert.match(answer, /^allow: POST$/m);
    });
  }
}

async function ok(headers: readonly string[], body: string): Promise<string> {
  const head = ['POST /v1/echo HTTP/1.1', 'connection: close', 'authorization: Bearer sk-good', ...headers];
  using peer = connectRaw(front.port, `${head.join('\r\n')}\r\n\r\n${body}`);
  return await peer.rest();
}

test('a body without a content type is JSON, as is one of any +json kind and charset utf-8', async () => {
  for (const type of [[], ['content-type: application/json; charset=UTF-8'], ['content-type: application/x+json']]) {
    assert.match(await ok([...type, 'content-length: 8'], '{"a": 1}'), /^HTTP\/1\.1 200 [^]*\{"got":\{"a":1\}\}$/);
  }
});

test('no body is no body, whatever the headers say of it', async () => {
  assert.match(await ok(['content-type: application/json', 'content-length: 0'], ''), /\{"got":null\}$/);
  assert.match(await ok(['transfer-encoding: chunked'], '0\r\n\r\n'), /\{"got":null\}$/);
});

test('nesting up to the limit is taken', async () => {
  assert.match(await ok(['content-length: 128'], nested(64)), /^HTTP\/1\.1 200/);
});

test('a body that grows too large without saying so is 413', async () => {
  const chunk = `3e8\r\n${'x'.repeat(1_000)}\r\n`;
  assert.match(await ok(['transfer-encoding: chunked'], `${chunk.repeat(5)}0\r\n\r\n`), /^HTTP\/1\.1 413/);
});

test('after a refusal the connection goes on', async () => {
  const bad = chatRequest('{');
  using peer = connectRaw(front.port, bad);
  await peer.until('not JSON');
  peer.socket.write(chatRequest());
  assert.match(await peer.until('[DONE]'), /HTTP\/1\.1 200 OK/);
});

const broken: readonly (readonly [string, string, number, asked?: () => TestHttp])[] = [
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n', 400],
  ['headers too large', `GET /v1/models HTTP/1.1\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
  ['both lengths', 'POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n', 400],
  ['a body that stops', chatRequest('{}', ['x: y']).replace('length: 2', 'length: 99'), 408, () => impatient],
  ['a head that stops', 'GET /v1/models HTTP/1.1\r\nhost: x', 408, () => hasty],
];

for (const [name, bytes, status, asked = () => front] of broken) {
  test(`${name}: ${status} in JSON, and the connection is closed`, async () => {
    using peer = connectRaw(asked().port, bytes);
    const text = await peer.rest();
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.match(text, /"error":\{"message":/);
  });
}

test('CONNECT is refused in JSON, logged, and the connection is closed', async () => {
  using peer = connectRaw(front.port, 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n');
  const text = await peer.rest();
  assert.match(text, /^HTTP\/1\.1 405 /);
  assert.match(text, /^allow: *\r$/m);
  const { message, requestId } = readShape('compatible', text.split('\r\n\r\n')[1] ?? '');
  assert.match(message, /'CONNECT'/);
  const line = front.lines.find((each) => each['requestId'] === requestId);
  assert.deepEqual([line?.['status'], line?.['kind']], [405, 'method-not-allowed']);
});

test('garbage after a request does not answer it: its own answer comes, then the end', async () => {
  for (const stream of [false, true]) {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    const generate: Generate = () => {
      const batches = (async function* () {
        yield [START, OPEN, say('Hel')];
        await go;
        yield [say('lo'), ...END];
      })();
      return Promise.resolve({ batches, ignored: [] });
    };
    await using gated = await startHttp({ generate });
    const body = JSON.stringify({ model: 'svc-plus', stream, messages: [{ role: 'user', content: 'Hi' }] });
    using peer = connectRaw(gated.port, chatRequest(body));
    while (gated.http.inFlight() === 0) await turn();
    if (stream) await peer.until('Hel');
    peer.socket.write('no HTTP at all\r\n\r\n');
    while (!gated.lines.some((line) => line['operation'] === 'unreadable')) await turn();
    peer.socket.write('and more of it\r\n\r\n');
    for (let turns = 0; turns < 20; turns++) await turn();
    resolve();
    const text = await peer.rest();
    assert.match(text, stream ? /"lo"[^]*\[DONE\]/ : /"content":"Hello"/);
    assert.equal(text.split('HTTP/1.1 ').length, 2, text);
    assert.equal(gated.lines.filter((line) => line['operation'] === 'unreadable').length, 1);
  }
});

test('an answered request whose rest never comes gets no second answer', async () => {
  using peer = connectRaw(
    impatient.port,
    chatRequest('x', ['content-encoding: gzip']).replace('length: 1', 'length: 99'),
  );
  const text = await peer.rest();
  assert.match(text, /^HTTP\/1\.1 400 /);
  assert.equal(text.split('HTTP/1.1 ').length, 2, text);
});

test('a request without a host is answered', async () => {
  using peer = connectRaw(front.port, 'GET /health HTTP/1.1\r\nconnection: close\r\n\r\n');
  assert.match(await peer.rest(), /^HTTP\/1\.1 200 [^]*\{"status":"ok"\}$/);
});

test('a preflight is answered without a key, and only where pages may call', async () => {
  const cors = { origins: ['https://app.example.com'] };
  await using open = await startHttp({ cors });
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
  assert.equal((await ask(open.url, 'https://evil.example.com')).headers.get('access-control-allow-origin'), null);
  assert.equal((await ask(front.url, 'https://app.example.com')).status, 405);
  const refused = await fetch(`${open.url}/v1/models`, { headers: { origin: 'https://app.example.com' } });
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get('access-control-allow-origin'), 'https://app.example.com');
  assert.equal(refused.headers.get('vary'), 'Origin');
  for (const name of ['x-parley-ignored', 'x-parley-dropped-items', 'deprecation', 'link', 'retry-after']) {
    assert.ok(refused.headers.get('access-control-expose-headers')?.split(', ').includes(name), name);
  }
});
