import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { connectRaw, startTestHttp } from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';

let server: TestHttp;
before(async () => {
  server = await startTestHttp({ operator: { token: 'op' }, limits: { refusalsPerAddress: 1_000_000 } });
});
after(() => server[Symbol.asyncDispose]());

const good = { authorization: 'Bearer sk-good' };
const fillPath = (path: string): string => path.replaceAll(/:\w+/g, 'x1');

/** All routes that answer without a key. */
const BASE_URLS = ['/', '/v1', '/compatible-mode/v1', '/apps/anthropic', '/apps/anthropic/v1', '/api/v1'];
const PUBLIC = ['/health', ...BASE_URLS].flatMap((path) => [`GET ${path}`, `HEAD ${path}`]);

test('rejects requests without a key on all routes except the public ones', async () => {
  const open: string[] = [];
  // A sample of the methods that a path does not support.
  const sampledMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PURGE']);
  const routes = server.http.routes.flatMap((route) =>
    route.methods.filter((method) => sampledMethods.has(method)).map((method) => ({ ...route, method })),
  );
  for (const { method, path, isPublic } of routes) {
    const response = await fetch(server.url + fillPath(path), {
      method,
      // As behind a proxy: without a token the probes answer on the loopback interface only.
      headers: { 'x-forwarded-for': '203.0.113.7' },
    }).catch(() => undefined); // fetch does not support TRACE
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

test('serves every compatible route also without its prefix, and HEAD wherever GET is served', async () => {
  const keys = new Set(server.http.routes.map(({ methods, path }) => `${methods.join()} ${path}`));
  for (const { methods, path } of server.http.routes) {
    if (path.startsWith('/compatible-mode/v1/')) {
      assert.ok(keys.has(`${methods.join()} ${path.slice('/compatible-mode'.length)}`), path);
    }
  }
  const head = await fetch(`${server.url}/v1/models`, { method: 'HEAD', headers: good });
  assert.equal(head.status, 200);
  assert.ok(Number(head.headers.get('content-length')) > 0);
  assert.equal(await head.text(), '');
});

test('lists and returns models, and answers an unknown model with 404 and the available names', async () => {
  const object = { id: 'svc-plus', object: 'model', created: 1_735_120_033, owned_by: 'system' };
  const list = await fetch(`${server.url}/v1/models`, { headers: good });
  assert.deepEqual(await list.json(), { object: 'list', data: [object] });
  const get = await fetch(`${server.url}/compatible-mode/v1/models/svc-plus`, { headers: good });
  assert.deepEqual(await get.json(), object);
  const unknown = await fetch(`${server.url}/compatible-mode/v1/models/a%2Fb`, { headers: good });
  assert.equal(unknown.status, 404);
  const { error } = (await unknown.json()) as { error: { code: string; message: string } };
  assert.equal(error.code, 'model_not_found');
  assert.match(error.message, /`a\/b` does not exist.*svc-plus/);
});

test('names an unserved interface in the error shape of its family', async () => {
  const native = await fetch(`${server.url}/api/v1/files`, { headers: good });
  assert.equal(native.status, 400);
  const flat = (await native.json()) as { code: string; message: string; request_id: string };
  assert.equal(flat.code, 'UnsupportedOperation');
  assert.equal(flat.message, 'Files (GET /api/v1/files) is not served by this version of Parley.');
  const policy = await fetch(`${server.url}/api/v1/uploads?action=getPolicy`, { headers: good });
  const unserved = (await policy.json()) as { code: string; message: string };
  assert.equal(unserved.code, 'UnsupportedOperation');
  assert.match(
    unserved.message,
    /^Upload policies \(GET \/api\/v1\/uploads\) is not served: this service has no bucket for direct uploads/,
  );
  assert.equal(flat.request_id, native.headers.get('x-request-id'));
  const messages = await fetch(`${server.url}/apps/anthropic/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': 'sk-good' },
    body: '{}',
  });
  assert.equal(messages.status, 400);
  const nested = (await messages.json()) as { type: string; error: { type: string }; request_id: string };
  assert.deepEqual([nested.type, nested.error.type], ['error', 'invalid_request_error']);
  assert.equal(messages.headers.get('request-id'), nested.request_id);
});

test('applies the credentials and shape of a route to every spelling of its path', async () => {
  for (const target of [
    '/apps//anthropic/v1/messages',
    '//apps/anthropic/v1/messages',
    '/apps/%61nthropic/v1/messages?beta=true',
    'http://localhost/apps/anthropic/v1/messages',
    'HTTP://localhost//apps/anthropic/v1/messages/',
  ]) {
    const send = async (header: string): Promise<string> => {
      const head = [`POST ${target} HTTP/1.1`, 'host: localhost', 'connection: close', header];
      using peer = connectRaw(server.port, `${head.join('\r\n')}\r\n\r\n`);
      return await peer.readToEnd();
    };
    const accepted = await send('x-api-key: sk-good');
    assert.match(
      accepted,
      /^HTTP\/1\.1 400 [^]*^request-id: [^]*\{"type":"error","error":\{[^]*is not served/m,
      target,
    );
    assert.match(await send('x: y'), /^HTTP\/1\.1 401 [^]*\{"type":"error"/, target);
  }
});

test('answers an unknown path in the shape of its prefix, however it is spelled', async () => {
  for (const [target, shape] of [
    ['/apps//anthropic/x', /\{"type":"error"/],
    ['/apps/%61nthrop%69c/x', /\{"type":"error"/],
    ['/%61%70i/x', /\{"code":"NotFound"/],
    ['http://localhost/apps/anthropic/x', /\{"type":"error"/],
    ['http://localhost/api/x?y', /\{"code":"NotFound"/],
    ['http://localhost/x?/api/x', /\{"error":\{/],
    ['/apps/anthropic%2Fx', /\{"error":\{/],
  ] as const) {
    using peer = connectRaw(server.port, `OPTIONS ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    const text = await peer.readToEnd();
    assert.match(text, /^HTTP\/1\.1 404 /, target);
    assert.match(text, shape, target);
  }
});

test('answers a path parameter above the length limit with 404 and a truncated path', async () => {
  const path = `/compatible-mode/v1/models/${'x'.repeat(513)}`;
  const response = await fetch(server.url + path, { headers: good });
  assert.equal(response.status, 404);
  const { error } = (await response.json()) as { error: { message: string } };
  assert.equal(error.message, `Not found! No route matches GET ${path.slice(0, 200)}.`);
});

test('ignores repeated and trailing slashes', async () => {
  assert.equal((await fetch(`${server.url}//v1//models/`, { headers: good })).status, 200);
});

test('ignores the request id of the client', async () => {
  const response = await fetch(`${server.url}/v1/models`, { headers: { ...good, 'x-request-id': 'mine' } });
  assert.notEqual(response.headers.get('x-request-id'), 'mine');
  assert.match(response.headers.get('server-timing') ?? '', /^total;dur=\d/);
});

test('answers probes on the loopback interface or with the operator token', async () => {
  const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
    (await fetch(server.url + path, { headers })).status;
  const forwarded = { 'x-forwarded-for': '203.0.113.7' };
  assert.equal(await status('/health', forwarded), 200);
  assert.equal(await status('/ready'), 200);
  assert.equal(await status('/metrics'), 200);
  assert.equal(await status('/ready', { forwarded: 'for=203.0.113.7' }), 401);
  assert.equal(await status('/metrics', forwarded), 401);
  assert.equal(await status('/metrics', { ...forwarded, authorization: 'Bearer op' }), 200);
  assert.equal(await status('/metrics', { ...forwarded, authorization: 'Bearer sk-good' }), 401);
});

test('answers /ready with 503 and the report while the service is not ready', async () => {
  const probe = { checkReadiness: () => Promise.resolve({ ready: false, engine: 'starting' }) };
  await using starting = await startTestHttp({ probes: probe });
  const response = await fetch(`${starting.url}/ready`);
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), { ready: false, engine: 'starting' });
});

test('answers a base URL with a pointer to the documentation, without a key', async () => {
  for (const path of BASE_URLS) {
    const response = await fetch(`${server.url}${path}`);
    assert.equal(response.status, 200);
    const { documentation } = (await response.json()) as { documentation: string };
    assert.ok(existsSync(documentation), documentation);
    assert.equal((await fetch(`${server.url}${path}`, { method: 'HEAD' })).status, 200);
  }
});

for (const [method, path, expected] of [
  ['POST', '/v1/v1/chat/completions', '/v1/chat/completions'],
  ['POST', '/chat/completions', '/v1/chat/completions'],
  ['POST', '/api/v1/chat/completions', '/v1/chat/completions'],
  ['POST', '/compatible-mode/v1/compatible-mode/v1/chat/completions', '/compatible-mode/v1/chat/completions'],
  ['POST', '/v1/chat/completions/chat/completions', '/v1/chat/completions'],
  ['GET', '/openai/models/svc-plus?x=1', '/v1/models/svc-plus'],
] as const)
  test(`names the path that works for ${method} ${path}`, async () => {
    const response = await fetch(`${server.url}${path}`, { method, headers: good });
    assert.equal(response.status, 404);
    assert.match(await response.text(), new RegExp(`Did you mean ${method} ${expected}\\? Check the base URL`));
  });

test('proposes no path for what no path resembles', async () => {
  for (const path of ['/nothing/at/all', '/v1/nothing', '/chat/completion']) {
    const text = await (await fetch(`${server.url}${path}`, { headers: good })).text();
    assert.ok(!text.includes('Did you mean'), text);
  }
});
