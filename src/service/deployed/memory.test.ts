import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEPLOYMENT_ENGINE_BYTES, DEPLOYMENT_MEMORY_RESERVE_BYTES, DEPLOYMENT_UNIT_BYTES } from '../../core/limits.ts';
import { writeModelFile } from './__fixtures__/model-file.ts';
import { createMemory, unitsInMemory } from './memory.ts';

const { folder, modelFile, size, tokenBytes } = writeModelFile();

const having = (bytes: number) => createMemory({ totalBytes: 0, availableBytes: () => bytes });
const held = async (
  count: number,
  { contextTokens = 1_000, bytes = 0 }: { contextTokens?: number; bytes?: number },
) => {
  const { bytesOf: _, ...told } = await unitsInMemory({ modelFile, contextTokens, units: count }, having(bytes));
  return told;
};
const ENGINE = DEPLOYMENT_MEMORY_RESERVE_BYTES + DEPLOYMENT_ENGINE_BYTES + size;
const unit = (tokens: number): number => tokens * tokenBytes + DEPLOYMENT_UNIT_BYTES;

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
  const { units, bytesOf } = await unitsInMemory({ modelFile: other, contextTokens: 1_000, units: 7 }, having(0));
  assert.deepEqual([units, bytesOf(7)], [7, 0]);
});

test('what was begun is not free for what begins next, until it is there', async () => {
  const memory = having(ENGINE + 5 * unit(1_000));
  const wish = { modelFile, contextTokens: 1_000, units: 3 };
  const first = await unitsInMemory(wish, memory);
  const release = memory.claim(first.bytesOf(3) - DEPLOYMENT_ENGINE_BYTES - size);
  assert.equal((await unitsInMemory(wish, memory)).units, 2);
  release();
  assert.equal((await unitsInMemory(wish, memory)).units, 3);
});

test('of a large machine more stays free', () => {
  const memory = createMemory({ totalBytes: 100 * 2 ** 30, availableBytes: () => 50 * 2 ** 30 });
  assert.equal(memory.availableBytes() - DEPLOYMENT_MEMORY_RESERVE_BYTES, 40 * 2 ** 30);
});
