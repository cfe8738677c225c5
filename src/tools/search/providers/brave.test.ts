import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendJson, startWeb } from '../../__fixtures__/small-web.ts';
import { NEVER, queryOf } from '../__fixtures__/queries.ts';
import { createBrave } from './brave.ts';

const ANSWER = {
  type: 'search',
  query: { original: 'tides', more_results_available: true },
  mixed: { type: 'mixed', main: [{ type: 'web', index: 0, all: false }] },
  web: {
    type: 'search',
    family_friendly: true,
    results: [
      {
        type: 'search_result',
        subtype: 'generic',
        title: 'Tides &#x27;26',
        url: 'https://a.example/tides',
        is_source_local: false,
        description: 'High at <strong>noon</strong>.',
        page_age: '2026-03-01T10:00:00',
        age: '3 days ago',
        profile: {
          name: 'A of Seas',
          url: 'https://a.example/tides',
          long_name: 'a.example',
          img: 'https://i.example/x',
        },
        language: 'en',
        meta_url: {
          scheme: 'https',
          netloc: 'a.example',
          hostname: 'a.example',
          favicon: 'https://i.example/f',
          path: '› tides',
        },
        extra_snippets: ['Low at six.'],
      },
      { type: 'search_result', title: 'B', url: 'https://b.example/', description: 'b' },
    ],
  },
};

const clock = { now: () => Date.UTC(2026, 2, 4, 12), monotonic: () => 0 };

describe('Brave', () => {
  it('is asked with its token, the days as a range and the sites as operators', async () => {
    await using web = await startWeb((_asked, response) => sendJson(response, ANSWER));
    const options = { apiKey: 'BSA-1', country: 'DE', language: 'de', clock };
    const provider = createBrave({ name: 'b', url: web.url, fetch: web.fetch, ...options });
    const demands = { freshnessDays: 7, sites: ['a.example'] };
    const { results } = await provider.search(queryOf({ text: 'tides', resultsMax: 50, ...demands }), NEVER);
    assert.deepEqual(results, [
      {
        title: 'Tides &#x27;26',
        url: 'https://a.example/tides',
        siteName: 'A of Seas',
        icon: 'https://i.example/f',
        passage: 'High at <strong>noon</strong>.<br>Low at six.',
        publishedAt: Date.UTC(2026, 2, 1, 10),
      },
      { title: 'B', url: 'https://b.example/', siteName: '', icon: '', passage: 'b' },
    ]);
    const [asked] = web.asked;
    assert.deepEqual([asked?.method, asked?.url.pathname], ['GET', '/res/v1/web/search']);
    assert.equal(asked?.headers['x-subscription-token'], 'BSA-1');
    assert.deepEqual(Object.fromEntries(asked?.url.searchParams ?? []), {
      q: 'tides site:a.example',
      count: '20',
      result_filter: 'web',
      text_decorations: 'false',
      country: 'DE',
      search_lang: 'de',
      freshness: '2026-02-25to2026-03-04',
    });
  });

  it('finds nothing where its answer has no web part, and no query is longer than it takes', async () => {
    await using web = await startWeb((_asked, response) => sendJson(response, { type: 'search', query: {} }));
    const provider = createBrave({ name: 'b', url: web.url, fetch: web.fetch, apiKey: 'k' });
    const text = 'word '.repeat(500);
    assert.deepEqual(await provider.search(queryOf({ text, freshnessDays: 1e9 }), NEVER), {
      results: [],
      findings: [],
    });
    const asked = web.asked[0]?.url.searchParams.get('q') ?? '';
    assert.ok(asked.length <= 400 && asked.split(' ').length <= 50);
  });
});
