import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { encodeScript } from '../../../../../test/clients/engine-script.ts';
import { sendAsAttacker } from '../../../../../test/attack/attacker-request.ts';
import { describeAttacks } from '../../../../../test/attack/harness.ts';

// Pages that a message of the attacker names, and a model chooses to read. Both sites are on this machine; the operator
// allows the first one only.

const ALLOWED_HOST = '127.0.0.1';
const FORBIDDEN_HOST = '127.0.0.3';
const SECRET = 'Only the operator may read this.';

/** Pages that are expensive to read, have no end, or lead to the operator's network. */
const PAGES: Readonly<Record<string, string>> = {
  '/nested': '<div>'.repeat(20_000),
  '/unclosed': '<'.repeat(300_000),
};

const requestedPaths: string[] = [];
const forbiddenPaths: string[] = [];

async function listen(host: string, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, host);
  after(() => server.close().closeAllConnections());
  await once(server, 'listening');
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}

const forbiddenSite = await listen(FORBIDDEN_HOST, ({ url = '' }, response) => {
  forbiddenPaths.push(url);
  response.end(SECRET);
});
const site = await listen(ALLOWED_HOST, ({ url = '' }, response) => {
  requestedPaths.push(url);
  const html = { 'content-type': 'text/html' };
  if (url.startsWith('/search'))
    return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"results":[]}');
  if (url === '/redirected') return void response.writeHead(302, { location: `${forbiddenSite}/secret` }).end();
  if (url !== '/endless') return void response.writeHead(PAGES[url] ? 200 : 404, html).end(PAGES[url]);
  response.writeHead(200, html);
  const write = (): void => {
    while (!response.destroyed && response.write('<p>endless</p>'.repeat(1000)));
  };
  response.on('drain', write);
  write();
});

const CONFIG = `search: { providers: [{ type: searxng, url: '${site}' }] }\n`;

describeAttacks('attacks with pages', { config: CONFIG, env: { PARLEY_SEARCH_PAGES_ALLOW: ALLOWED_HOST } }, [
  {
    name: '6 pages that are expensive to read, have no end, or are in the network of the operator',
    async run(target) {
      const urls = ['nested', 'unclosed', 'endless', 'redirected'].map((name) => `${site}/${name}`);
      for (const url of [...urls, `${forbiddenSite}/secret`, 'http://169.254.169.254/latest/meta-data/']) {
        const steps = [
          { when: 'You sort messages', say: [JSON.stringify({ message: 'asks for facts', search: 'the page' })] },
          { when: 'say what is next', say: [JSON.stringify({ next: 'read', page: 1 })] },
          'It is read.',
        ];
        const { status, text } = await sendAsAttacker(target, {
          path: '/v1/responses',
          body: JSON.stringify({
            model: 'svc-plus',
            input: `What is on ${url} ?\n${encodeScript(...steps)}`,
            tools: [{ type: 'web_search' }, { type: 'web_extractor' }],
          }),
        });
        assert.equal(status, 200, text);
        assert.match(text, /"web_extractor_call"/, `${url} was not read: ${text}`);
        assert.ok(!text.includes(SECRET));
      }
      for (const path of ['/nested', '/unclosed', '/endless', '/redirected'])
        assert.ok(requestedPaths.includes(path), path);
      assert.deepEqual(forbiddenPaths, []);
    },
  },
]);
