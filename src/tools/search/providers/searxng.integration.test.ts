import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendJson, startTestWebServer } from '../../__fixtures__/test-web-server.ts';
import { NEVER, createTestQuery } from '../__fixtures__/test-search.ts';
import { createSearxng } from './searxng.ts';

/** Creates a response of an instance, including fields that Parley ignores. */
const createResponse = (...urls: readonly string[]) => ({
  query: 'q',
  number_of_results: 0,
  results: urls.map((url) => ({
    url,
    title: `Title of ${url}`,
    content: 'What was said.',
    publishedDate: '2026-03-04T05:06:07',
    thumbnail: null,
    engine: 'wikipedia',
    template: 'default.html',
    parsed_url: ['https', 'a.example', '/', '', '', ''],
    img_src: '',
    priority: '',
    engines: ['wikipedia'],
    positions: [1],
    score: 1,
    category: 'general',
  })),
  answers: [],
  corrections: [],
  infoboxes: [],
  suggestions: [],
  unresponsive_engines: [['brave', 'timeout']],
});

describe('createSearxng', () => {
  it('requests JSON with its engines, the time range that contains the days, and the sites as operators', async () => {
    await using web = await startTestWebServer((_request, response) =>
      sendJson(response, createResponse('https://a.example/')),
    );
    const options = { engines: ['wikipedia', 'ddg'], categories: ['general'], language: 'de', apiKey: 'k' };
    const provider = createSearxng({ name: 's', url: `${web.url}/searx/`, fetch: web.fetch, ...options });
    const filters = { freshnessDays: 3, sites: ['a.example', 'b.example'], blockedSites: ['c.example'] };
    const found = await provider.search(createTestQuery({ text: 'tides', resultsMax: 1, ...filters }), NEVER);
    assert.deepEqual(found.results, [
      {
        title: 'Title of https://a.example/',
        url: 'https://a.example/',
        siteName: '',
        icon: '',
        passage: 'What was said.',
        publishedAt: Date.UTC(2026, 2, 4, 5, 6, 7),
      },
    ]);
    const [request] = web.requests;
    assert.equal(request?.url.pathname, '/searx/search');
    assert.deepEqual(Object.fromEntries(request?.url.searchParams ?? []), {
      q: 'tides (site:a.example OR site:b.example) -site:c.example',
      format: 'json',
      engines: 'wikipedia,ddg',
      categories: 'general',
      language: 'de',
      time_range: 'week',
      pageno: '1',
    });
    assert.equal(request?.headers.authorization, 'Bearer k');
  });

  it('requests pages until there are enough results, and keeps earlier ones if a page is refused', async () => {
    for (const refused of [4, 3]) {
      await using web = await startTestWebServer(({ url }, response) => {
        const page = Number(url.searchParams.get('pageno'));
        if (page === refused) sendJson(response, {}, 429);
        else sendJson(response, createResponse(`https://a.example/${page}`));
      });
      const provider = createSearxng({ name: 's', url: web.url, fetch: web.fetch });
      const { results } = await provider.search(createTestQuery({ resultsMax: 9 }), NEVER);
      assert.equal(results.length, refused === 3 ? 2 : 3);
      assert.equal(web.requests.length, 3, 'the maximum number of pages');
    }
  });
});
