import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { DEPLOYMENT_ENGINE_BYTES, DEPLOYMENT_MEMORY_RESERVE_BYTES, DEPLOYMENT_UNIT_BYTES } from '../../core/limits.ts';
import { ggufHead } from '../../weights/__fixtures__/gguf-head.ts';
import { unitsInMemory } from './memory.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-memory-'));
after(() => rmSync(folder, { recursive: true }));

/** 4 layers of 2 heads with 64 numbers for keys and as many for values, at 2 bytes: 2 KiB for a token, and 2000 tokens. */
const modelFile = join(folder, 'model.gguf');
const HEAD = ggufHead({
  'general.architecture': 'llama',
  'llama.block_count': 4,
  'llama.context_length': 2_000,
  'llama.embedding_length': 512,
  'llama.attention.head_count': 8,
  'llama.attention.head_count_kv': 2,
});
const SIZE = HEAD.length;
writeFileSync(modelFile, HEAD);
const TOKEN_BYTES = 2_048;

const held = (units: number, { contextTokens = 1_000, bytes = 0 }: { contextTokens?: number; bytes?: number }) =>
  unitsInMemory({ modelFile, contextTokens, units }, { availableBytes: () => bytes });
const ENGINE = DEPLOYMENT_MEMORY_RESERVE_BYTES + DEPLOYMENT_ENGINE_BYTES + SIZE;
const unit = (tokens: number): number => tokens * TOKEN_BYTES + DEPLOYMENT_UNIT_BYTES;

test('as many units are held as have a full context beside the engine and what stays free', async () => {
  assert.deepEqual(await held(3, { bytes: ENGINE + 3 * unit(1_000) }), { units: 3 });
  const { units, reason } = await held(3, { bytes: ENGINE + 3 * unit(1_000) - 1 });
  assert.equal(units, 2);
  assert.equal(
    reason,
    "Memory holds 2 of 3 units: it takes 6 MiB for each unit's context beside 513 MiB for the engine; 1042 MiB are available, and 512 MiB stay free.",
  );
  assert.equal((await held(3, { bytes: 0 })).units, 0);
});

test('a context that is longer than the model has is counted as that', async () => {
  assert.deepEqual(await held(1, { contextTokens: 9_000, bytes: ENGINE + unit(2_000) }), { units: 1 });
  assert.equal((await held(1, { contextTokens: 2_000, bytes: ENGINE + unit(2_000) - 1 })).units, 0);
});

test('of a file that does not tell, it is tried', async () => {
  const other = join(folder, 'other.gguf');
  writeFileSync(other, 'something else');
  assert.deepEqual(
    await unitsInMemory({ modelFile: other, contextTokens: 1_000, units: 7 }, { availableBytes: () => 0 }),
    { units: 7 },
  );
});
