import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { startTestWebServer } from '../../tools/__fixtures__/test-web-server.ts';
import type { RecordedRequest, TestWebServer } from '../../tools/__fixtures__/test-web-server.ts';
import { createPageReader } from './page-reader.ts';
import { createReadPage } from './read-page.ts';
import type { ReadPageOptions } from './read-page.ts';

const NEVER = new AbortController().signal;

const reader = createPageReader();
let web: TestWebServer;
let respond: (request: RecordedRequest, response: ServerResponse) => void = () => undefined;
before(async () => void (web = await startTestWebServer((request, response) => respond(request, response))));
after(async () => {
  await web[Symbol.asyncDispose]();
  await reader.close();
});

/** Creates a `readPage` with fakes that record robots checks and permits in order. */
function createTestReadPage(more: Partial<ReadPageOptions> = {}) {
  const steps: string[] = [];
  const getPath = (url: string): string => new URL(url).pathname;
  const readPage = createReadPage({
    fetch: web.fetch,
    reader,
    robots: {
      async check(url) {
        steps.push(`rules ${getPath(url)}`);
        if (url.includes('private')) throw new ServiceError('forbidden', 'The rules disallow it.');
        return 0;
      },
    },
    rateLimiter: {
      async acquire() {
        steps.push('enter');
        return () => void steps.push('leave');
      },
    },
    ...more,
  });
  return {
    order: steps,
    readPage,
    read: (path: string, signal = NEVER) =>
      readPage({ url: `${web.url}${path}`, tenant: { region: 'cn-beijing', workspace: 'w' } }, signal),
  };
}

const send =
  (type: string, body: string | Buffer, status = 200, headers: Record<string, string> = {}) =>
  (_request: RecordedRequest, response: ServerResponse): void =>
    void response.writeHead(status, { 'content-type': type, ...headers }).end(body);

