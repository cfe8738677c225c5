import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { getWeightsSkipReason } from '../models-folder.ts';
import { until } from '../until.ts';

const QUESTION = { model: 'svc-tiny', messages: [{ role: 'user', content: 'Tell me a long story.' }] };

const chat = ({ baseUrl, key }: Parley, more: object = {}) =>
  fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...QUESTION, ...more }),
  });

/** Waits for the log line of the last started engine process of these weights, and returns its pid. */
const waitForEnginePid = (
  { output }: ParleyProcess,
  weights: string,
  isNew = (_pid: number): boolean => true,
): Promise<number> =>
  until(`the log line of the engine of ${weights}`, { timeoutMs: 10_000 }, async () => {
    const found = output().matchAll(/"engine":"([^"]+)","pid":(\d+),"ms":\d+,"msg":"engine process ready"/g);
    const pid = Number([...found].findLast(([, engine]) => engine?.includes(weights))?.[2] ?? 0);
    // process.kill(0) would kill the process group of the test.
    return pid > 1 && isNew(pid) ? pid : undefined;
  });

describe('an engine that is killed', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({ withTinyModel: true });
  });
  after(() => parley.stop());

  test('in mid-stream ends the stream with an error, and a new engine gives the next answer', async () => {
    const answer = await chat(parley, { stream: true, max_tokens: 400 });
    assert.equal(answer.status, 200);
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader?.read())?.value ?? '';
    process.kill(await waitForEnginePid(parley, 'smollm2'), 'SIGKILL');
    for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) text += step.value;
    assert.match(text, /data: \{"error":\{.*"code":"internal_error"/);
    assert.ok(!text.includes('[DONE]'));
    assert.equal((await fetch(`${parley.address}/health`)).status, 200);
    const next = await chat(parley, { max_tokens: 3 });
    assert.equal(next.status, 200);
    assert.equal(((await next.json()) as { usage: { completion_tokens: number } }).usage.completion_tokens, 3);
  });

  test('hangs in mid-stream, is found by its missing beats and replaced', async (t) => {
    const answer = await chat(parley, { stream: true, max_tokens: 400 });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader?.read())?.value ?? '';
    const stoppedAt = performance.now();
    process.kill(await waitForEnginePid(parley, 'smollm2'), 'SIGSTOP');
    for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) text += step.value;
    t.diagnostic(`the hung engine was found after ${Math.round(performance.now() - stoppedAt)} ms`);
    assert.match(text, /data: \{"error":\{.*"code":"internal_error"/);
    await parley.waitForOutput(/"silentMs":10000,"msg":"engine process hangs"/);
    assert.equal((await chat(parley, { max_tokens: 3 })).status, 200);
    t.diagnostic(`the next answer came after ${Math.round(performance.now() - stoppedAt)} ms`);
  });

  test('before the first event is replaced without an error for the caller', async () => {
    await (await chat(parley, { max_tokens: 1 })).text();
    // A long prompt, so that the engine dies while it evaluates the prompt.
    const messages = [{ role: 'user', content: 'story '.repeat(600) }];
    const before = await waitForEnginePid(parley, 'smollm2');
    const answer = chat(parley, { messages, max_tokens: 2, stream: true });
    // The metric counts a stream from the time the engine accepts it, which is before the first event.
    await until('the prefill has started', { timeoutMs: 5_000 }, async () => {
      const metrics = await (await fetch(`${parley.address}/metrics`)).text();
      return metrics.includes('parley_streams_in_flight 1') ? true : undefined;
    });
    process.kill(before, 'SIGKILL');
    const text = await (await answer).text();
    assert.ok(text.endsWith('data: [DONE]\n\n'), text);
    assert.match(text, /"finish_reason":"(length|stop)"/);
    await waitForEnginePid(parley, 'smollm2', (pid) => pid !== before);
  });
});

test(
  'a model whose engine does not start is reported as failing',
  { skip: getWeightsSkipReason('svc-plus') },
  async () => {
    const broken = join(await mkdtemp(join(tmpdir(), 'parley-broken-')), 'broken.gguf');
    await writeFile(broken, 'GGUF and nothing that follows from it');
    const parley = await startParley({ config: `models:\n  broken: { path: '${broken}' }\n` });
    try {
      const answer = await chat(parley, { model: 'broken' });
      assert.equal(answer.status, 503);
      const { models } = (await (await fetch(`${parley.address}/ready`)).json()) as {
        models: { model: string; state: string; reason?: string }[];
      };
      assert.equal(models.find(({ model }) => model === 'broken')?.state, 'failing');
      assert.equal(models.find(({ model }) => model === 'svc-plus')?.state, 'ready');
      assert.equal(models.find(({ model }) => model === 'svc-deep-research')?.state, 'ready');
    } finally {
      await parley.stop();
      await rm(dirname(broken), { recursive: true });
    }
  },
);
