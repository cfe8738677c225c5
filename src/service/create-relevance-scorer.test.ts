import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import { createScriptedEmbeddingEngine } from '../engines/scripted/scripted-embedding-engine.ts';
import { createTestDeps, ENTRY } from '../generation/__fixtures__/test-generation.ts';
import { createRelevanceScorer, type RelevanceScorerDeps } from './create-relevance-scorer.ts';

const TEXTS = ['A black cat sleeps.', 'Shares rose on Monday.'];

/** A scorer whose ready models are named; the ranking model scores by length, or fails. */
function createTestScorer(readyModels: readonly string[], { failsRanking = false } = {}) {
  let releases = 0;
  const release = (): void => void releases++;
  const engines: RelevanceScorerDeps['engines'] = {
    getState: async ({ name }) => (readyModels.includes(name) ? { state: 'ready' } : { state: 'off', reason: '' }),
    embeddingsFor: async () => ({ engine: createScriptedEmbeddingEngine({ textTokensMax: 100 }), release }),
    rankingFor: async () => ({
      engine: {
        rank: async ({ documents }) => {
          if (failsRanking) throw new ServiceError('overloaded', 'The queue is full.');
          return { scores: documents.map(({ text }) => text.length), tokens: 1 };
        },
      },
      release,
    }),
  };
  const find = (name: string): ModelEntry => ({ ...ENTRY, name });
  const { context } = createTestDeps(undefined);
  const score = createRelevanceScorer({ catalogue: { find }, engines });
  return { score: () => score('The black cat', TEXTS, context), countReleases: () => releases };
}

describe('createRelevanceScorer', () => {
  it('compares texts by the ranking model where it is ready', async () => {
    const { score, countReleases } = createTestScorer(['svc-rerank', 'svc-embed']);
    assert.deepEqual(
      await score(),
      TEXTS.map(({ length }) => length),
    );
    assert.equal(countReleases(), 1);
  });

  it('compares texts by the embedding model otherwise', async () => {
    const [cat = 0, shares = 0] = (await createTestScorer(['svc-embed']).score()) ?? [];
    assert.ok(cat > shares);
  });

  it('returns undefined when no model is ready, or when it fails', async () => {
    assert.equal(await createTestScorer([]).score(), undefined);
    const { score, countReleases } = createTestScorer(['svc-rerank'], { failsRanking: true });
    assert.equal(await score(), undefined);
    assert.equal(countReleases(), 1);
  });
});
