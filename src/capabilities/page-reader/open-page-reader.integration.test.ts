import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { describe, it } from 'node:test';
import { loadConfig } from '../../config/load-config.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { systemClock } from '../../lib/clock.ts';
import { openPageReader } from './open-page-reader.ts';

const NEVER = new AbortController().signal;

/** Opens page reading against one test server; records the User-Agent headers. */
async function withPageReader(
  { listener, section }: { listener: RequestListener; section: (url: string) => string },
  run: (opened: { readPage: ReadPage; url: string; agents: Set<string | undefined> }) => Promise<void>,
): Promise<void> {
  const agents = new Set<string | undefined>();
  const server = createServer((request, response) => {
    agents.add(request.headers['user-agent']);
    listener(request, response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const file = JSON.stringify({ search: JSON.parse(section(url)) });
  const { config } = loadConfig({
    env: { PARLEY_DATA: '/srv/parley' },
    readFile: () => file,
    folder: '/srv',
    cores: 2,
  });
  const { readPage, close } = openPageReader({ config, clock: systemClock });
  try {
    await run({ readPage, url, agents });
  } finally {
    await close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

const respondAsWiki: RequestListener = (request, response) => {
  const requestUrl = new URL(request.url ?? '', 'http://w');
  if (requestUrl.pathname === '/robots.txt')
    response.writeHead(200).end('User-agent: Parley\nDisallow: /wiki/Private\n');
  else response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Tide</title><p>High at noon.');
};

describe('openPageReader', () => {
  it('reads pages of a configured wiki in a private network as robots.txt allows', async () => {
    const section = (url: string) =>
      JSON.stringify({
        providers: [{ type: 'index' }, { type: 'mediawiki', url: `${url}/w` }],
        contact: 'https://a.example/bot',
      });
    await withPageReader({ listener: respondAsWiki, section }, async ({ readPage, url, agents }) => {
      assert.equal(
        (await readPage({ url: `${url}/wiki/Tide`, tenant: { region: 'cn-beijing', workspace: 'w' } }, NEVER)).passage,
        'High at noon.',
      );
      await assert.rejects(
        readPage({ url: `${url}/wiki/Private`, tenant: { region: 'cn-beijing', workspace: 'w' } }, NEVER),
        { kind: 'forbidden' },
      );
      assert.deepEqual([...agents], ['Parley (+https://a.example/bot)']);
    });
  });

  it('refuses other pages of a private network', async () => {
    const section = (url: string) =>
      JSON.stringify({
        providers: [
          { type: 'searxng', url },
          { type: 'kiwix', url: 'http://127.0.0.1:1' },
        ],
      });
    await withPageReader({ listener: respondAsWiki, section }, async ({ readPage, url, agents }) => {
      for (const page of [url, `${url}/wiki/Tide`, 'http://localhost/', 'http://169.254.169.254/']) {
        await assert.rejects(readPage({ url: page, tenant: { region: 'cn-beijing', workspace: 'w' } }, NEVER), {
          kind: 'invalid-request',
        });
      }
      assert.equal(agents.size, 0);
    });
  });
});
