import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createTestAdapter } from '../../src/weights/__fixtures__/test-adapter.ts';
import { startParley, type ParleyProcess } from '../clients/harness.ts';
import { LLAMA_SERVER_FOLDER, getLlamaServerSkipReason } from '../llama-server.ts';
import { findWeightsFile, getWeightsFileSkipReason, TINY } from './weights.ts';

const skip = getWeightsFileSkipReason(TINY);
const serverSkip = getLlamaServerSkipReason();

/** Width of the embeddings of the tiny weights. */
const WIDTH = 576;

describe('LoRA adapters of a model', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-adapters-'));
  let parley: ParleyProcess;

  before(async () => {
    const [adapter, other] = [join(folder, 'adapter.gguf'), join(folder, 'other.gguf')];
    writeFileSync(adapter, createTestAdapter({ matrices: { 'blk.0.attn_q.weight': [WIDTH, WIDTH] } }));
    writeFileSync(other, createTestAdapter({ matrices: { 'blk.0.attn_q.weight': [8, 8] } }));
    const adapters = [
      `tuned: '${adapter}'`,
      `weak: { path: '${adapter}', scale: 0 }`,
      `misfit: '${other}'`,
      `missing: '${folder}/nowhere.gguf'`,
    ];
    parley = await startParley({
      config: [
        'models:',
        `  svc-plus: { weights: ${TINY}, adapters: { ${adapters.join(', ')} } }`,
        `  served: { command: llama-server, path: '${findWeightsFile(TINY)}', adapters: { served-tuned: '${adapter}' } }`,
        '',
      ].join('\n'),
      env: { PATH: `${LLAMA_SERVER_FOLDER}${delimiter}${process.env.PATH}` },
    });
  });
  after(async () => {
    await parley.stop();
    rmSync(folder, { recursive: true });
  });

  const ask = async (model: string) => {
    const response = await fetch(`${parley.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: 'Name a color.' }],
        temperature: 0,
        max_tokens: 12,
      }),
    });
    const body = (await response.json()) as {
      model?: string;
      choices?: { message: { content: string } }[];
      error?: { message: string };
    };
    return {
      status: response.status,
      model: body.model,
      text: body.choices?.[0]?.message.content ?? '',
      message: body.error?.message ?? '',
    };
  };

  test('change the answers of the model of their name, beside those of their base', async () => {
    const [base, tuned] = await Promise.all([ask('svc-plus'), ask('tuned')]);
    assert.deepEqual([base.status, tuned.status], [200, 200], tuned.message);
    assert.deepEqual([base.model, tuned.model], ['svc-plus', 'tuned']);
    assert.notEqual(tuned.text, base.text);
    assert.equal((await ask('tuned')).text, tuned.text);
    assert.equal((await ask('svc-plus')).text, base.text);
    assert.equal((await ask('weak')).text, base.text, 'a scale of 0 changes nothing');
  });

  test('are refused with the name of the setting when they do not fit or are missing', async () => {
    const misfit = await ask('misfit');
    assert.equal(misfit.status, 503);
    assert.match(
      misfit.message,
      /models\.svc-plus\.adapters\.misfit: .*other\.gguf cannot be used: its matrices for blk\.0\.attn_q\.weight fit no matrix/,
    );
    const missing = await ask('missing');
    assert.equal(missing.status, 503);
    assert.match(missing.message, /models\.svc-plus\.adapters\.missing: .*nowhere\.gguf .* \(ENOENT\)/);
  });

  test('are applied by llama-server', { skip: serverSkip }, async () => {
    const [base, tuned] = [await ask('served'), await ask('served-tuned')];
    assert.deepEqual([base.status, tuned.status], [200, 200], tuned.message);
    assert.notEqual(tuned.text, base.text);
  });
});
