import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { EmbeddingEngine } from '../engines/engine.ts';
import { createScriptedEmbeddingEngine, SCRIPTED_DIMENSIONS } from '../engines/scripted/scripted-embedding-engine.ts';
import { createTestDeps } from './__fixtures__/test-generation.ts';
import { createEmbedder } from './embed.ts';

const scripted = createScriptedEmbeddingEngine({ textTokensMax: 100 });

function createTestEmbed(engine: EmbeddingEngine = scripted) {
  const { records: books, caller, context, deps } = createTestDeps(engine);
  const embed = createEmbedder(deps);
  return {
    books,
    caller,
    embed: (texts: readonly string[], count?: number) =>
      embed(
        {
          model: 'm',
          inputs: texts.map((text, at) => ({ text, field: `input[${at}]` })),
          ...(count === undefined ? {} : { dimensions: { count, field: 'dimensions' } }),
        },
        { interface: 'embeddings' },
        context,
      ),
  };
}

const listSettled = ({ settled }: ReturnType<typeof createTestEmbed>['books']) =>
  settled.map(({ usage, outcome }) => [usage.promptTokens, outcome]);

const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, x, at) => sum + x * (b[at] ?? 0), 0);

const createFakeEmbeddings = (vectors: readonly (readonly number[])[]): EmbeddingEngine => ({
  getDimensions: async () => 2,
  embed: async () => ({ vectors, tokens: 1 }),
});

describe('createEmbed', () => {
  it('returns one vector of length 1 for each text and records the usage once', async () => {
    const { embed, books } = createTestEmbed();
    const { vectors, promptTokens } = await embed(['a black cat', 'a black dog', 'shares rose']);
    const [cat, dog, shares] = vectors;
    assert.ok(cat && dog && shares);
    for (const vector of vectors) {
      assert.equal(vector.length, SCRIPTED_DIMENSIONS);
      assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-6);
    }
    assert.ok(dot(cat, dog) > dot(cat, shares));
    assert.equal(promptTokens, 8);
    const { permits, releases, leases, leasesReleased, logFields } = books;
    assert.deepEqual([permits, releases, leases, leasesReleased], [1, 1, 1, 1]);
    assert.deepEqual(listSettled(books), [[8, 'finished']]);
    assert.deepEqual(logFields, { model: 'm', promptTokens: 8 });
  });

  it('cuts vectors to fewer dimensions and scales them to length 1 again', async () => {
    const { embed } = createTestEmbed(createFakeEmbeddings([[3, 4]]));
    assert.deepEqual((await embed(['x'])).vectors, [Float32Array.of(0.6, 0.8)]);
    assert.deepEqual((await embed(['x'], 1)).vectors, [Float32Array.of(1)]);
  });

  it('rejects more dimensions than the model has and names the field', async () => {
    const { embed, books } = createTestEmbed();
    await assert.rejects(embed(['x'], 65), {
      kind: 'invalid-request',
      param: 'dimensions',
      message: 'dimensions must be at most 64, as many as the vectors of model m have, got 65.',
    });
    assert.deepEqual([books.permits - books.releases, books.leases - books.leasesReleased], [0, 0]);
  });

  it('fails when the engine returns a missing vector or one without a direction', async () => {
    for (const vectors of [[], [[0, 0]], [[Number.NaN, 1]], [[Infinity, 1]]]) {
      const { embed, books } = createTestEmbed(createFakeEmbeddings(vectors));
      await assert.rejects(embed(['x']), { kind: 'engine-failed' });
      assert.deepEqual(listSettled(books), [[0, 'failed']]);
    }
  });

  it('releases everything when the caller has left', async () => {
    const { embed, caller, books } = createTestEmbed();
    caller.abort();
    await assert.rejects(embed(['x']), { kind: 'cancelled' });
    assert.deepEqual([books.permits - books.releases, books.leases - books.leasesReleased], [0, 0]);
    assert.deepEqual(listSettled(books), [[0, 'cancelled']]);
  });

  it('passes an error of the engine on', async () => {
    const refusal = new ServiceError('overloaded', 'No place.');
    const { embed } = createTestEmbed({ ...scripted, embed: () => Promise.reject(refusal) });
    await assert.rejects(embed(['x']), refusal);
  });
});
