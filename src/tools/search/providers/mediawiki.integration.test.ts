import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendJson, startTestWebServer } from '../../__fixtures__/test-web-server.ts';
import { NEVER, createTestQuery } from '../__fixtures__/test-search.ts';
import { createMediawiki } from './mediawiki.ts';

const HITS = {
  batchcomplete: true,
  query: {
    searchinfo: { totalhits: 2 },
    search: [
      {
        ns: 0,
        title: 'Tide',
        pageid: 30718,
        snippet: 'the <span class="searchmatch">tides</span> &amp; seas',
        timestamp: '2026-02-03T04:05:06Z',
      },
      { ns: 0, title: 'North Sea', pageid: 21179, snippet: 'a sea', timestamp: '2026-01-01T00:00:00Z' },
    ],
  },
};

const PAGES = {
  batchcomplete: true,
  query: {
    general: { mainpage: 'Main Page', sitename: 'Wiki & Co' },
    // Sorted by id, as MediaWiki does.
    pages: [
      {
        pageid: 21179,
        ns: 0,
        title: 'North Sea',
        contentmodel: 'wikitext',
        fullurl: 'https://wiki.example/wiki/North_Sea',
      },
      {
        pageid: 30718,
        ns: 0,
        title: 'Tide',
        fullurl: 'https://wiki.example/wiki/Tide',
        extract: 'Tides rise, if a < b.\nAnd fall.',
      },
    ],
  },
};

describe('createMediawiki', () => {
  it('queries hits, then their URLs and extracts', async () => {
    await using web = await startTestWebServer(({ url }, response) =>
      sendJson(response, url.searchParams.has('list') ? HITS : PAGES),
    );
    const provider = createMediawiki({ name: 'w', url: `${web.url}/w`, fetch: web.fetch });
    const { results } = await provider.search(createTestQuery({ text: 'tides', resultsMax: 50 }), NEVER);
    assert.deepEqual(results, [
      {
        title: 'Tide',
        url: 'https://wiki.example/wiki/Tide',
        siteName: 'Wiki & Co',
        icon: '',
        publishedAt: Date.UTC(2026, 1, 3, 4, 5, 6),
        passage: 'the <span class="searchmatch">tides</span> &amp; seas<br>Tides rise, if a &lt; b.<br>And fall.',
      },
      {
        title: 'North Sea',
        url: 'https://wiki.example/wiki/North_Sea',
        siteName: 'Wiki & Co',
        icon: '',
        publishedAt: Date.UTC(2026, 0, 1),
        passage: 'a sea',
      },
    ]);
    const [hits, pages] = web.requests.map(({ url }) => Object.fromEntries(url.searchParams));
    assert.equal(web.requests[0]?.url.pathname, '/w/api.php');
    assert.deepEqual([hits?.['srsearch'], hits?.['srlimit'], hits?.['formatversion']], ['tides', '20', '2']);
    assert.deepEqual([pages?.['pageids'], pages?.['prop']], ['30718|21179', 'info|extracts']);
  });

  it('sends no second query without hits', async () => {
    for (const empty of [{ batchcomplete: true }, { batchcomplete: true, query: { search: [] } }]) {
      await using web = await startTestWebServer((_request, response) => sendJson(response, empty));
      const provider = createMediawiki({ name: 'w', url: web.url, fetch: web.fetch });
      assert.deepEqual(await provider.search(createTestQuery(), NEVER), { results: [], findings: [] });
      assert.equal(web.requests.length, 1);
    }
  });

  it('fails for an error with status 200, and pauses the wiki after a rate limit', async () => {
    for (const [code, retryAfterSeconds] of [
      ['ratelimited', 10],
      ['search-error', undefined],
    ] as const) {
      const answer = { error: { code, info: 'words of the wiki', docref: 'See …' }, servedby: 'mw1' };
      await using web = await startTestWebServer((_request, response) => sendJson(response, answer));
      const searching = createMediawiki({ name: 'w', url: web.url, fetch: web.fetch }).search(createTestQuery(), NEVER);
      await assert.rejects(searching, { kind: 'upstream-failed', retryAfterSeconds });
    }
  });
});
