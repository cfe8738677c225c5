import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { findFreePort } from '../../src/engines/find-free-port.ts';
import { until } from '../until.ts';
import { encodeScript } from './engine-script.ts';
import { type Parley, REQUEST_MS_MAX, startParley } from './harness.ts';
import { LOOPBACK_ONLY, readPageSettings } from './page-clients.ts';
import { findPython } from './python.ts';

/** Longest time from the start of the proxy until it answers, in ms. It takes 8 s of CPU time. */
const READY_MS_MAX = 150_000;

const MASTER_KEY = 'sk-test-0123456789abcdef0123456789abcdef';

const { path, env, skipReason } = findPython('litellm', 'litellm');

describe('the LiteLLM proxy with the settings of its page', { skip: skipReason ?? false }, () => {
  let parley: Parley;
  let proxy: ChildProcess;
  let client: OpenAI;
  let home = '';
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    home = await mkdtemp(join(tmpdir(), 'parley-litellm-'));
    await writeFile(join(home, 'config.yaml'), readPageSettings('litellm', 'yaml', parley));
    const port = await findFreePort();
    const options = ['--config', 'config.yaml', '--host', '127.0.0.1', '--port', String(port)];
    proxy = spawn(path, ['-c', 'import litellm; litellm.run_server()', ...options], {
      cwd: home,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        HOME: home,
        PARLEY_KEY: parley.key,
        LITELLM_MASTER_KEY: MASTER_KEY,
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        ...LOOPBACK_ONLY,
        ...env,
      },
    });
    let output = '';
    for (const stream of [proxy.stdout, proxy.stderr])
      stream?.setEncoding('utf8').on('data', (part: string) => (output = (output + part).slice(-10_000)));
    const address = `http://127.0.0.1:${port}`;
    await until('the proxy answers', { timeoutMs: READY_MS_MAX }, async () => {
      assert.equal(proxy.exitCode ?? proxy.signalCode, null, `the proxy ended at its start:\n${output}`);
      const response = await fetch(`${address}/health/liveliness`).catch(() => undefined);
      await response?.body?.cancel();
      return response?.ok === true ? true : undefined;
    });
    client = new OpenAI({ baseURL: address, apiKey: MASTER_KEY, maxRetries: 0, timeout: REQUEST_MS_MAX });
  });
  after(async () => {
    if (proxy !== undefined && proxy.exitCode === null) {
      proxy.kill('SIGKILL');
      await once(proxy, 'exit');
    }
    await parley?.stop();
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
  });

  const messages = [{ role: 'user', content: encodeScript('It is ', 'done.') }] as const;

  test('answers, with the usage that Parley counted', async () => {
    const { choices, usage } = await client.chat.completions.create({ model: 'gpt-4o', messages: [...messages] });
    assert.equal(choices[0]?.message.content, 'It is done.');
    assert.equal(choices[0].finish_reason, 'stop');
    assert.equal(usage?.completion_tokens, 2);
  });

  test('streams', async () => {
    const options = { stream: true, stream_options: { include_usage: true } } as const;
    const stream = await client.chat.completions.create({ model: 'gpt-4o', messages: [...messages], ...options });
    let content = '';
    let completionTokens: number | undefined;
    for await (const { choices, usage } of stream) {
      content += choices[0]?.delta.content ?? '';
      completionTokens = usage?.completion_tokens ?? completionTokens;
    }
    assert.equal(content, 'It is done.');
    assert.equal(completionTokens, 2);
  });

  test('passes a refusal on, with its status, field and text', async () => {
    const request = { model: 'gpt-4o', temperature: 7, messages: [...messages] };
    await assert.rejects(
      client.chat.completions.create(request),
      (error: unknown) =>
        error instanceof OpenAI.BadRequestError &&
        error.param === 'temperature' &&
        /\[0\.0, 2\.0\)/.test(error.message),
    );
  });
});
