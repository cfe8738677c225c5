import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const TIMEOUT = { timeoutMs: 60_000 };

/** Longer than the time in which two signals count as one. */
const ECHO_MS = 700;

/** A module that fails like a part of the service would: with an `error` event that has no listener, or a rejection. */
const FAILING_MODULE = `data:text/javascript,${encodeURIComponent(`
  import { EventEmitter } from 'node:events';
  process.on('SIGUSR2', () => new EventEmitter().emit('error', new Error('nobody listens')));
  process.on('SIGHUP', () => void Promise.reject(new Error('nobody waits')));
`)}`;

const SHORT = 'script:["start ",{"delayMs":1500},"end"]';
const ENDLESS = 'script:["start ",{"delayMs":600000},"end"]';

async function startService(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const data = await mkdtemp(join(tmpdir(), 'parley-end-'));
  const args = [
    '--disable-warning=ExperimentalWarning',
    CLI,
    'serve',
    '--port',
    '0',
    '--no-first-answer',
    '--data',
    data,
  ];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PARLEY_ENGINE_KIND: 'scripted',
      PARLEY_HUB_URL: 'off',
      PARLEY_CODE_INTERPRETER_LEVEL: 'off',
      NODE_OPTIONS: `--import ${FAILING_MODULE}`,
      ...env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
    await rm(data, { recursive: true, maxRetries: 10 });
  });
  const waitFor = (pattern: RegExp) =>
    until(`${pattern}\n${output}`, TIMEOUT, async () => pattern.exec(output) ?? undefined);
  const address = (await waitFor(/Listening on (\S+)/))[1] ?? '';
  await waitFor(/Try:/);
  const key = (await readFile(join(data, 'key'), 'utf8')).trim();
  const post = (path: string, body: object) =>
    fetch(`${address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'svc-plus', stream: true, max_tokens: 50, ...body }),
    });
  /** Starts a streamed answer. Returns a function that reads its text to the end. */
  const startStream = async (content: string, path = '/v1/chat/completions'): Promise<() => Promise<string>> => {
    const response = await post(path, { messages: [{ role: 'user', content }] });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader?.read())?.value ?? '';
    return async () => {
      for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) text += step.value;
      return text;
    };
  };
  return { child, exited, waitFor, startStream, address, getOutput: () => output };
}

for (const workers of ['1', '2']) {
  test(`a second signal ends each stream with the error of its protocol: ${workers} processes`, async (t) => {
    const { child, exited, startStream } = await startService(t, { PARLEY_WORKERS: workers });
    const chat = await startStream(ENDLESS);
    const message = await startStream(ENDLESS, '/apps/anthropic/v1/messages');
    child.kill('SIGTERM');
    const firstAt = performance.now();
    await until('the signals count as two', TIMEOUT, async () => performance.now() - firstAt > ECHO_MS || undefined);
    child.kill('SIGTERM');
    const [chatText, messageText] = await Promise.all([chat(), message()]);
    assert.match(chatText, /data: \{"error":\{[^\n]*shutting down/);
    assert.doesNotMatch(chatText, /\[DONE\]/);
    assert.match(messageText, /event: error\ndata: \{"type":"error"/);
    assert.deepEqual(await exited, [130, null]);
  });
}

for (const [name, signal, words] of [
  ['an error event without a listener', 'SIGUSR2', 'nobody listens'],
  ['a rejection that nobody awaits', 'SIGHUP', 'nobody waits'],
] as const)
  test(`${name} is logged, running answers finish, and the process exits with code 1`, async (t) => {
    const { child, exited, startStream, waitFor, getOutput } = await startService(t);
    const readRest = await startStream(SHORT);
    child.kill(signal);
    await waitFor(/"msg":"unexpected error; the process exits"/);
    assert.match(await readRest(), /"content":"end"[\s\S]*\[DONE\]/);
    assert.deepEqual(await exited, [1, null]);
    assert.match(getOutput(), new RegExp(`"level":"error".*${words}`));
  });

test('an answer that does not finish in time ends with an error, and not with the connection', async (t) => {
  const { child, exited, startStream } = await startService(t);
  const readRest = await startStream(ENDLESS);
  child.kill('SIGUSR2');
  assert.match(await readRest(), /data: \{"error":\{[^\n]*shutting down/);
  assert.deepEqual(await exited, [1, null]);
});

test('a worker that exits after an unexpected error is replaced', async (t) => {
  const { waitFor, address, getOutput } = await startService(t, { PARLEY_WORKERS: '2' });
  const pid = Number((await waitFor(/"worker":1,"pid":(\d+)[^\n]*"msg":"worker ready"/))[1]);
  assert.ok(pid > 1);
  process.kill(pid, 'SIGUSR2');
  await waitFor(new RegExp(`"worker":1,"pid":${pid},"code":1,[^\\n]*"msg":"worker exited"`));
  await until('a new worker', TIMEOUT, async () => {
    const ready = [...getOutput().matchAll(/"worker":1,"pid":(\d+)[^\n]*"msg":"worker ready"/g)];
    return ready.length > 1 || undefined;
  });
  assert.equal((await fetch(`${address}/health`)).status, 200);
});
