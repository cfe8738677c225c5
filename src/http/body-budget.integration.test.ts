import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { systemClock } from '../lib/clock.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { LARGE_BODY_BYTES } from './limits.ts';
import { KEY_CHECK_MS } from './revoked-keys.ts';
import { connectRaw, type RawConnection, startTestHttp } from './__fixtures__/test-http.ts';

const MIB = 1024 * 1024;

/** A workspace may have one body of a MiB, and all workspaces two. */
const LIMITS = { bodyBytesMax: MIB, workspaceBodiesBytesMax: MIB, bodiesBytesMax: 2 * MIB };

const createLengthEndpoint = (
  path: string,
  family: Endpoint['family'],
  onDisconnect: Endpoint['onDisconnect'] = 'cancel',
): Endpoint => ({
  operation: 'test.length',
  method: 'POST',
  path,
  family,
  regions: ['cn-beijing'],
  onDisconnect,
  handle: async ({ body }) => ({ type: 'json', status: 200, body: { chars: JSON.stringify(body).length } }),
});

const startServer = (overrides: Parameters<typeof startTestHttp>[0] = {}) =>
  startTestHttp({
    more: [
      createLengthEndpoint('/compatible-mode/v1/length', 'compatible'),
      createLengthEndpoint('/compatible-mode/v1/kept-length', 'compatible', 'finish'),
      createLengthEndpoint('/apps/anthropic/v1/length', 'messages'),
      createLengthEndpoint('/api/v1/length', 'native'),
    ],
    ...overrides,
    limits: { ...LIMITS, ...overrides.limits },
  });

const createBody = (length: number): string => `"${'x'.repeat(length - 2)}"`;

interface SendOptions {
  readonly key?: string;
  readonly path?: string;
  readonly headers?: string;
}

