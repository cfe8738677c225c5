import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createTestAdapter } from './__fixtures__/test-adapter.ts';
import { encodeGguf, type GgufTensor } from './__fixtures__/gguf.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createAdapterFileChecker } from './model-file-checker.ts';

const createMatrix = (input: number, output: number): GgufTensor => ({
  shape: [input, output],
  values: new Float32Array(input * output),
});

const MODEL = encodeGguf(
  { 'general.architecture': 'llama' },
  { 'token_embd.weight': createMatrix(8, 20), 'blk.0.attn_q.weight': createMatrix(8, 4) },
);

async function findProblem(
  t: TestContext,
  adapter: Uint8Array,
  model: Uint8Array = MODEL,
): Promise<string | undefined> {
  const folder = await createTemporaryFolder(t);
  const files = [join(folder, 'adapter.gguf'), join(folder, 'model.gguf')] as const;
  writeFileSync(files[0], adapter);
  writeFileSync(files[1], model);
  return await createAdapterFileChecker()(...files);
}

test('accepts an adapter whose matrices fit those of the model', async (t) => {
  // The embeddings of tokens are looked up, so their matrices are stored the other way round.
  const adapter = createTestAdapter({ matrices: { 'blk.0.attn_q.weight': [8, 4], 'token_embd.weight': [20, 8] } });
  assert.equal(await findProblem(t, adapter), undefined);
});

test('refuses a file that is no LoRA adapter', async (t) => {
  const matrices = { 'blk.0.attn_q.weight': [8, 4] } as const;
  assert.match((await findProblem(t, MODEL)) ?? '', /^it is no LoRA adapter/);
  assert.match((await findProblem(t, createTestAdapter({ matrices, type: 'other' }))) ?? '', /^it is no LoRA adapter/);
  assert.match((await findProblem(t, Buffer.from('text'))) ?? '', /truncated or damaged/);
});

test('refuses an adapter of another architecture, or of a model with other matrices', async (t) => {
  assert.equal(
    await findProblem(t, createTestAdapter({ matrices: { 'blk.0.attn_q.weight': [8, 4] }, architecture: 'qwen2' })),
    'it is for models of the architecture qwen2, and its model is of llama',
  );
  const cases = [
    { 'blk.0.attn_q.weight': [9, 4] },
    { 'blk.0.attn_q.weight': [8, 5] },
    { 'token_embd.weight': [8, 20] },
  ] as const;
  for (const matrices of cases) {
    const [name = ''] = Object.keys(matrices);
    const problem = await findProblem(t, createTestAdapter({ matrices }));
    assert.equal(problem, `its matrices for ${name} fit no matrix of the model`);
  }
  const problem = await findProblem(t, createTestAdapter({ matrices: { 'blk.1.attn_q.weight': [8, 4] } }));
  assert.equal(problem, 'its matrices for blk.1.attn_q.weight fit no matrix of the model');
});

test('says why the adapter cannot be read', async () => {
  assert.equal(await createAdapterFileChecker()('/nowhere.gguf', '/model.gguf'), 'it cannot be read (ENOENT)');
});
