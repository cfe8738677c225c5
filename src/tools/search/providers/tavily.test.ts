import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendJson, startWeb } from '../../__fixtures__/small-web.ts';
import { NEVER, queryOf } from '../__fixtures__/queries.ts';
import { createTavily } from './tavily.ts';

const ANSWER = {
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

describe('Tavily', () => {
  it('is posted the query with its key, and asked for news where dates matter', async () => {
    await using web = await startWeb((_asked, response) => sendJson(response, ANSWER));
    const provider = createTavily({ name: 't', url: web.url, fetch: web.fetch, apiKey: 'tvly-1', clock });
    const demands = { freshnessDays: 2, sites: ['https://News.example/'], blockedSites: ['b.example'] };
    const { results } = await provider.search(queryOf({ text: 'tides', resultsMax: 50, ...demands }), NEVER);
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
    const [asked] = web.asked;
    assert.deepEqual(
      [asked?.method, asked?.url.pathname, asked?.headers.authorization],
      ['POST', '/search', 'Bearer tvly-1'],
    );
    assert.deepEqual(JSON.parse(asked?.body ?? ''), {
      query: 'tides',
      max_results: 20,
      include_favicon: true,
      include_domains: ['news.example'],
      exclude_domains: ['b.example'],
      topic: 'news',
      start_date: '2026-03-02',
    });
  });

  it('is asked for nothing else where the query demands nothing', async () => {
    await using web = await startWeb((_asked, response) => sendJson(response, ANSWER));
    await createTavily({ name: 't', url: web.url, fetch: web.fetch, apiKey: 'k' }).search(
      queryOf({ text: 'a' }),
      NEVER,
    );
    assert.deepEqual(JSON.parse(web.asked[0]?.body ?? ''), { query: 'a', max_results: 10, include_favicon: true });
  });
});
