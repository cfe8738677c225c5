import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type IndexFolder, openIndexFolder } from './__fixtures__/index-folder.ts';
import type { EmbedTexts } from './search-index.ts';
import { startVectorFiller } from './vector-filler.ts';

const { signal } = new AbortController();
const embedAll: EmbedTexts = async (texts) => ({ model: 'small', vectors: texts.map(() => Float32Array.of(1, 0)) });

describe('startVectorFiller', () => {
  let index: IndexFolder;
  beforeEach(async () => {
    index = await openIndexFolder();
    for (const name of ['a', 'b', 'c']) await index.write(`zoo/${name}.md`, `# ${name}\n\nThe whale ${name} sings.`);
    await index.operator.add({ sources: [join(index.folder, 'zoo')] }, { signal });
  });
  afterEach(() => index.close());

  const start = (embed: EmbedTexts) => {
    const { promise: logged, resolve } = Promise.withResolvers<string>();
    const log = { info: resolve, warn: resolve };
    return { logged, filler: startVectorFiller({ store: index.store, embed, log, checkMs: 1 }) };
  };
  const countVectors = async () => (await index.store.indexCollections.getTotals('zoo')).vectors;

  it('computes the vectors that an earlier command left out', async () => {
    assert.equal(await countVectors(), 0);
    const { filler, logged } = start(embedAll);
    assert.equal(await logged, 'vectors of the local index computed');
    assert.equal(await countVectors(), 3);
    await filler.close();
  });

  it('logs a failure and tries again', async () => {
    let failures = 0;
    const messages: string[] = [];
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const filler = startVectorFiller({
      store: index.store,
      embed: async (texts, stop) => {
        if (failures++ === 0) throw new Error('the engine is gone');
        return await embedAll(texts, stop);
      },
      log: { info: () => resolve(), warn: (message) => void messages.push(message) },
      checkMs: 1,
    });
    await done;
    assert.deepEqual(messages, ['computing vectors of the local index failed']);
    await filler.close();
  });

  it('stops in the middle when it is closed, and waits for what it does', async () => {
    const { promise: started, resolve } = Promise.withResolvers<void>();
    const { filler } = start(async (texts, stop) => {
      if (texts[0] === 'model') return await embedAll(texts, stop);
      resolve();
      return await new Promise((_, reject) => stop.addEventListener('abort', () => reject(stop.reason)));
    });
    await started;
    await filler.close();
    assert.equal(await countVectors(), 0);
  });
});
