import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { type IndexFolder, openIndexFolder } from './__fixtures__/index-folder.ts';
import { fillVectors } from './fill-vectors.ts';
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

  /** Starts a filler and returns its log lines when it logs that it is done with the collection. */
  const fill = async (collection: string, embed: EmbedTexts): Promise<readonly string[]> => {
    const lines: string[] = [];
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const add = (message: string, fields?: object): void => {
      lines.push(message);
      if (fields && 'filled' in fields && 'collection' in fields && fields.collection === collection) resolve();
    };
    const filler = startVectorFiller({ store: index.store, embed, log: { info: add, warn: add }, checkMs: 1 });
    await done;
    await filler.close();
    return lines;
  };
  const failFor =
    (isBad: (text: string) => boolean, error: Error): EmbedTexts =>
    async (texts, stop) => {
      if (texts.some(isBad)) throw error;
      return await embedAll(texts, stop);
    };

  for (const error of [new ServiceError('invalid-request', 'too long'), new Error('the engine crashed')])
    it(`leaves a document to its words that cannot be embedded (${error.message}), and completes its collection`, async () => {
      const lines = await fill(
        'zoo',
        failFor((text) => text.startsWith('# b'), error),
      );
      assert.equal(lines[0], 'a document of the local index cannot be embedded, and is found by words only');
      const query = { tenant: { region: 'cn-beijing', workspace: 'w' }, collections: 'plain' } as const;
      const { indexSearch } = index.store;
      assert.deepEqual(await indexSearch.listIncompleteCollections('small', query), []);
      const rows = await indexSearch.listVectors(
        'small',
        { ...query, excludedCollections: [] },
        { after: 0, limit: 9 },
      );
      assert.deepEqual(
        rows.map(({ dimensions }) => dimensions).toSorted((a, b) => a - b),
        [0, 2, 2],
      );
    });

  it('goes on with later collections when the model fails for one', async () => {
    await index.write('zoo2/d.md', '# d\n\nA seal sings.');
    await index.operator.add({ sources: [join(index.folder, 'zoo2')] }, { signal });
    const overloaded = new ServiceError('overloaded', 'busy');
    const lines = await fill(
      'zoo2',
      failFor((text) => text.includes('whale'), overloaded),
    );
    assert.ok(lines.includes('computing vectors of the local index failed'));
    assert.equal(await countVectors(), 0);
  });

  it('embeds the other documents when all of a batch are removed meanwhile', async () => {
    // Each document is a batch of its own.
    const long = 'The whale sings of the sea. '.repeat(2_000);
    for (const name of ['a', 'b']) await index.write(`sea/${name}.md`, `${name} ${long}`);
    await index.operator.add({ sources: [join(index.folder, 'sea')] }, { signal });
    const { indexDocuments } = index.store;
    const pending = await indexDocuments.listWithoutVectors('sea', { model: 'small', after: 0, limit: 9 });
    assert.ok(pending.every(({ passages }) => passages > 32));
    const removing = {
      ...index.store,
      indexDocuments: {
        ...indexDocuments,
        async listWithoutVectors(...query: Parameters<typeof indexDocuments.listWithoutVectors>) {
          const listed = await indexDocuments.listWithoutVectors(...query);
          const [first = ''] = (await indexDocuments.listHashes('sea', { after: '', limit: 1 })).keys();
          await index.store.transaction((tables) => tables.indexDocuments.remove('sea', [first]));
          return listed;
        },
      },
    };
    assert.equal(await fillVectors('sea', { store: removing, embed: embedAll }, { signal }), 1);
  });

  it('fills a collection whose documents become more between all checks', async () => {
    const { indexCollections } = index.store;
    let documents = 3;
    const growing = {
      ...index.store,
      indexCollections: {
        ...indexCollections,
        getTotals: async (name: string) => ({ ...(await indexCollections.getTotals(name)), documents: documents++ }),
      },
    };
    const { promise: logged, resolve } = Promise.withResolvers<string>();
    const filler = startVectorFiller({
      store: growing,
      embed: embedAll,
      log: { info: resolve, warn: resolve },
      checkMs: 1,
    });
    assert.equal(await logged, 'vectors of the local index computed');
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
