import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendJson, startTestWebServer } from '../../__fixtures__/test-web-server.ts';
import { NEVER, createTestQuery } from '../__fixtures__/test-search.ts';
import { createBrave } from './brave.ts';

const RESPONSE = {
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

describe('createBrave', () => {
  it('sends its token, the days as a date range and the sites as operators', async () => {
    await using web = await startTestWebServer((_request, response) => sendJson(response, RESPONSE));
    const options = { apiKey: 'BSA-1', country: 'DE', language: 'de', clock };
    const provider = createBrave({ name: 'b', url: web.url, fetch: web.fetch, ...options });
    const filters = { freshnessDays: 7, sites: ['a.example'] };
    const { results } = await provider.search(createTestQuery({ text: 'tides', resultsMax: 50, ...filters }), NEVER);
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
    const [request] = web.requests;
    assert.deepEqual([request?.method, request?.url.pathname], ['GET', '/res/v1/web/search']);
    assert.equal(request?.headers['x-subscription-token'], 'BSA-1');
    assert.deepEqual(Object.fromEntries(request?.url.searchParams ?? []), {
      q: 'tides site:a.example',
      count: '20',
      result_filter: 'web',
      text_decorations: 'false',
      country: 'DE',
      search_lang: 'de',
      freshness: '2026-02-25to2026-03-04',
    });
  });

  it('returns nothing for a response without web results, and shortens long queries', async () => {
    await using web = await startTestWebServer((_request, response) =>
      sendJson(response, { type: 'search', query: {} }),
    );
    const provider = createBrave({ name: 'b', url: web.url, fetch: web.fetch, apiKey: 'k' });
    const text = 'word '.repeat(500);
    assert.deepEqual(await provider.search(createTestQuery({ text, freshnessDays: 1e9 }), NEVER), {
      results: [],
      findings: [],
    });
    const query = web.requests[0]?.url.searchParams.get('q') ?? '';
    assert.ok(query.length <= 400 && query.split(' ').length <= 50);
  });
});
