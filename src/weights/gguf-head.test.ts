import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ggufHead } from './__fixtures__/gguf-head.ts';
import { readModelShape } from './gguf-head.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-gguf-'));
after(() => rmSync(folder, { recursive: true }));

const shapeOf = async (bytes: Uint8Array | string) => {
  const path = join(folder, 'model.gguf');
  writeFileSync(path, bytes);
  return await readModelShape(path);
};

const KIND = { 'general.architecture': 'qwen2' } as const;
const SHAPE = {
  'qwen2.block_count': 24,
  'qwen2.embedding_length': 896,
  'qwen2.attention.head_count': 14,
  'qwen2.attention.head_count_kv': 2,
} as const;

test('says what a token of the context takes: keys and values of all layers, at two bytes a number', async () => {
  const file = ggufHead({
    ...KIND,
    'general.name': 'A model',
    'qwen2.rope.freq_base': 1.5,
    'qwen2.context_length': 32_768,
    ...SHAPE,
  });
  assert.deepEqual(await shapeOf(file), { cacheBytesPerToken: 2 * 24 * 2 * (64 + 64), contextTokens: 32_768 });
});

test('keys and values may have widths of their own, and layers numbers of heads of their own', async () => {
  const file = ggufHead({
    ...KIND,
    ...SHAPE,
    'qwen2.block_count': 3,
    'qwen2.attention.key_length': 128,
    'qwen2.attention.value_length': 32,
    'qwen2.attention.head_count_kv': [0, 2, 4],
  });
  assert.deepEqual(await shapeOf(file), { cacheBytesPerToken: 2 * 6 * (128 + 32) });
});

test('where nothing is said of heads for keys, there are as many as heads', async () => {
  const { 'qwen2.attention.head_count_kv': _, ...plain } = SHAPE;
  assert.equal((await shapeOf(ggufHead({ ...KIND, ...plain })))?.cacheBytesPerToken, 2 * 24 * 14 * 128);
});

test('the vocabulary is not read, however long it is', async () => {
  const words = Array.from({ length: 200_000 }, (_, at) => `word ${at}`);
  const file = ggufHead({ ...KIND, ...SHAPE, 'tokenizer.ggml.tokens': words });
  assert.ok(file.length > 2 * 2 ** 20);
  assert.equal((await shapeOf(file))?.cacheBytesPerToken, 12_288);
});

test('a file that does not say it, is cut or is no such file says nothing', async () => {
  assert.equal(await shapeOf(''), undefined);
  assert.equal(await shapeOf('GGUF'), undefined);
  assert.equal(await shapeOf('something else that is longer than a head'), undefined);
  assert.equal(await shapeOf(ggufHead(KIND)), undefined);
  const whole = ggufHead({ ...KIND, ...SHAPE });
  const heads = whole.indexOf('qwen2.attention.head_count');
  for (let length = 0; length < whole.length; length++) {
    const shape = await shapeOf(whole.subarray(0, length));
    if (length <= heads) assert.equal(shape, undefined);
  }
  const wild = Buffer.from(whole);
  wild.writeBigUInt64LE(2n ** 60n, 16 + 8);
  assert.equal(await shapeOf(wild), undefined);
});
