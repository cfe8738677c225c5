import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEPLOYMENT_ENGINE_BYTES, DEPLOYMENT_MEMORY_RESERVE_BYTES, DEPLOYMENT_UNIT_BYTES } from './limits.ts';
import { writeTestModelFile } from './__fixtures__/test-model-file.ts';
import { createMemoryBudget, estimateUnits } from './memory-budget.ts';

const { folder, modelFile, size, tokenBytes } = writeTestModelFile();

const createBudget = (bytes: number) => createMemoryBudget({ totalBytes: 0, availableBytes: () => bytes });
const estimate = async (
  count: number,
  { contextTokens = 1_000, bytes = 0 }: { contextTokens?: number; bytes?: number },
) => {
  const { estimateBytes: _, ...result } = await estimateUnits(
    { modelFile, contextTokens, units: count },
    createBudget(bytes),
  );
  return result;
};
const ENGINE = DEPLOYMENT_MEMORY_RESERVE_BYTES + DEPLOYMENT_ENGINE_BYTES + size;
const unit = (tokens: number): number => tokens * tokenBytes + DEPLOYMENT_UNIT_BYTES;

test('fits as many units as have a full context beside the engine and the reserve', async () => {
  assert.deepEqual(await estimate(3, { bytes: ENGINE + 3 * unit(1_000) }), { units: 3 });
  const { units, reason } = await estimate(3, { bytes: ENGINE + 3 * unit(1_000) - 1 });
  assert.equal(units, 2);
  assert.equal(
    reason,
    "Memory suffices for 2 of 3 units: they need 6 MiB for each unit's context beside 513 MiB for the engine; 1042 MiB are available, and 512 MiB stay free.",
  );
  assert.equal((await estimate(3, { bytes: 0 })).units, 0);
});

test('limits the context length to that of the model', async () => {
  assert.deepEqual(await estimate(1, { contextTokens: 9_000, bytes: ENGINE + unit(2_000) }), { units: 1 });
  assert.equal((await estimate(1, { contextTokens: 2_000, bytes: ENGINE + unit(2_000) - 1 })).units, 0);
});

test('grants all units for a file that does not tell its context size', async () => {
  const other = join(folder, 'other.gguf');
  writeFileSync(other, 'something else');
  const { units, estimateBytes } = await estimateUnits(
    { modelFile: other, contextTokens: 1_000, units: 7 },
    createBudget(0),
  );
  assert.deepEqual([units, estimateBytes(7)], [7, 0]);
});

test('excludes reserved memory until the reservation ends', async () => {
  const memory = createBudget(ENGINE + 5 * unit(1_000));
  const query = { modelFile, contextTokens: 1_000, units: 3 };
  const first = await estimateUnits(query, memory);
  const release = memory.reserveBytes(first.estimateBytes(3) - DEPLOYMENT_ENGINE_BYTES - size);
  assert.equal((await estimateUnits(query, memory)).units, 2);
  release();
  assert.equal((await estimateUnits(query, memory)).units, 3);
});

test('keeps more memory free on a large machine', () => {
  const memory = createMemoryBudget({ totalBytes: 100 * 2 ** 30, availableBytes: () => 50 * 2 ** 30 });
  assert.equal(memory.availableBytes() - DEPLOYMENT_MEMORY_RESERVE_BYTES, 40 * 2 ** 30);
});
