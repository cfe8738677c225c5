import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RESEARCH_PAGE_CACHE_ENTRIES_MAX } from './limits.ts';
import { createTestPage } from './__fixtures__/test-research.ts';
import { createCachedPageReader } from './cached-page-reader.ts';

const NEVER = new AbortController().signal;

function createTestReader() {
  const requestedUrls: string[] = [];
  const readPage = createCachedPageReader(async ({ url }) => {
    requestedUrls.push(url);
    if (url.endsWith('broken') && requestedUrls.length === 1) throw new Error('not now');
    return createTestPage(url, 'What it says.', url);
  });
  return {
    requestedUrls,
    read: (url: string) => readPage({ url, tenant: { region: 'cn-beijing', workspace: 'one' } }, NEVER),
  };
}

describe('createCachedPageReader', () => {
  it('reads a page once', async () => {
    const { requestedUrls, read } = createTestReader();
    assert.equal(await read('https://a.example/'), await read('https://a.example/#part'));
    assert.deepEqual(requestedUrls, ['https://a.example/']);
  });

  it('reads a page again after a failure', async () => {
    const { requestedUrls, read } = createTestReader();
    await assert.rejects(read('https://a.example/broken'));
    assert.equal((await read('https://a.example/broken')).passage, 'What it says.');
    assert.equal(requestedUrls.length, 2);
  });

  it('evicts the least recently used page', async () => {
    const { requestedUrls, read } = createTestReader();
    for (let at = 0; at < RESEARCH_PAGE_CACHE_ENTRIES_MAX; at++) await read(`https://a.example/${at}`);
    await read('https://a.example/0');
    await read('https://a.example/new');
    const before = requestedUrls.length;
    await read('https://a.example/0');
    assert.equal(requestedUrls.length, before);
    await read('https://a.example/1');
    assert.equal(requestedUrls.length, before + 1);
  });
});
