import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendJson, startWeb } from '../../__fixtures__/small-web.ts';
import { NEVER, queryOf } from '../__fixtures__/queries.ts';
import { createSearxng } from './searxng.ts';

/** As an instance answers, with what is not read left in. */
const answerOf = (...urls: readonly string[]) => ({
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

describe('SearXNG', () => {
  it('is asked for JSON, with its engines, the range that holds the days, and the sites as operators', async () => {
    await using web = await startWeb((_asked, response) => sendJson(response, answerOf('https://a.example/')));
    const options = { engines: ['wikipedia', 'ddg'], categories: ['general'], language: 'de', apiKey: 'k' };
    const provider = createSearxng({ name: 's', url: `${web.url}/searx/`, fetch: web.fetch, ...options });
    const demands = { freshnessDays: 3, sites: ['a.example', 'b.example'], blockedSites: ['c.example'] };
    const found = await provider.search(queryOf({ text: 'tides', resultsMax: 1, ...demands }), NEVER);
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
    const [asked] = web.asked;
    assert.equal(asked?.url.pathname, '/searx/search');
    assert.deepEqual(Object.fromEntries(asked?.url.searchParams ?? []), {
      q: 'tides (site:a.example OR site:b.example) -site:c.example',
      format: 'json',
      engines: 'wikipedia,ddg',
      categories: 'general',
      language: 'de',
      time_range: 'week',
      pageno: '1',
    });
    assert.equal(asked?.headers.authorization, 'Bearer k');
  });

  it('is asked for more pages until there is enough, and keeps what it has where one is refused', async () => {
    for (const refused of [4, 3]) {
      await using web = await startWeb(({ url }, response) => {
        const page = Number(url.searchParams.get('pageno'));
        if (page === refused) sendJson(response, {}, 429);
        else sendJson(response, answerOf(`https://a.example/${page}`));
      });
      const provider = createSearxng({ name: 's', url: web.url, fetch: web.fetch });
      const { results } = await provider.search(queryOf({ resultsMax: 9 }), NEVER);
      assert.equal(results.length, refused === 3 ? 2 : 3);
      assert.equal(web.asked.length, 3, 'no more pages than are asked for at most');
    }
  });
});
