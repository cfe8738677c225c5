import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EmbeddingEngine, EngineOwner } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createBooks, createHouse } from './__fixtures__/house.ts';
import { createEmbed } from './embed.ts';

const WHO: EngineOwner = { workspace: 'cn-beijing/w', key: 'k' };

describe('an engine is told', () => {
  it('whose request it is, and that nobody waits for it, of texts', async () => {
    for (const priority of [undefined, 'live', 'background'] as const) {
      const owners: EngineOwner[] = [];
      const engine = createScriptedEngine({
        script: ({ owner }) => {
          owners.push(owner);
          return [];
        },
      });
      const { batches } = await createHouse(engine, priority ? { priority } : {}).generate();
      await Array.fromAsync(batches);
      assert.deepEqual(owners, [priority ? { ...WHO, priority } : WHO]);
    }
  });

  it('the same of vectors', async () => {
    const owners: EngineOwner[] = [];
    const engine: EmbeddingEngine = {
      dimensions: async () => 1,
      async embed({ owner }) {
        owners.push(owner);
        return { vectors: [[1]], tokens: 1 };
      },
    };
    const { context, needs } = createBooks(engine, { priority: 'background' });
    await createEmbed(needs)({ model: 'm', inputs: [{ text: 'a', field: 'input' }] }, context);
    assert.deepEqual(owners, [{ ...WHO, priority: 'background' }]);
  });
});
