import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendJson, startTestWebServer } from '../../__fixtures__/test-web-server.ts';
import { NEVER, createTestQuery } from '../__fixtures__/test-search.ts';
import { createTavily } from './tavily.ts';

const RESPONSE = {
  query: 'tides',
  follow_up_questions: null,
  answer: null,
  images: [],
  results: [
    {
      title: 'Tides today',
      url: 'https://news.example/tides',
      content: 'High at noon.',
      score: 0.98,
      raw_content: null,
      favicon: 'https://news.example/favicon.ico',
      published_date: 'Mon, 02 Mar 2026 08:00:00 GMT',
    },
    { title: null, url: 'https://b.example/', content: null, score: 0.1, raw_content: null },
  ],
  response_time: 1.2,
  request_id: 'r-1',
};

const clock = { now: () => Date.UTC(2026, 2, 4, 12), monotonic: () => 0 };

describe('createTavily', () => {
  it('posts the query with its key, and requests news for a query with freshness', async () => {
    await using web = await startTestWebServer((_request, response) => sendJson(response, RESPONSE));
    const provider = createTavily({ name: 't', url: web.url, fetch: web.fetch, apiKey: 'tvly-1', clock });
    const filters = { freshnessDays: 2, sites: ['https://News.example/'], blockedSites: ['b.example'] };
    const { results } = await provider.search(createTestQuery({ text: 'tides', resultsMax: 50, ...filters }), NEVER);
    assert.deepEqual(results, [
      {
        title: 'Tides today',
        url: 'https://news.example/tides',
        siteName: '',
        icon: 'https://news.example/favicon.ico',
        passage: 'High at noon.',
        publishedAt: Date.UTC(2026, 2, 2, 8),
      },
      { title: '', url: 'https://b.example/', siteName: '', icon: '', passage: '' },
    ]);
    const [request] = web.requests;
    assert.deepEqual(
      [request?.method, request?.url.pathname, request?.headers.authorization],
      ['POST', '/search', 'Bearer tvly-1'],
    );
    assert.deepEqual(JSON.parse(request?.body ?? ''), {
      query: 'tides',
      max_results: 20,
      include_favicon: true,
      include_domains: ['news.example'],
      exclude_domains: ['b.example'],
      topic: 'news',
      start_date: '2026-03-02',
    });
  });

  it('sends no optional field for a plain query', async () => {
    await using web = await startTestWebServer((_request, response) => sendJson(response, RESPONSE));
    await createTavily({ name: 't', url: web.url, fetch: web.fetch, apiKey: 'k' }).search(
      createTestQuery({ text: 'a' }),
      NEVER,
    );
    assert.deepEqual(JSON.parse(web.requests[0]?.body ?? ''), { query: 'a', max_results: 10, include_favicon: true });
  });
});
