import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startParley, type ParleyProcess } from '../clients/harness.ts';
import { until } from '../until.ts';

const PROGRAM = fileURLToPath(new URL('./__fixtures__/fake-vllm.ts', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'parley-vllm-'));
after(() => rmSync(folder, { recursive: true }));

/** Writes a program `vllm` for PATH, and an adapter as peft saves it. Returns the folder of the adapter. */
function writeFiles(): string {
  const command = `exec '${process.execPath}' --disable-warning=ExperimentalWarning '${PROGRAM}' "$@"`;
  writeFileSync(join(folder, 'vllm'), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
  const adapter = join(folder, 'adapter');
  mkdirSync(adapter, { recursive: true });
  writeFileSync(join(adapter, 'adapter_config.json'), '{"peft_type":"LORA","r":64}');
  writeFileSync(join(adapter, 'adapter_model.safetensors'), '');
  return adapter;
}

for (const workers of [1, 2])
  describe(`LoRA adapters on vLLM, with ${workers === 1 ? 'one worker' : 'two workers'}`, () => {
    let parley: ParleyProcess;
    const adapter = writeFiles();
    before(async () => {
      parley = await startParley({
        config: [
          'models:',
          `  svc-plus: { command: vllm, upstreamModel: org/base, adapters: { sql: '${adapter}', soft: org/soft } }`,
          `  broken: { command: vllm, upstreamModel: org/other, adapters: { lost: '${folder}/nowhere' } }`,
          '',
        ].join('\n'),
        env: {
          PARLEY_WORKERS: `${workers}`,
          PARLEY_ENGINE_CONTEXT_TOKENS: '',
          PATH: `${folder}${delimiter}${process.env.PATH}`,
        },
      });
    });
    after(() => parley.stop());

    const headers = () => ({
      authorization: `Bearer ${parley.key}`,
      'content-type': 'application/json',
      // A new connection, so that any worker may receive the request.
      connection: 'close',
    });
    const ask = async (model: string): Promise<{ readonly status: number; readonly text: string }> => {
      const response = await fetch(`${parley.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: headers(),
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'How?' }] }),
      });
      return { status: response.status, text: await response.text() };
    };
    const askFake = async (model: string) => {
      const { status, text } = await ask(model);
      assert.equal(status, 200, text);
      const answer = JSON.parse(text) as { model: string; choices: { message: { content: string } }[] };
      assert.equal(answer.model, model);
      return JSON.parse(answer.choices[0]?.message.content ?? '') as { model: string; pid: number; words: string[] };
    };

    test('are served by the program of their model, under their names', async () => {
      const names = ['sql', 'svc-plus', 'soft'];
      const answers = await Promise.all([...names, ...names, ...names].map(askFake));
      assert.deepEqual(new Set(answers.map(({ model }) => model)), new Set(['sql', 'org/base', 'soft']));
      assert.equal(new Set(answers.map(({ pid }) => pid)).size, 1, 'one process serves all');
      const { words = [] } = answers[0] ?? {};
      assert.equal(
        words.slice(words.indexOf('--enable-lora')).join(' '),
        `--enable-lora --max-loras 2 --max-lora-rank 64 --lora-modules {"name":"sql","path":"${adapter}"} {"name":"soft","path":"org/soft"}`,
      );
      assert.match(words.join(' '), /^serve org\/base --served-model-name org\/base /);
    });

    test('name their setting when they are missing', async () => {
      const { status, text } = await ask('lost');
      assert.equal(status, 503);
      assert.match(
        text,
        /models\.broken\.adapters\.lost: .*nowhere cannot be used: it cannot be read as a folder \(ENOENT\)/,
      );
    });

    // Another worker may not have asked the program yet.
    if (workers > 1) return;

    test('have the context that the program reports for their model', async () => {
      await askFake('sql');
      await until('the context is known', { timeoutMs: 10_000 }, async () => {
        const response = await fetch(`${parley.address}/api/v1/models?model=sql`, { headers: headers() });
        const { output } = (await response.json()) as { output: { models: { context_window: number }[] } };
        return output.models[0]?.context_window === 4_096 ? true : undefined;
      });
    });
  });
