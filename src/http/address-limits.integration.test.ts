import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, test } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { groupAddress } from './address-limits.ts';
import { connectRaw, startTestHttp, type TestHttp } from './__fixtures__/test-http.ts';

const HEALTH = 'GET /health HTTP/1.1\r\n\r\n';

const getModels = (key: string): string => `GET /v1/models HTTP/1.1\r\nauthorization: Bearer ${key}\r\n\r\n`;

/** Sends a request from another address, and returns the first bytes of the answer. */
async function requestFromElsewhere({ port }: TestHttp, request: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  socket.write(request);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return answer.toString();
}

describe('connections of one address', () => {
  it('above the limit are refused with 429, until one is closed', async () => {
    await using server = await startTestHttp({ limits: { connectionsPerAddress: 2 } });
    using first = connectRaw(server.port, HEALTH);
    using second = connectRaw(server.port, HEALTH);
    await first.readUntil('"ok"');
    await second.readUntil('"ok"');
    using third = connectRaw(server.port, '');
    const refusal = await third.readToEnd();
    assert.match(refusal, /^HTTP\/1\.1 429 [^]*retry-after: 1\r\n[^]*limit of 2 open connections/);
    assert.match(await requestFromElsewhere(server, HEALTH), /^HTTP\/1\.1 200 /);
    first.socket.destroy();
    await assertServed(server);
  });

  it('have no limit if it is a trusted proxy', async () => {
    await using server = await startTestHttp({
      limits: { connectionsPerAddress: 1 },
      operator: { trustedProxies: ['127.0.0.0/8'] },
    });
    using first = connectRaw(server.port, HEALTH);
    using second = connectRaw(server.port, HEALTH);
    for (const peer of [first, second]) await peer.readUntil('"ok"');
  });
});

/** Waits until a new connection is served: the service learns asynchronously that one was closed. */
async function assertServed(server: TestHttp): Promise<void> {
  for (;;) {
    using peer = connectRaw(server.port, 'GET /health HTTP/1.1\r\nconnection: close\r\n\r\n');
    if ((await peer.readToEnd()).startsWith('HTTP/1.1 200 ')) return;
    await yieldToEventLoop();
  }
}

describe('requests without a valid key', () => {
  /** A service that lets an address have two refusals, and then never checks a key that was not valid before. */
  const startStrict = (known: readonly string[] = []): Promise<TestHttp & { readonly checked: string[] }> =>
    startCounting({ refusalsPerAddress: 2, refusalDelayMs: 60_000 }, known);

  it('wait above the rate of their address, before the key is checked', async () => {
    await using server = await startStrict();
    using peer = connectRaw(server.port, getModels('sk-1') + getModels('sk-2') + getModels('sk-3'));
    while (server.http.countInFlight() < 1 || server.logLines.length < 2) await yieldToEventLoop();
    assert.deepEqual(server.checked, ['sk-1', 'sk-2']);
    peer.socket.destroy();
    while (server.http.countInFlight() > 0) await yieldToEventLoop();
  });

  it('leave requests with a key that was valid before alone', async () => {
    await using server = await startStrict(['sk-good']);
    using peer = connectRaw(server.port, getModels('sk-1') + getModels('sk-2') + getModels('sk-good'));
    assert.match(await peer.readUntil('svc-plus'), /HTTP\/1\.1 200 /);
  });

  it('include bytes that are no HTTP, whose connections are closed without an answer above the rate', async () => {
    await using server = await startStrict();
    const answers: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      using peer = connectRaw(server.port, 'no HTTP\r\n\r\n');
      answers.push((await peer.readToEnd()).slice(0, 12));
    }
    assert.deepEqual(answers, ['HTTP/1.1 400', 'HTTP/1.1 400', '']);
  });

  it('are only late when their key is valid', async () => {
    await using server = await startCounting({ refusalsPerAddress: 1, refusalDelayMs: 1 }, []);
    using peer = connectRaw(server.port, getModels('sk-1') + getModels('sk-good'));
    assert.match(await peer.readUntil('svc-plus'), /HTTP\/1\.1 401 [^]*HTTP\/1\.1 200 /);
  });

  it('do not delay probes and base URLs of the same address', async () => {
    await using server = await startStrict();
    using peer = connectRaw(server.port, getModels('sk-1') + getModels('sk-2') + getModels('sk-3'));
    while (server.logLines.length < 2) await yieldToEventLoop();
    for (const path of ['/health', '/ready', '/metrics', '/v1']) {
      using other = connectRaw(server.port, `GET ${path} HTTP/1.1\r\n\r\n`);
      assert.match(await other.readUntil('\r\n\r\n'), /^HTTP\/1\.1 \d/, path);
    }
    peer.socket.destroy();
  });

  it('are not those that are refused for another reason than their key', async () => {
    await using server = await startStrict(['sk-good']);
    const unknownPath = 'GET /v1/none HTTP/1.1\r\nauthorization: Bearer sk-good\r\n\r\n';
    using peer = connectRaw(server.port, unknownPath.repeat(4) + getModels('sk-3'));
    await peer.readUntil('HTTP/1.1 401');
  });

  it('of another address do not count', async () => {
    await using server = await startStrict();
    using peer = connectRaw(server.port, getModels('sk-1') + getModels('sk-2') + getModels('sk-3'));
    while (server.logLines.length < 2) await yieldToEventLoop();
    assert.match(await requestFromElsewhere(server, getModels('sk-good')), /^HTTP\/1\.1 200 /);
    peer.socket.destroy();
  });
});

/** Starts a service that records the keys that it checks. */
async function startCounting(
  limits: object,
  known: readonly string[],
): Promise<TestHttp & { readonly checked: string[] }> {
  const checked: string[] = [];
  const server = await startTestHttp({
    limits,
    wasValid: (secret) => known.includes(secret),
    // No refill during the test.
    clock: { now: () => Date.now(), monotonic: () => 0 },
    authenticate: async (secret) => {
      checked.push(secret);
      return secret === 'sk-good'
        ? { status: 'valid', record: { id: 'key_1', region: 'cn-beijing', workspace: 'primary' } }
        : { status: 'unknown' };
    },
  });
  return { ...server, checked };
}

test('limits count for an IPv4 address, and for the /64 network of an IPv6 address', () => {
  for (const [address, group] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['2001:db8:1::', '2001:db8:1:0'],
  ] as const)
    assert.equal(groupAddress(address), group);
});
