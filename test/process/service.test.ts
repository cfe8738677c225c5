import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startParley } from '../clients/harness.ts';
import { getCapabilitySkipReason } from '../capabilities.ts';
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { findLogLines } from '../log-lines.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const TIMEOUT = { timeoutMs: 30_000 };

const sendChat = (
  parley: Pick<Parley, 'baseUrl' | 'key'>,
  content: string,
  more: object = {},
  init: RequestInit = {},
) =>
  fetch(`${parley.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content }], ...more }),
    ...init,
  });

/** Runs a command without blocking this process: the service closes connections that are silent for 20 s. */
const runCommand = async (parley: Parley, ...args: string[]) => {
  const nodeArgs = ['--disable-warning=ExperimentalWarning', CLI, ...args, '--data', parley.data];
  const child = spawn(process.execPath, nodeArgs, { stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
  const [status] = await closed;
  return { status, stdout, stderr };
};

describe('running service', () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({ engine: 'scripted', sequences: 64, asksFirstQuestion: true });
  });
  after(() => parley.stop());

  test('makes key, operator token and database readable for its user only', () => {
    for (const file of ['key', 'operator-token', 'parley.db'])
      assert.equal(statSync(join(parley.data, file)).mode & 0o777, 0o600, file);
  });

  test('prints the interfaces, the addresses, the file of the key, an example command, and a first answer', async () => {
    const output = await parley.waitForOutput(/first after/);
    assert.match(output, /Chat completions +on/);
    assert.match(output, /Messages +on/);
    for (const [name, served] of [
      ['research', /Deep research +on/],
      ['recognition', /Realtime recognition +o/],
    ] as const)
      assert.equal(served.test(output), getCapabilitySkipReason(name) === false, name);
    assert.match(output, /Reranking +off +No reranking model is configured/);
    assert.match(output, /China \(Beijing\)/);
    assert.ok(output.includes(`Key: see ${join(parley.data, 'key')}`), output);
    assert.ok(!output.includes(parley.key), 'the secret is printed on a terminal only');
    assert.match(output, /curl http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions/);
    assert.match(output, /You said: In one short sentence/);
  });

  test('completes 50 concurrent streams', async () => {
    const texts = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const response = await sendChat(parley, `script:[{"repeat":"w${i} ","times":40,"perTick":1}]`, {
          stream: true,
        });
        return { i, text: await response.text() };
      }),
    );
    for (const { i, text } of texts) {
      assert.equal(text.split(`"content":"w${i} "`).length - 1, 40);
      assert.ok(text.endsWith('data: [DONE]\n\n'));
    }
  });

  test('ends a stream with an error and without [DONE] when the engine fails', async () => {
    const text = await (
      await sendChat(parley, 'script:["Hel",{"delayMs":30},{"fail":"engine-failed"}]', { stream: true })
    ).text();
    assert.match(text, /"content":"Hel"/);
    assert.match(text, /data: \{"error":\{/);
    assert.ok(!text.includes('[DONE]'));
    assert.ok(!text.includes('"finish_reason":"stop"'));
  });

  test('returns 500 when the engine vanishes', async () => {
    const response = await sendChat(parley, 'script:[{"delayMs":1},{"vanish":true}]');
    assert.equal(response.status, 500);
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'internal_error');
  });

  test('logs the usage of a stream that the client aborted', async () => {
    const leaving = new AbortController();
    const response = await sendChat(
      parley,
      'script:["one ","two ",{"hang":true}]',
      { stream: true },
      { signal: leaving.signal },
    );
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail();
    // The two words may arrive separately.
    for (let text = ''; !text.includes('"two "');) text += (await reader.read()).value ?? assert.fail(text);
    leaving.abort();
    const requestId = response.headers.get('x-request-id') ?? '';
    const logLine = await until('the log line', TIMEOUT, async () =>
      findLogLines(parley.output(), 'request').find((line) => line['requestId'] === requestId),
    );
    assert.equal(logLine['completionTokens'], 2);
    assert.equal(logLine['ended'], 'cancelled');
    assert.ok(!JSON.stringify(logLine).includes('one '));
  });

  test('accepts keys of the command at once, and refuses them soon after revocation', async () => {
    const created = await runCommand(parley, 'keys', 'create', '--workspace', 'team-a', '--json');
    assert.equal(created.status, 0, created.stderr);
    const { id, key } = JSON.parse(created.stdout) as { id: string; key: string };
    assert.equal((await sendChat({ ...parley, key }, 'Hi')).status, 200);
    assert.equal((await runCommand(parley, 'keys', 'revoke', id)).status, 0);
    // The service caches a key for 5 s. The time of sending counts, because the response may be slow on a busy machine.
    const revokedAt = performance.now();
    await until('the refusal', TIMEOUT, async () => {
      const sentMs = performance.now() - revokedAt;
      const isRefused = (await sendChat({ ...parley, key }, 'Hi')).status === 401;
      assert.ok(isRefused || sentMs < 6_000, `accepted after ${sentMs} ms`);
      return isRefused ? true : undefined;
    });
  });

  test('serves models that a command adds while it runs', async () => {
    const added = await runCommand(parley, 'models', 'add', 'added-model', '--hub', 'owner/repo/model.gguf');
    assert.equal(added.status, 0, added.stderr);
    await until('the new model', TIMEOUT, async () =>
      (await sendChat(parley, 'Hi', { model: 'added-model' })).status === 200 ? true : undefined,
    );
  });

  test('keeps its models when the configuration file becomes invalid', async () => {
    const file = join(parley.data, 'parley.yaml');
    const good = readFileSync(file, 'utf8');
    writeFileSync(file, `${good}\nmodels: [`);
    await parley.waitForOutput(/The models were not reloaded/);
    assert.equal((await sendChat(parley, 'Hi', { model: 'added-model' })).status, 200);
    writeFileSync(file, good);
  });

  test('serves /health to everyone, and /ready and /metrics to the loopback or with the operator token', async () => {
    assert.equal((await fetch(`${parley.address}/health`)).status, 200);
    assert.equal((await fetch(`${parley.address}/metrics`)).status, 200);
    const forwarded = { 'x-forwarded-for': '203.0.113.9' };
    assert.equal((await fetch(`${parley.address}/metrics`, { headers: forwarded })).status, 401);
    const token = readFileSync(join(parley.data, 'operator-token'), 'utf8').trim();
    assert.equal(
      (await fetch(`${parley.address}/ready`, { headers: { ...forwarded, authorization: `Bearer ${token}` } })).status,
      200,
    );
  });
});

test('finishes a running answer after SIGTERM, refuses new requests, and leaves no process', async () => {
  const parley = await startParley({ engine: 'scripted' });
  const response = await sendChat(parley, 'script:["begin ",{"delayMs":1500},"end"]', { stream: true });
  const text = response.text();
  const stopped = parley.stop();
  await until('new connections are refused', TIMEOUT, async () => {
    try {
      const lateResponse = await sendChat(parley, 'Hi');
      return lateResponse.status === 503 ? true : undefined;
    } catch {
      return true;
    }
  });
  assert.ok((await text).endsWith('data: [DONE]\n\n'));
  await stopped;
  assert.throws(() => process.kill(parley.pid, 0), { code: 'ESRCH' });
  assert.ok(!existsSync(parley.data));
});

describe('service with several regions', () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({
      engine: 'scripted',
      config: [
        'regions:',
        '  cn-beijing: {}',
        '  ap-southeast-1:',
        "    hosts: ['{workspace}.ap-southeast-1.example.test']",
        "    deprecatedHosts: ['legacy.example.test']",
        "    deprecated: { since: '2026-01-31', link: 'https://docs.example.test/move' }",
        '  us-east-1: { hosts: [us.example.test] }',
        '',
      ].join('\n'),
    });
  });
  after(() => parley.stop());

  test('prints every region with its addresses and host names', async () => {
    const output = await parley.waitForOutput(/Try:/);
    // Log lines come from the other stream and may appear anywhere.
    const printedLines = output.split('\n').filter((line) => !line.startsWith('{'));
    const firstIndex = printedLines.findIndex((line) => line.includes('China (Beijing)'));
    const lines = printedLines.slice(firstIndex, firstIndex + 12);
    assert.deepEqual(
      lines.map((line) => line.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'URL').replaceAll(/ +/g, ' ')),
      [
        'China (Beijing) (cn-beijing)',
        ' chat completions URL/compatible-mode/v1 (or URL/v1)',
        ' messages URL/apps/anthropic',
        ' native URL/api/v1',
        'Singapore (ap-southeast-1)',
        ' chat completions URL/compatible-mode/v1 (or URL/v1)',
        ' messages URL/apps/anthropic',
        ' native URL/api/v1',
        ' host name {workspace}.ap-southeast-1.example.test (on URL)',
        ' host name legacy.example.test (on URL; deprecated)',
        'US (Virginia) (us-east-1)', // Uses the listener above.
        ' host name us.example.test (on URL)',
      ],
    );
  });

  /** Requests the model list. `fetch` does not allow a Host header. */
  const requestModels = (host: string, key: string) =>
    new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
      const outgoing = request(
        `${parley.baseUrl}/models`,
        { headers: { host, authorization: `Bearer ${key}` } },
        (response) => {
          let body = '';
          response.setEncoding('utf8');
          response.on('data', (text: string) => (body += text));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
        },
      );
      outgoing.on('error', reject);
      outgoing.end();
    });

  test('accepts a key in its region only, and on a host name with a workspace in that workspace only', async () => {
    const created = await runCommand(
      parley,
      'keys',
      'create',
      '--region',
      'ap-southeast-1',
      '--workspace',
      'team-a',
      '--json',
    );
    const { key } = JSON.parse(created.stdout) as { key: string };
    assert.equal((await requestModels('team-a.ap-southeast-1.example.test', key)).status, 200);
    assert.equal((await requestModels('team-b.ap-southeast-1.example.test', key)).status, 403);
    const otherRegion = await requestModels('127.0.0.1', key);
    assert.equal(otherRegion.status, 401);
    assert.match(otherRegion.body, /Singapore.*Beijing/);
  });

  test('sends a deprecation header on a deprecated host name', async () => {
    const created = await runCommand(parley, 'keys', 'create', '--region', 'ap-southeast-1', '--json');
    const { key } = JSON.parse(created.stdout) as { key: string };
    const response = await requestModels('legacy.example.test', key);
    assert.equal(response.status, 200);
    assert.equal(response.headers['deprecation'], `@${Date.parse('2026-01-31') / 1000}`);
    assert.match(String(response.headers['link']), /^<https:\/\/docs\.example\.test\/move>; rel="/);
    assert.equal((await requestModels('127.0.0.1', parley.key)).headers['deprecation'], undefined);
  });
});
