import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import type { RankingEngine } from '../engines/engine.ts';
import { ENTRY } from './__fixtures__/test-generation.ts';
import { unlimitedAdmission } from './admission.ts';
import { logOnlyLedger } from './ledger.ts';
import { createRanker } from './rank.ts';

const context: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

const createTestRank = (scores: readonly number[]) => {
  const engine: RankingEngine = { rank: async () => ({ scores, tokens: 7 }) };
  return createRanker({
    catalogue: { resolve: async (name) => ({ requestedName: name, entry: ENTRY }) },
    acquireEngine: async () => ({ engine, release: () => undefined }),
    admission: unlimitedAdmission,
    ledger: logOnlyLedger,
  });
};

const request = {
  model: 'm',
  query: { text: 'q', field: 'query' },
  documents: ['a', 'b', 'c'].map((text, at) => ({ text, field: `documents[${at}]` })),
};

test('createRank returns documents best first with their original positions', async () => {
  const ranked = await createTestRank([0.2, 0.9, 0.5])(request, context);
  assert.deepEqual(ranked, {
    results: [
      { index: 1, score: 0.9 },
      { index: 2, score: 0.5 },
      { index: 0, score: 0.2 },
    ],
    promptTokens: 7,
  });
});

test('createRank returns only the best documents when top is set', async () => {
  const { results } = await createTestRank([0.2, 0.9, 0.5])({ ...request, top: 2 }, context);
  assert.deepEqual(
    results.map(({ index }) => index),
    [1, 2],
  );
});

test('createRank fails when a score is missing or not a number', async () => {
  for (const scores of [
    [0.1, 0.2],
    [0.1, Number.NaN, 0.3],
  ])
    await assert.rejects(createTestRank(scores)(request, context), { kind: 'engine-failed' });
});