describe('createReadPage', () => {
  it('returns text and URL of a page after the robots check and the rate limit', async () => {
    respond = send('text/html', '<html><head><title>Tides</title></head><body><p>High at noon.</p></body></html>');
    const { read, order } = createTestReadPage();
    const page = { title: 'Tides', url: `${web.url}/a`, siteName: '', icon: '', passage: 'High at noon.' };
    assert.deepEqual(await read('/a#part'), { ...page, url: `${web.url}/a#part` });
    assert.deepEqual(order, ['rules /a', 'enter', 'leave']);
  });

  it('checks the robots rules of a redirect target before following the redirect', async () => {
    respond = ({ url }, response) => {
      if (url.pathname === '/a') response.writeHead(302, { location: '/b' }).end();
      else if (url.pathname === '/c') response.writeHead(302, { location: '/private' }).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('There.');
    };
    const { read, order } = createTestReadPage();
    assert.equal((await read('/a')).url, `${web.url}/b`);
    assert.deepEqual(order, ['rules /a', 'enter', 'rules /b', 'leave', 'enter', 'leave']);
    await assert.rejects(read('/c'), { kind: 'forbidden' });
    assert.ok(!web.requests.some(({ url }) => url.pathname === '/private'));
    assert.equal(order.filter((step) => step === 'enter').length, order.filter((step) => step === 'leave').length);
  });

  it('contacts no host that the site filter excludes, neither directly nor by a redirect', async () => {
    respond = ({ url }, response) => {
      if (url.pathname === '/a') response.writeHead(302, { location: web.url.replace('127.0.0.1', 'localhost') }).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('There.');
    };
    const { readPage, order } = createTestReadPage();
    const readBy = (path: string, siteFilter: object) =>
      readPage({ url: `${web.url}${path}`, tenant: { region: 'cn-beijing', workspace: 'w' }, ...siteFilter }, NEVER);
    const requestCount = web.requests.length;
    await assert.rejects(readBy('/b', { sites: ['example.com'] }), { kind: 'forbidden' });
    await assert.rejects(readBy('/b', { blockedSites: ['127.0.0.1'] }), { kind: 'forbidden' });
    assert.deepEqual([order, web.requests.length], [[], requestCount]);
    await assert.rejects(readBy('/a', { sites: ['127.0.0.1'] }), { kind: 'forbidden' });
    assert.equal(web.requests.length, requestCount + 1);
    assert.equal((await readBy('/b', { sites: ['127.0.0.1'] })).passage, 'There.');
  });

  it('reads texts and Markdown, and PDFs with the given function', async () => {
    const { read } = createTestReadPage({ readPdf: async (bytes) => `PDF of ${bytes.length} bytes` });
    respond = send('text/plain; charset=gb18030', Buffer.from([0xd6, 0xd0]));
    assert.deepEqual((await read('/of%20tides.txt')).title, 'of tides.txt');
    assert.equal((await read('/x')).passage, '中');
    respond = send('text/plain', '# Of tides\n\nHigh.<!-- EVIL -->\n');
    const { title, passage } = await read('/readme.md');
    assert.deepEqual([title, passage], ['Of tides', '# Of tides\n\nHigh.']);
    respond = send('application/pdf', '%PDF-1.7');
    assert.equal((await read('/a.pdf')).passage, 'PDF of 8 bytes');
    await assert.rejects(createTestReadPage().read('/a.pdf'), { kind: 'upstream-failed', message: /PDF/ });
  });

  const failures: readonly (readonly [what: string, answer: typeof respond, kind: string])[] = [
    ['a page that is not there', send('text/html', '<p>no', 404), 'not-found'],
    ['a page that is gone', send('text/html', '<p>no', 410), 'not-found'],
    ['a server that refuses', send('text/html', '<p>no', 403), 'upstream-failed'],
    ['a server that fails', send('text/html', '<p>no', 500), 'upstream-failed'],
    ['a picture', send('image/png', 'x'), 'upstream-failed'],
    ['a page without text', send('text/html', '<html><body><script>1</script>'), 'upstream-failed'],
    ['bytes of no kind', send('application/octet-stream', '\u0000\u0001'), 'upstream-failed'],
    [
      'a header that forbids use by models',
      send('text/html', '<p>x', 200, { 'x-robots-tag': 'noindex, noai' }),
      'forbidden',
    ],
    [
      'a page that forbids use by models',
      send('text/html', '<meta name="Robots" content="nosnippet"><p>x'),
      'forbidden',
    ],
  ];
  for (const [what, how, kind] of failures) {
    it(`fails with ${kind} for ${what}`, async () => {
      respond = how;
      await assert.rejects(createTestReadPage().read('/a'), { kind });
    });
  }

  it('refuses texts that are not http(s) URLs', async () => {
    const { order } = createTestReadPage();
    const readPage = createReadPage({
      fetch: web.fetch,
      reader,
      robots: { check: async () => 0 },
      rateLimiter: { acquire: async () => () => undefined },
    });
    for (const url of [
      '',
      'file:///etc/passwd',
      'javascript:1',
      'https://u:p@a.example/',
      `http://a.example/${'x'.repeat(5_000)}`,
      '/a',
    ])
      await assert.rejects(readPage({ url, tenant: { region: 'cn-beijing', workspace: 'w' } }, NEVER), {
        kind: 'invalid-request',
      });
    assert.deepEqual(order, []);
  });

  it('rejects on an aborted signal and after the total time', async () => {
    respond = () => undefined;
    const caller = new AbortController();
    const reading = createTestReadPage().read('/slow', caller.signal);
    caller.abort(new Error('gone'));
    await assert.rejects(reading, /gone/);
    await assert.rejects(createTestReadPage({ totalMs: 50 }).read('/slow'), { kind: 'timeout' });
  });

  it('limits the length of the passage', async () => {
    respond = send('text/plain', `${'word '.repeat(100)}\n\n`.repeat(100));
    const { passage } = await createTestReadPage({ charsMax: 2_000 }).read('/long');
    assert.ok(passage.length <= 2_000 && passage.length > 1_400, String(passage.length));
  });
});
