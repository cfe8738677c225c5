import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { describe, it } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import type { Search, SearchQuery } from '../core/server-tools.ts';
import type { Log } from '../core/telemetry.ts';
import { systemClock } from '../lib/clock.ts';
import { createSearch } from '../tools/search/search.ts';
import { createSearchProviders } from './create-search-providers.ts';

const NEVER = new AbortController().signal;

const QUERY: SearchQuery = {
  text: 'tides',
  tenant: { region: 'cn-beijing', workspace: 'w' },
  breadth: 'all',
  resultsMax: 5,
  usesDomainProviders: false,
};

/** Creates a search with providers on one test server; records the log and the User-Agent headers. */
async function withSearch(
  {
    listener,
    section,
    environment = {},
  }: { listener: RequestListener; section: (url: string) => string; environment?: Record<string, string> },
  run: (opened: {
    search: Search;
    url: string;
    readLog: () => string;
    agents: Set<string | undefined>;
  }) => Promise<void>,
): Promise<void> {
  const agents = new Set<string | undefined>();
  const server = createServer((request, response) => {
    agents.add(request.headers['user-agent']);
    listener(request, response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const lines: unknown[] = [];
  const record = (...line: unknown[]): void => void lines.push(line);
  const log: Log = { info: record, warn: record, error: record };
  const file = JSON.stringify({ search: JSON.parse(section(url)) });
  const { config } = loadConfig({
    env: { PARLEY_DATA: '/srv/parley' },
    readFile: () => file,
    folder: '/srv',
    cores: 2,
  });
  const providers = createSearchProviders({ config, environment, clock: systemClock, log });
  const search = createSearch({ providers, log, clock: systemClock });
  try {
    await run({ search, url, readLog: () => JSON.stringify(lines), agents });
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

const respondAsWiki: RequestListener = (request, response) => {
  const requestUrl = new URL(request.url ?? '', 'http://w');
  const json = (value: unknown): void =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const host = `http://${request.headers.host}`;
  if (requestUrl.searchParams.has('list'))
    json({ query: { search: [{ pageid: 1, title: 'Tide', snippet: 'tides', timestamp: '2026-01-01T00:00:00Z' }] } });
  else if (requestUrl.pathname === '/w/api.php')
    json({ query: { pages: [{ pageid: 1, fullurl: `${host}/wiki/Tide`, extract: 'High.' }] } });
  else response.writeHead(404).end();
};

describe('createSearchProviders', () => {
  it('searches a wiki in a private network, and names its contact', async () => {
    const section = (url: string) =>
      JSON.stringify({
        providers: [{ type: 'index' }, { type: 'mediawiki', url: `${url}/w` }],
        contact: 'https://a.example/bot',
      });
    await withSearch({ listener: respondAsWiki, section }, async ({ search, url, agents }) => {
      const { results } = await search(QUERY, NEVER);
      assert.deepEqual(
        results.map((result) => [result.url, result.passage]),
        [[`${url}/wiki/Tide`, 'tides\nHigh.']],
      );
      assert.deepEqual([...agents], ['Parley (+https://a.example/bot)']);
    });
  });

  const failures: readonly (readonly [what: string, listener: RequestListener])[] = [
    ['refuses the key', (_request, response) => response.writeHead(401).end('{"detail":{"error":"SECRET-1"}}')],
    [
      'exceeds the size limit',
      (_request, response) => response.writeHead(200).end(Buffer.alloc(5 * 1024 * 1024, 0x20)),
    ],
    [
      'announces more than the size limit',
      (_request, response) => response.writeHead(200, { 'content-length': '99999999999' }).write(' '),
    ],
    [
      'sends invalid gzip',
      (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'),
    ],
    [
      'redirects within itself',
      (request, response) => {
        if (request.url === '/elsewhere') response.writeHead(200).end('{"results": [], "web": null}');
        else response.writeHead(307, { location: '/elsewhere' }).end();
      },
    ],
    ['hangs up', (request) => void request.socket.destroy()],
  ];
  for (const [failure, listener] of failures) {
    it(`fails without revealing a key when a provider ${failure}`, async () => {
      const section = (url: string) =>
        JSON.stringify({
          providers: [
            { type: 'tavily', url, apiKeyEnv: 'T' },
            { type: 'brave', url, apiKeyEnv: 'B' },
          ],
        });
      const environment = { T: 'SECRET-1', B: 'SECRET-2' };
      await withSearch({ listener, section, environment }, async ({ search, readLog }) => {
        await assert.rejects(search(QUERY, NEVER), { kind: 'upstream-failed' });
        assert.match(readLog(), /"provider":"tavily".*"provider":"brave"|"provider":"brave".*"provider":"tavily"/);
        assert.doesNotMatch(readLog(), /SECRET/);
      });
    });
  }

  it('aborts the request to a provider with the signal of the caller', async () => {
    const { promise: started, resolve: markStarted } = Promise.withResolvers<void>();
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const listener: RequestListener = (_request, response) => {
      response.once('close', close);
      response.writeHead(200).write('{"results": [');
      markStarted();
    };
    const section = (url: string) => JSON.stringify({ providers: [{ type: 'searxng', url }] });
    await withSearch({ listener, section }, async ({ search }) => {
      const caller = new AbortController();
      const searching = search(QUERY, caller.signal);
      await started;
      caller.abort(new Error('gone'));
      await assert.rejects(searching, /gone/);
      await closed;
    });
  });

  it('skips a provider whose API key is not set, and logs the variable', async () => {
    const section = (url: string) => JSON.stringify({ providers: [{ type: 'brave', url, apiKeyEnv: 'NOT_SET' }] });
    await withSearch({ listener: respondAsWiki, section }, async ({ search, readLog, agents }) => {
      assert.deepEqual(await search(QUERY, NEVER), { results: [], findings: [] });
      assert.match(readLog(), /NOT_SET/);
      assert.equal(agents.size, 0);
    });
  });
});
