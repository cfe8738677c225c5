import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { EmbeddingEngine } from '../engines/engine.ts';
import { createScriptedEmbeddings, SCRIPTED_DIMENSIONS } from '../engines/scripted/scripted-embeddings.ts';
import { createBooks } from './__fixtures__/house.ts';
import { createEmbed } from './embed.ts';

const scripted = createScriptedEmbeddings({ textTokensMax: 100 });

function createHouse(engine: EmbeddingEngine = scripted) {
  const { books, caller, context, needs } = createBooks(engine);
  const embed = createEmbed(needs);
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
        context,
      ),
  };
}

const settledOf = ({ settled }: ReturnType<typeof createHouse>['books']) =>
  settled.map(({ usage, how }) => [usage.promptTokens, how]);

const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, x, at) => sum + x * (b[at] ?? 0), 0);

const saying = (vectors: readonly (readonly number[])[]): EmbeddingEngine => ({
  dimensions: async () => 2,
  embed: async () => ({ vectors, tokens: 1 }),
});

describe('vectors', () => {
  it('have length 1, one for each text, and what they took is written down once', async () => {
    const { embed, books } = createHouse();
    const { vectors, promptTokens } = await embed(['a black cat', 'a black dog', 'shares rose']);
    const [cat, dog, shares] = vectors;
    assert.ok(cat && dog && shares);
    for (const vector of vectors) {
      assert.equal(vector.length, SCRIPTED_DIMENSIONS);
      assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-6);
    }
    assert.ok(dot(cat, dog) > dot(cat, shares));
    assert.equal(promptTokens, 8);
    const { permits, releases, leases, leasesReleased, facts } = books;
    assert.deepEqual([permits, releases, leases, leasesReleased], [1, 1, 1, 1]);
    assert.deepEqual(settledOf(books), [[8, 'finished']]);
    assert.deepEqual(facts, { model: 'm', promptTokens: 8 });
  });

  it('of fewer dimensions are the first ones, again of length 1', async () => {
    const { embed } = createHouse(saying([[3, 4]]));
    assert.deepEqual((await embed(['x'])).vectors, [Float32Array.of(0.6, 0.8)]);
    assert.deepEqual((await embed(['x'], 1)).vectors, [Float32Array.of(1)]);
  });

  it('of more dimensions than the model has are refused by the field that asks for them', async () => {
    const { embed, books } = createHouse();
    await assert.rejects(embed(['x'], 65), {
      kind: 'invalid-request',
      param: 'dimensions',
      message: 'dimensions must be at most 64, as many as the vectors of model m have, got 65.',
    });
    assert.deepEqual([books.permits - books.releases, books.leases - books.leasesReleased], [0, 0]);
  });

  it('that are missing or have no direction are a failure, never an answer', async () => {
    for (const vectors of [[], [[0, 0]], [[Number.NaN, 1]], [[Infinity, 1]]]) {
      const { embed, books } = createHouse(saying(vectors));
      await assert.rejects(embed(['x']), { kind: 'engine-failed' });
      assert.deepEqual(settledOf(books), [[0, 'failed']]);
    }
  });

  it('that nobody waits for give back what they held', async () => {
    const { embed, caller, books } = createHouse();
    caller.abort();
    await assert.rejects(embed(['x']), { kind: 'cancelled' });
    assert.deepEqual([books.permits - books.releases, books.leases - books.leasesReleased], [0, 0]);
    assert.deepEqual(settledOf(books), [[0, 'cancelled']]);
  });

  it('that the engine refuses are refused in its words', async () => {
    const refusal = new ServiceError('overloaded', 'No place.');
    const { embed } = createHouse({ ...scripted, embed: () => Promise.reject(refusal) });
    await assert.rejects(embed(['x']), refusal);
  });
});