/** Sends the head of a request. The service answers `100 Continue` when it is ready for the body. */
const sendHead = (
  { port }: { readonly port: number },
  length: number | 'chunked',
  { key = 'sk-good', path = '/v1/length', headers = '' }: SendOptions = {},
): RawConnection =>
  connectRaw(
    port,
    `POST ${path} HTTP/1.1\r\nauthorization: Bearer ${key}\r\n${headers}expect: 100-continue\r\n` +
      `${length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`}\r\n\r\n`,
  );

const untilReady = async (connection: RawConnection): Promise<void> => {
  assert.match(await connection.readUntil('\r\n\r\n'), /^HTTP\/1\.1 100 /);
};

const untilInFlight = async (
  { http }: { readonly http: { countInFlight(): number } },
  count: number,
): Promise<void> => {
  while (http.countInFlight() !== count) await yieldToEventLoop();
};

const readNow = async (connection: RawConnection): Promise<string> => {
  for (let turn = 0; turn < 20; turn += 1) await yieldToEventLoop();
  return connection.readUntil('');
};

/** Checks that the workspace of the key has all of its share. */
async function assertBodyIsRead(server: { readonly port: number }, options?: SendOptions): Promise<void> {
  using connection = sendHead(server, MIB, options);
  await untilReady(connection);
  connection.socket.write(createBody(MIB));
  await connection.readUntil(`{"chars":${MIB}}`);
}

test('reads a large body when those before it were parsed, and others of other workspaces meanwhile', async () => {
  await using server = await startServer();
  using first = sendHead(server, MIB);
  await untilReady(first);
  using second = sendHead(server, LARGE_BODY_BYTES + 1);
  await untilInFlight(server, 2);
  await assertBodyIsRead(server, { key: 'sk-sub' });
  assert.equal(await readNow(second), '');
  first.socket.write(createBody(MIB));
  await first.readUntil(`{"chars":${MIB}}`);
  await untilReady(second);
  second.socket.write(createBody(LARGE_BODY_BYTES + 1));
  await second.readUntil(`{"chars":${LARGE_BODY_BYTES + 1}}`);
});

test('leaves memory for a body of a workspace without any, although others want all', async () => {
  await using server = await startServer({ limits: { workspaceBodiesBytesMax: 2 * MIB, bodiesBytesMax: 4 * MIB } });
  using first = sendHead(server, MIB);
  using second = sendHead(server, MIB);
  using other = sendHead(server, MIB, { key: 'sk-sub' });
  for (const connection of [first, second, other]) await untilReady(connection);
  using waiting = sendHead(server, MIB, { key: 'sk-sub' });
  await untilInFlight(server, 4);
  await assertBodyIsRead(server, { key: 'sk-capitals' });
  assert.equal(await readNow(waiting), '');
  first.socket.write(createBody(MIB));
  await untilReady(waiting);
});

test('reads a small body at once, and one of unknown length until it is large', async () => {
  await using server = await startServer();
  using first = sendHead(server, MIB);
  await untilReady(first);
  using small = sendHead(server, LARGE_BODY_BYTES);
  small.socket.write(createBody(LARGE_BODY_BYTES));
  await small.readUntil(`{"chars":${LARGE_BODY_BYTES}}`);
  const toChunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
  using chunked = sendHead(server, 'chunked');
  await untilReady(chunked);
  chunked.socket.write(`${toChunk('"abc"')}0\r\n\r\n`);
  await chunked.readUntil('{"chars":5}');
  using large = sendHead(server, 'chunked');
  await untilReady(large);
  const body = createBody(MIB);
  large.socket.write(`${toChunk(body.slice(0, 600_000))}${toChunk(body.slice(600_000))}0\r\n\r\n`);
  assert.doesNotMatch(await readNow(large), /chars/);
  first.socket.write(createBody(MIB));
  await large.readUntil(`{"chars":${MIB}}`);
});

test('lets a body above the share of a workspace take all of it', async () => {
  await using server = await startServer({ limits: { bodyBytesMax: 4 * MIB } });
  using connection = sendHead(server, 4 * MIB);
  await untilReady(connection);
  using waiting = sendHead(server, LARGE_BODY_BYTES + 1);
  connection.socket.write(createBody(4 * MIB));
  await connection.readUntil(`{"chars":${4 * MIB}}`);
  await untilReady(waiting);
});

for (const [path, code] of [
  ['/v1/length', /"code":"limit_requests"/],
  ['/apps/anthropic/v1/length', /"type":"rate_limit_error"/],
  ['/api/v1/length', /"code":"Throttling/],
] as const)
  test(`refuses ${path} with 429 while as many requests of its workspace wait as may`, async () => {
    await using server = await startServer({ limits: { bodiesWaitingMax: 2 } });
    using first = sendHead(server, MIB);
    await untilReady(first);
    using waiting = sendHead(server, MIB);
    await untilInFlight(server, 2);
    // The client sends its body although the service does not read it.
    using refused = sendHead(server, MIB, { path });
    const text = await refused.readUntil('}');
    assert.match(text, /^HTTP\/1\.1 429 [^]*^retry-after: 2\r$[^]*of this workspace with large bodies/im);
    assert.match(text, code);
    await assertBodyIsRead(server, { key: 'sk-sub' });
    void waiting;
  });

test('refuses a request with 503 when requests of all workspaces fill the queue', async () => {
  await using server = await startServer({ limits: { bodiesWaitingMax: 2, bodiesBytesMax: MIB } });
  using first = sendHead(server, MIB);
  await untilReady(first);
  using waiting = sendHead(server, MIB);
  using other = sendHead(server, MIB, { key: 'sk-sub' });
  await untilInFlight(server, 3);
  using refused = sendHead(server, MIB, { key: 'sk-capitals' });
  assert.match(await refused.readUntil('}'), /^HTTP\/1\.1 503 [^]*^retry-after: 2\r$[^]*large bodies are waiting/im);
  void [waiting, other];
});

test('refuses a request with 503 when it has waited too long, and completes the one before', async () => {
  await using server = await startServer({ limits: { bodyWaitMs: 50 } });
  using first = sendHead(server, MIB);
  await untilReady(first);
  using waiting = sendHead(server, MIB);
  assert.match(await waiting.readUntil('}'), /^HTTP\/1\.1 503 [^]*^retry-after: 2\r$[^]*waited too long/im);
  first.socket.write(createBody(MIB));
  await first.readUntil(`{"chars":${MIB}}`);
});

for (const path of ['/v1/length', '/v1/kept-length'])
  test(`returns the memory of clients of ${path} that disconnect while they send or wait`, async () => {
    await using server = await startServer();
    using first = sendHead(server, MIB, { path });
    await untilReady(first);
    first.socket.write('"');
    using second = sendHead(server, MIB, { path });
    await untilInFlight(server, 2);
    second.socket.destroy();
    await untilInFlight(server, 1);
    first.socket.destroy();
    await untilInFlight(server, 0);
    await assertBodyIsRead(server);
  });

test('reserves nothing for a client that disconnected while its key was checked', async () => {
  const checked = Promise.withResolvers<void>();
  await using server = await startServer({
    authenticate: async (secret) => {
      if (secret === 'sk-late') await checked.promise;
      return { status: 'valid', record: { id: 'key_1', region: 'cn-beijing', workspace: 'primary' } };
    },
  });
  using first = sendHead(server, MIB);
  await untilReady(first);
  using second = sendHead(server, MIB, { path: '/v1/kept-length', key: 'sk-late' });
  await untilInFlight(server, 2);
  second.socket.destroy();
  for (let turn = 0; turn < 20; turn += 1) await yieldToEventLoop();
  checked.resolve();
  await untilInFlight(server, 1);
});

test('returns the memory of a body that is too slow', async () => {
  await using server = await startServer({ limits: { requestReceiveMs: 100 } });
  using slow = sendHead(server, MIB);
  await untilReady(slow);
  using waiting = sendHead(server, MIB);
  assert.match(await slow.readToEnd(), /^HTTP\/1\.1 408 /m);
  await untilReady(waiting);
});

test('returns the memory of a body that is too long or no JSON', async () => {
  await using server = await startServer();
  using long = sendHead(server, 'chunked');
  long.socket.write(`${(2 * MIB).toString(16)}\r\n${createBody(2 * MIB)}\r\n0\r\n\r\n`);
  assert.match(await long.readUntil('}'), /^HTTP\/1\.1 413 /m);
  using broken = sendHead(server, MIB);
  broken.socket.write('x'.repeat(MIB));
  assert.match(await broken.readUntil('}'), /^HTTP\/1\.1 400 /m);
  await assertBodyIsRead(server);
});

test('refuses requests whose key is revoked while they send or wait, and returns their memory', async () => {
  const checks: (() => void)[] = [];
  let skippedMs = 0;
  await using server = await startServer({
    clock: { now: systemClock.now, monotonic: () => systemClock.monotonic() + skippedMs },
    isKeyActive: async (id) => id !== 'key_1',
    startInterval: (ms, run) => {
      if (ms === KEY_CHECK_MS) checks.push(run);
      return () => undefined;
    },
    limits: { bodiesBytesMax: MIB },
  });
  using first = sendHead(server, MIB);
  await untilReady(first);
  using second = sendHead(server, MIB);
  await untilInFlight(server, 2);
  skippedMs = KEY_CHECK_MS;
  checks[0]?.();
  for (const connection of [first, second]) assert.match(await connection.readUntil('}'), /^HTTP\/1\.1 401 /m);
  await assertBodyIsRead(server, { key: 'sk-sub' });
});
