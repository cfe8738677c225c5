import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connectRaw, startHttp } from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';

let front: TestHttp;
before(async () => {
  front = await startHttp({ operatorToken: 'op' });
});
after(() => front[Symbol.asyncDispose]());

const good = { authorization: 'Bearer sk-good' };
const concrete = (path: string): string => path.replaceAll(/:\w+/g, 'x1');

/** The whole list of what answers without a key. */
const PUBLIC = ['GET /health', 'HEAD /health'];

test('every route but the public ones is closed without a key', async () => {
  const open: string[] = [];
  // Of the methods that a path does not have, a few stand for all.
  const walked = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PURGE']);
  const routes = front.http.routes.flatMap((route) =>
    route.methods.filter((method) => walked.has(method)).map((method) => ({ ...route, method })),
  );
  for (const { method, path, isPublic } of routes) {
    const response = await fetch(front.url + concrete(path), {
      method,
      // As through a proxy: the probes are open on the loopback only.
      headers: { 'x-forwarded-for': '203.0.113.7' },
    }).catch(() => undefined); // fetch has no TRACE
    if (!response) {
      assert.equal(method, 'TRACE');
      continue;
    }
    await response.arrayBuffer();
    if (response.status === 405) assert.ok(isPublic && response.headers.get('allow'), `${method} ${path}`);
    else if (response.status !== 401) open.push(`${method} ${path}`);
    assert.match(response.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
  }
  assert.deepEqual(open, PUBLIC);
});

test('every compatible route has a bare twin, and HEAD comes with GET', async () => {
  const keys = new Set(front.http.routes.map(({ methods, path }) => `${methods.join()} ${path}`));
  for (const { methods, path } of front.http.routes) {
    if (path.startsWith('/compatible-mode/v1/')) {
      assert.ok(keys.has(`${methods.join()} ${path.slice('/compatible-mode'.length)}`), path);
    }
  }
  const head = await fetch(`${front.url}/v1/models`, { method: 'HEAD', headers: good });
  assert.equal(head.status, 200);
  assert.ok(Number(head.headers.get('content-length')) > 0);
  assert.equal(await head.text(), '');
});

test('models are listed and got, an unknown one is 404 and names those there are', async () => {
  const object = { id: 'svc-plus', object: 'model', created: 1_735_120_033, owned_by: 'system' };
  const list = await fetch(`${front.url}/v1/models`, { headers: good });
  assert.deepEqual(await list.json(), { object: 'list', data: [object] });
  const get = await fetch(`${front.url}/compatible-mode/v1/models/svc-plus`, { headers: good });
  assert.deepEqual(await get.json(), object);
  const none = await fetch(`${front.url}/compatible-mode/v1/models/a%2Fb`, { headers: good });
  assert.equal(none.status, 404);
  const { error } = (await none.json()) as { error: { code: string; message: string } };
  assert.equal(error.code, 'model_not_found');
  assert.match(error.message, /`a\/b` does not exist.*svc-plus/);
});

test('a documented path that is not served says so, in its own shape', async () => {
  const native = await fetch(`${front.url}/api/v1/files`, { headers: good });
  assert.equal(native.status, 400);
  const flat = (await native.json()) as { code: string; message: string; request_id: string };
  assert.equal(flat.code, 'UnsupportedOperation');
  assert.equal(flat.message, 'Files (GET /api/v1/files) is not served by this version.');
  const policy = await fetch(`${front.url}/api/v1/uploads?action=getPolicy`, { headers: good });
  const off = (await policy.json()) as { code: string; message: string };
  assert.equal(off.code, 'UnsupportedOperation');
  assert.match(off.message, /^Upload policies \(GET \/api\/v1\/uploads\) is not served: there is no bucket/);
  assert.equal(flat.request_id, native.headers.get('x-request-id'));
  const messages = await fetch(`${front.url}/apps/anthropic/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': 'sk-good' },
    body: '{}',
  });
  assert.equal(messages.status, 400);
  const nested = (await messages.json()) as { type: string; error: { type: string }; request_id: string };
  assert.deepEqual([nested.type, nested.error.type], ['error', 'invalid_request_error']);
  assert.equal(messages.headers.get('request-id'), nested.request_id);
});

test('a route has its own credentials and shape, however its path is written', async () => {
  for (const target of [
    '/apps//anthropic/v1/messages',
    '//apps/anthropic/v1/messages',
    '/apps/%61nthropic/v1/messages?beta=true',
    'http://localhost/apps/anthropic/v1/messages',
    'HTTP://localhost//apps/anthropic/v1/messages/',
  ]) {
    const send = async (header: string): Promise<string> => {
      const head = [`POST ${target} HTTP/1.1`, 'host: localhost', 'connection: close', header];
      using peer = connectRaw(front.port, `${head.join('\r\n')}\r\n\r\n`);
      return await peer.rest();
    };
    const taken = await send('x-api-key: sk-good');
    assert.match(taken, /^HTTP\/1\.1 400 [^]*^request-id: [^]*\{"type":"error","error":\{[^]*is not served/m, target);
    assert.match(await send('x: y'), /^HTTP\/1\.1 401 [^]*\{"type":"error"/, target);
  }
});

test('a path that is nobody’s is refused in the shape of where it lies, however it is written', async () => {
  for (const [target, shape] of [
    ['/apps//anthropic/x', /\{"type":"error"/],
    ['/apps/%61nthrop%69c/x', /\{"type":"error"/],
    ['/%61%70i/x', /\{"code":"NotFound"/],
    ['http://localhost/apps/anthropic/x', /\{"type":"error"/],
    ['http://localhost/api/x?y', /\{"code":"NotFound"/],
    ['http://localhost', /\{"error":\{/],
    ['http://localhost?/api/x', /\{"error":\{/],
    ['/apps/anthropic%2Fx', /\{"error":\{/],
    ['*', /\{"error":\{/],
  ] as const) {
    using peer = connectRaw(front.port, `OPTIONS ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    const text = await peer.rest();
    assert.match(text, /^HTTP\/1\.1 404 /, target);
    assert.match(text, shape, target);
  }
});

test('a path parameter that is too long names nothing', async () => {
  const path = `/compatible-mode/v1/models/${'x'.repeat(513)}`;
  const response = await fetch(front.url + path, { headers: good });
  assert.equal(response.status, 404);
  const { error } = (await response.json()) as { error: { message: string } };
  assert.equal(error.message, 'Not found!');
});

test('slashes too many are forgiven', async () => {
  assert.equal((await fetch(`${front.url}//v1//models/`, { headers: good })).status, 200);
});

test('an incoming request id is not taken over', async () => {
  const response = await fetch(`${front.url}/v1/models`, { headers: { ...good, 'x-request-id': 'mine' } });
  assert.notEqual(response.headers.get('x-request-id'), 'mine');
  assert.match(response.headers.get('server-timing') ?? '', /^total;dur=\d/);
});

test('the probes are open on the loopback, or with the operator token', async () => {
  const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
    (await fetch(front.url + path, { headers })).status;
  const far = { 'x-forwarded-for': '203.0.113.7' };
  assert.equal(await status('/health', far), 200);
  assert.equal(await status('/ready'), 200);
  assert.equal(await status('/metrics'), 200);
  assert.equal(await status('/ready', { forwarded: 'for=203.0.113.7' }), 401);
  assert.equal(await status('/metrics', far), 401);
  assert.equal(await status('/metrics', { ...far, authorization: 'Bearer op' }), 200);
  assert.equal(await status('/metrics', { ...far, authorization: 'Bearer sk-good' }), 401);
});

test('not ready is 503 with the facts', async () => {
  const asked = { ready: () => Promise.resolve({ ready: false, engine: 'starting' }) };
  await using starting = await startHttp({ probes: asked });
  const response = await fetch(`${starting.url}/ready`);
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), { ready: false, engine: 'starting' });
});
