import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { type IndexFolder, openIndexFolder } from './__fixtures__/index-folder.ts';
import { createReadDocument } from './read-document.ts';

const { signal } = new AbortController();

const elsewhere: ReadPage = async ({ url }) => {
  throw new ServiceError('upstream-failed', `There is no network to read ${url}.`);
};

describe('createReadDocument', () => {
  let index: IndexFolder;
  beforeEach(async () => {
    index = await openIndexFolder({});
  });
  afterEach(() => index.close());

  const readFrom = async (text: string) => {
    await index.write('zoo/whale.md', text);
    await index.operator.add({ sources: [join(index.folder, 'zoo')] }, { signal });
    const query = {
      text: 'whale',
      tenant: { region: 'cn-beijing', workspace: 'primary' },
      breadth: 'first',
      resultsMax: 1,
      usesDomainProviders: false,
    } as const;
    const [found] = (await index.search(query, signal)).results;
    assert.ok(found);
    const read = createReadDocument({ store: index.store, readPage: elsewhere });
    return {
      found,
      page: await read({ url: found.url, tenant: { region: 'cn-beijing', workspace: 'primary' } }, signal),
    };
  };

  it('reads a complete indexed document without a network', async () => {
    const { found, page } = await readFrom('# Whale\n\nThe whale is the largest animal.');
    assert.deepEqual(page, { ...found, passage: page.passage });
    assert.match(page.passage, /The whale is the largest animal\./);
  });

  it('removes the overlap of consecutive passages', async () => {
    const sentences = Array.from({ length: 120 }, (_, at) => `Whale number ${at} was seen far out at sea that day.`);
    const { page } = await readFrom(`# Whale\n\n${sentences.join(' ')}`);
    for (const sentence of sentences) assert.equal(page.passage.split(sentence).length, 2, sentence);
  });

  it('reads other pages with readPage', async () => {
    const read = createReadDocument({ store: index.store, readPage: elsewhere });
    await assert.rejects(
      read({ url: 'https://example.com/', tenant: { region: 'cn-beijing', workspace: 'primary' } }, signal),
      /no network to read https/,
    );
  });
});
