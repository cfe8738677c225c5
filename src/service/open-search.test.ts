import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { describe, it } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import type { SearchQuery } from '../core/server-tools.ts';
import type { Log } from '../core/telemetry.ts';
import { systemClock } from '../lib/clock.ts';
import { openSearch } from './open-search.ts';

const NEVER = new AbortController().signal;

const QUERY: SearchQuery = { text: 'tides', workspace: 'w', breadth: 'all', resultsMax: 5, withDomains: false };

/** What is searched and read against one server, everything that the log was told, and who asked. */
async function withSearch(
  {
    listener,
    section,
    environment = {},
  }: { listener: RequestListener; section: (url: string) => string; environment?: Record<string, string> },
  work: (
    opened: ReturnType<typeof openSearch> & { url: string; told: () => string; agents: Set<string | undefined> },
  ) => Promise<void>,
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
  const keep = (...line: unknown[]): void => void lines.push(line);
  const log: Log = { info: keep, warn: keep, error: keep };
  const file = JSON.stringify({ search: JSON.parse(section(url)) });
  const { config } = loadConfig({
    env: { PARLEY_DATA: '/srv/parley' },
    readFile: () => file,
    folder: '/srv',
    cores: 2,
  });
  const opened = openSearch({ config, environment, clock: systemClock, log });
  try {
    await work({ ...opened, url, told: () => JSON.stringify(lines), agents });
  } finally {
    await opened.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

const wiki: RequestListener = (request, response) => {
  const asked = new URL(request.url ?? '', 'http://w');
  const json = (value: unknown): void =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const host = `http://${request.headers.host}`;
  if (asked.pathname === '/robots.txt') response.writeHead(200).end('User-agent: Parley\nDisallow: /wiki/Private\n');
  else if (asked.searchParams.has('list'))
    json({ query: { search: [{ pageid: 1, title: 'Tide', snippet: 'tides', timestamp: '2026-01-01T00:00:00Z' }] } });
  else if (asked.pathname === '/w/api.php')
    json({ query: { pages: [{ pageid: 1, fullurl: `${host}/wiki/Tide`, extract: 'High.' }] } });
  else response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Tide</title><p>High at noon.');
};

describe('a search as it was configured', () => {
  it('finds in a wiki of a private network, and reads there what its rules allow', async () => {
    const section = (url: string) =>
      JSON.stringify({
        providers: [{ type: 'index' }, { type: 'mediawiki', url: `${url}/w` }],
        contact: 'https://a.example/bot',
      });
    await withSearch({ listener: wiki, section }, async ({ search, readPage, url, agents }) => {
      const { results } = await search(QUERY, NEVER);
      assert.deepEqual(
        results.map((result) => [result.url, result.passage]),
        [[`${url}/wiki/Tide`, 'tides\nHigh.']],
      );
      assert.equal((await readPage({ url: `${url}/wiki/Tide`, workspace: 'w' }, NEVER)).passage, 'High at noon.');
      await assert.rejects(readPage({ url: `${url}/wiki/Private`, workspace: 'w' }, NEVER), { kind: 'forbidden' });
      assert.deepEqual([...agents], ['Parley (+https://a.example/bot)']);
    });
  });

  it('reads nothing else of a private network', async () => {
    const section = (url: string) =>
      JSON.stringify({
        providers: [
          { type: 'searxng', url },
          { type: 'kiwix', url: 'http://127.0.0.1:1' },
        ],
      });
    await withSearch({ listener: wiki, section }, async ({ readPage, url, agents }) => {
      for (const page of [url, `${url}/wiki/Tide`, 'http://localhost/', 'http://169.254.169.254/']) {
        await assert.rejects(readPage({ url: page, workspace: 'w' }, NEVER), { kind: 'invalid-request' });
      }
      assert.equal(agents.size, 0);
    });
  });

  const bad: readonly (readonly [what: string, listener: RequestListener])[] = [
    ['refuses the key', (_request, response) => response.writeHead(401).end('{"detail":{"error":"SECRET-1"}}')],
    [
      'sends more than it may',
      (_request, response) => response.writeHead(200).end(Buffer.alloc(5 * 1024 * 1024, 0x20)),
    ],
    [
      'says that it will',
      (_request, response) => response.writeHead(200, { 'content-length': '99999999999' }).write(' '),
    ],
    [
      'unpacks to nothing',
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
  for (const [what, listener] of bad) {
    it(`has failed where a service ${what}, and no key is told to anybody`, async () => {
      const section = (url: string) =>
        JSON.stringify({
          providers: [
            { type: 'tavily', url, apiKeyEnv: 'T' },
            { type: 'brave', url, apiKeyEnv: 'B' },
          ],
        });
      const environment = { T: 'SECRET-1', B: 'SECRET-2' };
      await withSearch({ listener, section, environment }, async ({ search, told }) => {
        await assert.rejects(search(QUERY, NEVER), { kind: 'upstream-failed' });
        assert.match(told(), /"provider":"tavily".*"provider":"brave"|"provider":"brave".*"provider":"tavily"/);
        assert.doesNotMatch(told(), /SECRET/);
      });
    });
  }

  it('gives up a service that never ends as soon as its caller does', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const listener: RequestListener = (_request, response) => {
      response.once('close', close);
      response.writeHead(200).write('{"results": [');
      begin();
    };
    const section = (url: string) => JSON.stringify({ providers: [{ type: 'searxng', url }] });
    await withSearch({ listener, section }, async ({ search }) => {
      const caller = new AbortController();
      const searching = search(QUERY, caller.signal);
      await begun;
      caller.abort(new Error('gone'));
      await assert.rejects(searching, /gone/);
      await closed;
    });
  });

  it('does not ask a service whose key is not set, and says so', async () => {
    const section = (url: string) => JSON.stringify({ providers: [{ type: 'brave', url, apiKeyEnv: 'NOT_SET' }] });
    await withSearch({ listener: wiki, section }, async ({ search, told, agents }) => {
      assert.deepEqual(await search(QUERY, NEVER), { results: [], findings: [] });
      assert.match(told(), /NOT_SET/);
      assert.equal(agents.size, 0);
    });
  });
});
