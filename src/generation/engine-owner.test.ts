import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EmbeddingEngine, EngineOwner } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createTestDeps, createTestGeneration } from './__fixtures__/test-generation.ts';
import { createEmbedder } from './embed.ts';

const OWNER: EngineOwner = { workspace: 'cn-beijing/w', key: 'k' };

describe('the owner that engines receive', () => {
  it('has the workspace, key and priority of a generation', async () => {
    for (const priority of [undefined, 'live', 'background'] as const) {
      const owners: EngineOwner[] = [];
      const engine = createScriptedEngine({
        script: ({ owner }) => {
          owners.push(owner);
          return [];
        },
      });
      const { batches } = await createTestGeneration(engine, priority ? { priority } : {}).generate();
      await Array.fromAsync(batches);
      assert.deepEqual(owners, [priority ? { ...OWNER, priority } : OWNER]);
    }
  });

  it('has the workspace, key and priority of an embedding request', async () => {
    const owners: EngineOwner[] = [];
    const engine: EmbeddingEngine = {
      getDimensions: async () => 1,
      async embed({ owner }) {
        owners.push(owner);
        return { vectors: [[1]], tokens: 1 };
      },
    };
    const { context, deps } = createTestDeps(engine, { priority: 'background' });
    const request = { model: 'm', inputs: [{ text: 'a', field: 'input' }] };
    await createEmbedder(deps)(request, { interface: 'embeddings' }, context);
    assert.deepEqual(owners, [{ ...OWNER, priority: 'background' }]);
  });
});
