import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import type { RankingEngine } from '../engines/engine.ts';
import { ENTRY } from './__fixtures__/house.ts';
import { openAdmission } from './admission.ts';
import { logOnlyLedger } from './ledger.ts';
import { createRank } from './rank.ts';

const context: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

const rankBy = (scores: readonly number[]) => {
  const engine: RankingEngine = { rank: async () => ({ scores, tokens: 7 }) };
  return createRank({
    catalogue: { resolve: (asked) => ({ asked, entry: ENTRY }) },
    engineFor: async () => ({ engine, release: () => undefined }),
    admission: openAdmission,
    ledger: logOnlyLedger,
  });
};

const wish = {
  model: 'm',
  query: { text: 'q', field: 'query' },
  documents: ['a', 'b', 'c'].map((text, at) => ({ text, field: `documents[${at}]` })),
};

test('documents come best first, with the places they had', async () => {
  const ranked = await rankBy([0.2, 0.9, 0.5])(wish, context);
  assert.deepEqual(ranked, {
    results: [
      { index: 1, score: 0.9 },
      { index: 2, score: 0.5 },
      { index: 0, score: 0.2 },
    ],
    promptTokens: 7,
  });
});

test('only so many of the best where few are wanted', async () => {
  const { results } = await rankBy([0.2, 0.9, 0.5])({ ...wish, top: 2 }, context);
  assert.deepEqual(
    results.map(({ index }) => index),
    [1, 2],
  );
});

test('a score that is missing or no number is a failure', async () => {
  for (const scores of [
    [0.1, 0.2],
    [0.1, Number.NaN, 0.3],
  ])
    await assert.rejects(rankBy(scores)(wish, context), { kind: 'engine-failed' });
});
