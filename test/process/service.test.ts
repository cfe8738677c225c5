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
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { logLines } from '../log-lines.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const WITHIN = { withinMs: 30_000 };

const chat = (parley: Pick<Parley, 'baseUrl' | 'key'>, content: string, more: object = {}, init: RequestInit = {}) =>
  fetch(`${parley.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content }], ...more }),
    ...init,
  });

/** This process goes on meanwhile: the service gives up connections on which it is silent for 20 s. */
const command = async (parley: Parley, ...args: string[]) => {
  const words = ['--disable-warning=ExperimentalWarning', CLI, ...args, '--data', parley.data];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
  const [status] = await ended;
  return { status, stdout, stderr };
};

describe('a running service', () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({ engine: 'scripted', sequences: 64 });
  });
  after(() => parley.stop());

  test('keeps key, operator token and database to its owner', () => {
    for (const file of ['key', 'operator-token', 'parley.db'])
      assert.equal(statSync(join(parley.data, file)).mode & 0o777, 0o600, file);
  });

  test('prints the interfaces, the addresses, the key once, a line to try, and a first answer', async () => {
    const output = await parley.outputWith(/first after/);
    assert.match(output, /Chat completions +on/);
    assert.match(output, /Messages +on/);
    assert.match(output, /Deep research +on/);
    assert.match(output, /Reranking +off +No reranking model is configured/);
    assert.match(output, /China \(Beijing\)/);
    assert.equal(output.split(parley.key).length, 2, 'the key stands there once');
    assert.match(output, /curl http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions/);
    assert.match(output, /You said: In one short sentence/);
  });

  test('answers 50 streams at once, each whole', async () => {
    const texts = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const answer = await chat(parley, `script:[{"repeat":"w${i} ","times":40,"perTick":1}]`, { stream: true });
        return { i, text: await answer.text() };
      }),
    );
    for (const { i, text } of texts) {
      assert.equal(text.split(`"content":"w${i} "`).length - 1, 40);
      assert.ok(text.endsWith('data: [DONE]\n\n'));
    }
  });

  test('breaks off a stream whose engine fails, without an end mark', async () => {
    const text = await (
      await chat(parley, 'script:["Hel",{"delayMs":30},{"fail":"engine-failed"}]', { stream: true })
    ).text();
    assert.match(text, /"content":"Hel"/);
    assert.match(text, /data: \{"error":\{/);
    assert.ok(!text.includes('[DONE]'));
    assert.ok(!text.includes('"finish_reason":"stop"'));
  });

  test('an engine that vanishes is a failure with a real status, never an empty answer', async () => {
    const answer = await chat(parley, 'script:[{"delayMs":1},{"vanish":true}]');
    assert.equal(answer.status, 500);
    assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'internal_error');
  });

  test('counts in the log what a stream that was left had consumed', async () => {
    const leaving = new AbortController();
    const answer = await chat(
      parley,
      'script:["one ","two ",{"hang":true}]',
      { stream: true },
      { signal: leaving.signal },
    );
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail();
    // The two words may come one by one.
    for (let text = ''; !text.includes('"two "');) text += (await reader.read()).value ?? assert.fail(text);
    leaving.abort();
    const requestId = answer.headers.get('x-request-id') ?? '';
    const facts = await until('the log line', WITHIN, async () =>
      logLines(parley.output(), 'request').find((line) => line['requestId'] === requestId),
    );
    assert.equal(facts['completionTokens'], 2);
    assert.equal(facts['ended'], 'cancelled');
    assert.ok(!JSON.stringify(facts).includes('one '));
  });

  test('keys made by the command work at once, and are refused soon after they are revoked', async () => {
    const made = await command(parley, 'keys', 'create', '--workspace', 'team-a', '--json');
    assert.equal(made.status, 0, made.stderr);
    const { id, key } = JSON.parse(made.stdout) as { id: string; key: string };
    assert.equal((await chat({ ...parley, key }, 'Hi')).status, 200);
    assert.equal((await command(parley, 'keys', 'revoke', id)).status, 0);
    // It is remembered for 5 s. A request is late by when it was sent: how soon it was answered is the machine's matter.
    const revokedAt = performance.now();
    await until('the refusal', WITHIN, async () => {
      const sentMs = performance.now() - revokedAt;
      const isRefused = (await chat({ ...parley, key }, 'Hi')).status === 401;
      assert.ok(isRefused || sentMs < 6_000, `taken after ${sentMs} ms`);
      return isRefused ? true : undefined;
    });
  });

  test('takes up models that are added to the file while it runs', async () => {
    const added = await command(parley, 'models', 'add', 'house-model', '--hub', 'owner/repo/model.gguf');
    assert.equal(added.status, 0, added.stderr);
    await until('the new model', WITHIN, async () =>
      (await chat(parley, 'Hi', { model: 'house-model' })).status === 200 ? true : undefined,
    );
  });

  test('a slip in the file leaves the models as they are', async () => {
    const file = join(parley.data, 'parley.yaml');
    const good = readFileSync(file, 'utf8');
    writeFileSync(file, `${good}\nmodels: [`);
    await parley.outputWith(/The models stay as they are/);
    assert.equal((await chat(parley, 'Hi', { model: 'house-model' })).status, 200);
    writeFileSync(file, good);
  });

  test('/health is open, /ready and /metrics need the loopback or the operator token', async () => {
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

test('SIGTERM lets a running answer end, refuses new ones, and leaves nothing behind', async () => {
  const parley = await startParley({ engine: 'scripted' });
  const running = await chat(parley, 'script:["begin ",{"delayMs":1500},"end"]', { stream: true });
  const text = running.text();
  const stopped = parley.stop();
  await until('new connections are refused', WITHIN, async () => {
    try {
      const late = await chat(parley, 'Hi');
      return late.status === 503 ? true : undefined;
    } catch {
      return true;
    }
  });
  assert.ok((await text).endsWith('data: [DONE]\n\n'));
  await stopped;
  assert.throws(() => process.kill(parley.pid, 0), { code: 'ESRCH' });
  assert.ok(!existsSync(parley.data));
});

describe('several regions on one machine', () => {
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

  test('the start names every region and how it is reached', async () => {
    const output = await parley.outputWith(/Try:/);
    // Lines of the log come by the other stream, at any place.
    const told = output.split('\n').filter((line) => !line.startsWith('{'));
    const first = told.findIndex((line) => line.includes('China (Beijing)'));
    const lines = told.slice(first, first + 12);
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
        'US (Virginia) (us-east-1)', // shares the socket above
        ' host name us.example.test (on URL)',
      ],
    );
  });

  /** `fetch` does not let a caller choose the Host header. */
  const models = (host: string, key: string) =>
    new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
      const sent = request(
        `${parley.baseUrl}/models`,
        { headers: { host, authorization: `Bearer ${key}` } },
        (response) => {
          let body = '';
          response.setEncoding('utf8');
          response.on('data', (text: string) => (body += text));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
        },
      );
      sent.on('error', reject);
      sent.end();
    });

  test('a key works in its own region and, where the host names one, its own workspace', async () => {
    const made = await command(
      parley,
      'keys',
      'create',
      '--region',
      'ap-southeast-1',
      '--workspace',
      'team-a',
      '--json',
    );
    const { key } = JSON.parse(made.stdout) as { key: string };
    assert.equal((await models('team-a.ap-southeast-1.example.test', key)).status, 200);
    assert.equal((await models('team-b.ap-southeast-1.example.test', key)).status, 403);
    const elsewhere = await models('127.0.0.1', key);
    assert.equal(elsewhere.status, 401);
    assert.match(elsewhere.body, /Singapore.*Beijing/);
  });

  test('an address that is to go says so in every answer', async () => {
    const made = await command(parley, 'keys', 'create', '--region', 'ap-southeast-1', '--json');
    const { key } = JSON.parse(made.stdout) as { key: string };
    const answer = await models('legacy.example.test', key);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['deprecation'], `@${Date.parse('2026-01-31') / 1000}`);
    assert.match(String(answer.headers['link']), /^<https:\/\/docs\.example\.test\/move>; rel="/);
    assert.equal((await models('127.0.0.1', parley.key)).headers['deprecation'], undefined);
  });
});
