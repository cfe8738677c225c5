import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { scalePositions } from '../../test/property-runs.ts';
import { createGgufHead } from './__fixtures__/test-gguf-head.ts';
import { readModelShape } from './read-model-shape.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-gguf-'));
after(() => rmSync(folder, { recursive: true }));

const readShape = async (bytes: Uint8Array | string) => {
  const path = join(folder, 'model.gguf');
  writeFileSync(path, bytes);
  return await readModelShape(path);
};

const ARCHITECTURE = { 'general.architecture': 'qwen2' } as const;
const SHAPE = {
  'qwen2.block_count': 24,
  'qwen2.embedding_length': 896,
  'qwen2.attention.head_count': 14,
  'qwen2.attention.head_count_kv': 2,
} as const;

test('counts the keys and values of all layers per token, at two bytes per number', async () => {
  const file = createGgufHead({
    ...ARCHITECTURE,
    'general.name': 'A model',
    'qwen2.rope.freq_base': 1.5,
    'qwen2.context_length': 32_768,
    ...SHAPE,
  });
  assert.deepEqual(await readShape(file), { cacheBytesPerToken: 2 * 24 * 2 * (64 + 64), contextTokens: 32_768 });
});

test('reads separate widths of keys and values, and numbers of heads per layer', async () => {
  const file = createGgufHead({
    ...ARCHITECTURE,
    ...SHAPE,
    'qwen2.block_count': 3,
    'qwen2.attention.key_length': 128,
    'qwen2.attention.value_length': 32,
    'qwen2.attention.head_count_kv': [0, 2, 4],
  });
  assert.deepEqual(await readShape(file), { cacheBytesPerToken: 2 * 6 * (128 + 32) });
});

test('assumes as many key heads as heads when the file does not state them', async () => {
  const { 'qwen2.attention.head_count_kv': _, ...plain } = SHAPE;
  assert.equal((await readShape(createGgufHead({ ...ARCHITECTURE, ...plain })))?.cacheBytesPerToken, 2 * 24 * 14 * 128);
});

test('does not read a long vocabulary', async () => {
  const words = Array.from({ length: 20_000 }, (_, at) => `word ${at}`.repeat(15));
  const file = createGgufHead({ ...ARCHITECTURE, ...SHAPE, 'tokenizer.ggml.tokens': words });
  assert.ok(file.length > 2 * 2 ** 20);
  assert.equal((await readShape(file))?.cacheBytesPerToken, 12_288);
});

test('returns undefined for a file that lacks the facts, is truncated, or is no GGUF file', async () => {
  assert.equal(await readShape(''), undefined);
  assert.equal(await readShape('GGUF'), undefined);
  assert.equal(await readShape('something else that is longer than a head'), undefined);
  assert.equal(await readShape(createGgufHead(ARCHITECTURE)), undefined);
  const whole = createGgufHead({ ...ARCHITECTURE, ...SHAPE });
  const heads = whole.indexOf('qwen2.attention.head_count');
  for (const length of scalePositions(whole.length)) {
    const shape = await readShape(whole.subarray(0, length));
    if (length <= heads) assert.equal(shape, undefined);
  }
  const wild = Buffer.from(whole);
  wild.writeBigUInt64LE(2n ** 60n, 16 + 8);
  assert.equal(await readShape(wild), undefined);
});
