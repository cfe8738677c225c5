import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type IndexFolder, openIndexFolder } from './__fixtures__/index-folder.ts';
import { startTermUpdater } from './term-updater.ts';

const { signal } = new AbortController();

describe('startTermUpdater', () => {
  let index: IndexFolder;
  /** Documents of format 1: words have their endings, unlike the stems of a question. */
  beforeEach(async () => {
    index = await openIndexFolder();
    for (const name of ['a', 'b'])
      await index.write(`zoo/${name}.md`, `# Whales ${name}\n\n${`The ${name} whale is singing. `.repeat(2_000)}`);
    await index.operator.add({ sources: [join(index.folder, 'zoo')] }, { signal });
    const { indexDocuments } = index.store;
    for (const { id } of await indexDocuments.listOutdated({ termFormat: Infinity }, { after: 0, limit: 9 })) {
      const terms = (await indexDocuments.listPassageTexts(id)).map(
        (text) => text.toLowerCase().match(/[a-z]+/g) ?? [],
      );
      await index.store.transaction((tables) => tables.indexDocuments.replaceTerms(id, { at: 0, terms }));
      await indexDocuments.setTermFormat(id, 1);
    }
  });
  afterEach(() => index.close());

  const search = async (text: string): Promise<readonly string[]> => {
    const tenant = { region: 'cn-beijing', workspace: 'w' } as const;
    const { results } = await index.search(
      { text, resultsMax: 9, breadth: 'first', usesDomainProviders: false, tenant },
      signal,
    );
    return results.map(({ title }) => title).toSorted();
  };
  const start = () => {
    const messages: unknown[] = [];
    const add = (message: string, fields?: object): void => void messages.push([message, fields]);
    return { messages, updater: startTermUpdater({ store: index.store, log: { info: add, warn: add } }) };
  };
  const countOutdated = async () => (await index.operator.list())[0]?.outdated;

  it('finds documents of an earlier version again, and says which were not found', async () => {
    assert.deepEqual(await search('sings'), []);
    assert.equal(await countOutdated(), 2);
    const { updater, messages } = start();
    await updater.ended;
    assert.deepEqual(await search('sings'), ['Whales a', 'Whales b']);
    assert.equal(await countOutdated(), 0);
    assert.deepEqual(messages, [
      [
        'documents of the local index have terms of an earlier version, and are not found by all of their words',
        { documents: 2 },
      ],
      ['terms of the local index updated', { documents: 2 }],
    ]);
    const again = start();
    await again.updater.ended;
    assert.deepEqual(again.messages, []);
  });

  it('continues after a stop, and skips a document that was removed meanwhile', async () => {
    const stopped = start();
    await stopped.updater.close();
    assert.equal(await countOutdated(), 2);
    const [first = ''] = (await index.store.indexDocuments.listHashes('zoo', { after: '', limit: 1 })).keys();
    const next = start();
    await index.store.transaction(({ indexDocuments }) => indexDocuments.remove('zoo', [first]));
    await next.updater.ended;
    assert.deepEqual(await search('sings'), ['Whales b']);
  });

  it('updates documents in a refresh although their folder is missing', async () => {
    await rm(join(index.folder, 'zoo'), { recursive: true });
    await assert.rejects(index.operator.refresh('zoo', { signal }));
    assert.equal(await countOutdated(), 0);
    assert.deepEqual(await search('sings'), ['Whales a', 'Whales b']);
  });
});
