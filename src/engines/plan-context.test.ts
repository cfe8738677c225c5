import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTEXT_TOKENS_MIN } from './limits.ts';
import { listContextLengths, planContext, type ContextPlan } from './plan-context.ts';

/** Plans for a memory that holds so many tokens in all sequences together. */
const plan = (cells: number, trainedTokens = 262_144, sequences = 4): Promise<ContextPlan> =>
  planContext({ trainedTokens, sequences, isFitting: (each) => each.contextTokens * each.sequences <= cells });

test('gives every sequence the trained context where memory allows', async () => {
  assert.deepEqual(await plan(4 * 32_768, 32_768), { contextTokens: 32_768, sequences: 4 });
  assert.deepEqual(await plan(4 * 262_144), { contextTokens: 262_144, sequences: 4 });
  assert.deepEqual(await plan(Infinity, 40_960), { contextTokens: 40_960, sequences: 4 });
});

test('shortens a longer trained context before it takes a sequence away', async () => {
  assert.deepEqual(await plan(4 * 262_144 - 1), { contextTokens: 131_072, sequences: 4 });
  assert.deepEqual(await plan(4 * 32_768), { contextTokens: 32_768, sequences: 4 });
});

test('takes sequences away before the context becomes too short for the first prompt of a coding agent', async () => {
  assert.deepEqual(await plan(4 * 32_768 - 1), { contextTokens: 32_768, sequences: 2 });
  assert.deepEqual(await plan(2 * 65_536 - 1), { contextTokens: 32_768, sequences: 2 });
  assert.deepEqual(await plan(65_535), { contextTokens: 32_768, sequences: 1 });
  assert.deepEqual(await plan(4 * 8_192 - 1, 8_192), { contextTokens: 8_192, sequences: 2 });
});

test('shortens the context of a last sequence, and tries the shortest in any case', async () => {
  assert.deepEqual(await plan(20_000), { contextTokens: 16_384, sequences: 1 });
  assert.deepEqual(await plan(7_000, 8_192), { contextTokens: 4_096, sequences: 1 });
  assert.deepEqual(await plan(0), { contextTokens: CONTEXT_TOKENS_MIN, sequences: 1 });
  assert.deepEqual(await plan(0, 512), { contextTokens: 512, sequences: 1 });
});

test('lists context lengths as powers of two below the trained one', () => {
  assert.deepEqual(listContextLengths(40_960, 8_192), [40_960, 32_768, 16_384, 8_192]);
  assert.deepEqual(listContextLengths(32_768, 32_768), [32_768]);
  assert.deepEqual(listContextLengths(2_048, 32_768), [2_048]);
});
