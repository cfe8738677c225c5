import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseModelFile, findModelFiles, matchesQuantization } from './model-files.ts';

const GB = 1e9;
const files = (sizes: Readonly<Record<string, number>>) =>
  Object.entries(sizes).map(([path, sizeGB]) => ({ path, sizeBytes: sizeGB * GB, sha256: `${path}!` }));

const REPOSITORY = files({
  'README.md': 0.1,
  'M-BF16/M-BF16-00001-of-00002.gguf': 40,
  'M-BF16/M-BF16-00002-of-00002.gguf': 24,
  'M-Q8_0.gguf': 34,
  'M-Q4_K_M.gguf': 19,
  'M-UD-Q2_K_XL.gguf': 12,
  'UD-IQ1_S/M-UD-IQ1_S.gguf': 8,
  'Q6_K/m-00001-of-00003.gguf': 9,
  'mmproj-F16.gguf': 1,
});

test('finds models with quantization, total size and hashes, and leaves out projectors and incomplete ones', () => {
  assert.deepEqual(
    findModelFiles(REPOSITORY).map(({ file, quantization, sizeBytes }) => [file, quantization, sizeBytes / GB]),
    [
      ['UD-IQ1_S/M-UD-IQ1_S.gguf', 'UD-IQ1_S', 8],
      ['M-UD-Q2_K_XL.gguf', 'UD-Q2_K_XL', 12],
      ['M-Q4_K_M.gguf', 'Q4_K_M', 19],
      ['M-Q8_0.gguf', 'Q8_0', 34],
      ['M-BF16/M-BF16-00001-of-00002.gguf', 'BF16', 64],
    ],
  );
  assert.equal(findModelFiles(REPOSITORY).at(-1)?.hashes?.length, 2);
});

test('reads the quantization from real names', () => {
  for (const [path, quantization] of [
    ['qwen2.5-coder-0.5b-instruct-q4_k_m.gguf', 'Q4_K_M'],
    ['Qwen3-8B.Q4_K_M.gguf', 'Q4_K_M'],
    ['gpt-oss-20b-mxfp4.gguf', 'MXFP4'],
    ['gemma-4-26B_q4_0-it.gguf', 'Q4_0'],
    ['Q4_K_M/model-00001-of-00001.gguf', 'Q4_K_M'],
    ['model.gguf', ''],
  ] as const)
    assert.equal(findModelFiles([{ path, sizeBytes: 1 }])[0]?.quantization, quantization, path);
});

test('chooses four bits if they fit, else the largest that fits', () => {
  const choose = (maxGB: number) =>
    chooseModelFile(findModelFiles(REPOSITORY), (bytes) => bytes <= maxGB * GB)?.quantization;
  assert.equal(choose(100), 'Q4_K_M');
  assert.equal(choose(15), 'UD-Q2_K_XL');
  assert.equal(choose(10), 'UD-IQ1_S');
  assert.equal(choose(1), undefined);
});

test('chooses the smallest of more than four bits where none has four', () => {
  const models = findModelFiles(files({ 'm-F16.gguf': 4, 'm-Q8_0.gguf': 2, 'm-Q2_K.gguf': 1 }));
  assert.equal(chooseModelFile(models, () => true)?.quantization, 'Q8_0');
});

test('matches a quantization in any case, with or without its prefix', () => {
  const [model] = findModelFiles([{ path: 'M-UD-Q4_K_XL.gguf', sizeBytes: 1 }]);
  assert.ok(model);
  assert.ok(matchesQuantization(model, 'q4_k_xl') && matchesQuantization(model, 'UD-Q4_K_XL'));
  assert.ok(!matchesQuantization(model, 'Q4_K'));
});
