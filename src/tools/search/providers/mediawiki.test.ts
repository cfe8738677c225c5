import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendJson, startWeb } from '../../__fixtures__/small-web.ts';
import { NEVER, queryOf } from '../__fixtures__/queries.ts';
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
    // In the order of their ids, as wikis do.
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

describe('a wiki', () => {
  it('is asked what it finds, then where that is and how it begins', async () => {
    await using web = await startWeb(({ url }, response) =>
      sendJson(response, url.searchParams.has('list') ? HITS : PAGES),
    );
    const provider = createMediawiki({ name: 'w', url: `${web.url}/w`, fetch: web.fetch });
    const { results } = await provider.search(queryOf({ text: 'tides', resultsMax: 50 }), NEVER);
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
    const [hits, pages] = web.asked.map(({ url }) => Object.fromEntries(url.searchParams));
    assert.equal(web.asked[0]?.url.pathname, '/w/api.php');
    assert.deepEqual([hits?.['srsearch'], hits?.['srlimit'], hits?.['formatversion']], ['tides', '20', '2']);
    assert.deepEqual([pages?.['pageids'], pages?.['prop']], ['30718|21179', 'info|extracts']);
  });

  it('that finds nothing is asked nothing else', async () => {
    for (const empty of [{ batchcomplete: true }, { batchcomplete: true, query: { search: [] } }]) {
      await using web = await startWeb((_asked, response) => sendJson(response, empty));
      const provider = createMediawiki({ name: 'w', url: web.url, fetch: web.fetch });
      assert.deepEqual(await provider.search(queryOf(), NEVER), { results: [], findings: [] });
      assert.equal(web.asked.length, 1);
    }
  });

  it('that refuses with status 200 has failed, and rests where it had too much', async () => {
    for (const [code, retryAfterSeconds] of [
      ['ratelimited', 10],
      ['search-error', undefined],
    ] as const) {
      const answer = { error: { code, info: 'words of the wiki', docref: 'See …' }, servedby: 'mw1' };
      await using web = await startWeb((_asked, response) => sendJson(response, answer));
      const searching = createMediawiki({ name: 'w', url: web.url, fetch: web.fetch }).search(queryOf(), NEVER);
      await assert.rejects(searching, { kind: 'upstream-failed', retryAfterSeconds });
    }
  });
});
