import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startTestWebServer } from '../../__fixtures__/test-web-server.ts';
import { NEVER, createTestQuery } from '../__fixtures__/test-search.ts';
import { createKiwix } from './kiwix.ts';

const FEED = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:atom="http://www.w3.org/2005/Atom">
  <channel>
    <title>Search: tides</title>
    <link>/lib/search?pattern=tides&amp;format=xml&amp;start=1&amp;pageLength=2</link>
    <description>Search result for tides</description>
    <opensearch:totalResults>2</opensearch:totalResults>
    <item>
      <title>Tide &amp; Time &lt;1&gt;</title>
      <link>/lib/content/wiki_en/A/Tide_%26_Time</link>
        <description>the <b>tides</b> &amp; seas...</description>
        <book>
          <title>Wiki of seas</title>
        </book>
        <wordCount>1,234</wordCount>
    </item>
    <item>
      <title>North Sea</title>
      <link>/lib/content/wiki_en/A/North_Sea</link>
    </item>
  </channel>
</rss>`;

describe('createKiwix', () => {
  it('requests a feed of its books, and resolves links to URLs', async () => {
    await using web = await startTestWebServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/rss+xml; charset=utf-8' }).end(FEED);
    });
    const books = ['wiki_en', 'other & more'];
    const provider = createKiwix({ name: 'k', url: `${web.url}/lib`, fetch: web.fetch, books, language: 'eng' });
    const { results } = await provider.search(createTestQuery({ text: 'tides', resultsMax: 2 }), NEVER);
    assert.deepEqual(results, [
      {
        title: 'Tide &amp; Time &lt;1>',
        url: `${web.url}/lib/content/wiki_en/A/Tide_%26_Time`,
        siteName: 'Wiki of seas',
        icon: '',
        passage: 'the tides &amp; seas...',
      },
      { title: 'North Sea', url: `${web.url}/lib/content/wiki_en/A/North_Sea`, siteName: '', icon: '', passage: '' },
    ]);
    const requestUrl = web.requests[0]?.url;
    assert.equal(requestUrl?.pathname, '/lib/search');
    assert.deepEqual(
      [...(requestUrl?.searchParams ?? [])],
      [
        ['books.name', 'wiki_en'],
        ['books.name', 'other & more'],
        ['pattern', 'tides'],
        ['format', 'xml'],
        ['pageLength', '2'],
      ],
    );
  });

  it('fails for a response that is not a feed, and sends no query with freshness', async () => {
    await using web = await startTestWebServer((_request, response) =>
      response.writeHead(200).end('<!doctype html><title>Welcome</title>'),
    );
    const provider = createKiwix({ name: 'k', url: web.url, fetch: web.fetch, language: 'eng' });
    await assert.rejects(provider.search(createTestQuery(), NEVER), { kind: 'upstream-failed' });
    assert.equal(web.requests[0]?.url.searchParams.get('books.filter.lang'), 'eng');
    assert.deepEqual(await provider.search(createTestQuery({ freshnessDays: 1 }), NEVER), {
      results: [],
      findings: [],
    });
    assert.equal(web.requests.length, 1);
  });
});
