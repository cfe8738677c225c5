import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { startWeb } from '../__fixtures__/small-web.ts';
import type { Asked, SmallWeb } from '../__fixtures__/small-web.ts';
import { createPageReader } from './page-reader.ts';
import { createReadPage } from './read-page.ts';
import type { ReadPageOptions } from './read-page.ts';

const NEVER = new AbortController().signal;

const reader = createPageReader();
let web: SmallWeb;
let answer: (asked: Asked, response: ServerResponse) => void = () => undefined;
before(async () => void (web = await startWeb((asked, response) => answer(asked, response))));
after(async () => {
  await web[Symbol.asyncDispose]();
  await reader.close();
});

/** Who asked for rules and for places, in order. */
function readerOf(more: Partial<ReadPageOptions> = {}) {
  const order: string[] = [];
  const pathOf = (url: string): string => new URL(url).pathname;
  const readPage = createReadPage({
    fetch: web.fetch,
    reader,
    robots: {
      async check(url) {
        order.push(`rules ${pathOf(url)}`);
        if (url.includes('private')) throw new ServiceError('forbidden', 'The rules say no.');
        return 0;
      },
    },
    pace: {
      async enter() {
        order.push('enter');
        return () => void order.push('leave');
      },
    },
    ...more,
  });
  return {
    order,
    readPage,
    read: (path: string, signal = NEVER) => readPage({ url: `${web.url}${path}`, workspace: 'w' }, signal),
  };
}

const send =
  (type: string, body: string | Buffer, status = 200, headers: Record<string, string> = {}) =>
  (_asked: Asked, response: ServerResponse): void =>
    void response.writeHead(status, { 'content-type': type, ...headers }).end(body);

describe('reading a page', () => {
  it('gives its text with where it stands, once its rules and its host allow it', async () => {
    answer = send('text/html', '<html><head><title>Tides</title></head><body><p>High at noon.</p></body></html>');
    const { read, order } = readerOf();
    const page = { title: 'Tides', url: `${web.url}/a`, siteName: '', icon: '', passage: 'High at noon.' };
    assert.deepEqual(await read('/a#part'), { ...page, url: `${web.url}/a#part` });
    assert.deepEqual(order, ['rules /a', 'enter', 'leave']);
  });

  it('asks for the rules of where it is led, before it goes there', async () => {
    answer = ({ url }, response) => {
      if (url.pathname === '/a') response.writeHead(302, { location: '/b' }).end();
      else if (url.pathname === '/c') response.writeHead(302, { location: '/private' }).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('There.');
    };
    const { read, order } = readerOf();
    assert.equal((await read('/a')).url, `${web.url}/b`);
    assert.deepEqual(order, ['rules /a', 'enter', 'rules /b', 'leave', 'enter', 'leave']);
    await assert.rejects(read('/c'), { kind: 'forbidden' });
    assert.ok(!web.asked.some(({ url }) => url.pathname === '/private'));
    assert.equal(order.filter((step) => step === 'enter').length, order.filter((step) => step === 'leave').length);
  });

  it('goes to no host that its caller does not allow, nor where a redirect leads to one', async () => {
    answer = ({ url }, response) => {
      if (url.pathname === '/a') response.writeHead(302, { location: web.url.replace('127.0.0.1', 'localhost') }).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('There.');
    };
    const { readPage, order } = readerOf();
    const readBy = (path: string, wish: object) =>
      readPage({ url: `${web.url}${path}`, workspace: 'w', ...wish }, NEVER);
    const asked = web.asked.length;
    await assert.rejects(readBy('/b', { sites: ['example.com'] }), { kind: 'forbidden' });
    await assert.rejects(readBy('/b', { blockedSites: ['127.0.0.1'] }), { kind: 'forbidden' });
    assert.deepEqual([order, web.asked.length], [[], asked]);
    await assert.rejects(readBy('/a', { sites: ['127.0.0.1'] }), { kind: 'forbidden' });
    assert.equal(web.asked.length, asked + 1);
    assert.equal((await readBy('/b', { sites: ['127.0.0.1'] })).passage, 'There.');
  });

  it('reads texts and Markdown, and PDFs by whoever is handed in', async () => {
    const { read } = readerOf({ readPdf: async (bytes) => `PDF of ${bytes.length} bytes` });
    answer = send('text/plain; charset=gb18030', Buffer.from([0xd6, 0xd0]));
    assert.deepEqual((await read('/of%20tides.txt')).title, 'of tides.txt');
    assert.equal((await read('/x')).passage, '中');
    answer = send('text/plain', '# Of tides\n\nHigh.<!-- EVIL -->\n');
    const { title, passage } = await read('/readme.md');
    assert.deepEqual([title, passage], ['Of tides', '# Of tides\n\nHigh.']);
    answer = send('application/pdf', '%PDF-1.7');
    assert.equal((await read('/a.pdf')).passage, 'PDF of 8 bytes');
    await assert.rejects(readerOf().read('/a.pdf'), { kind: 'upstream-failed', message: /PDF/ });
  });

  const failures: readonly (readonly [what: string, answer: typeof answer, kind: string])[] = [
    ['a page that is not there', send('text/html', '<p>no', 404), 'not-found'],
    ['a page that is gone', send('text/html', '<p>no', 410), 'not-found'],
    ['a server that refuses', send('text/html', '<p>no', 403), 'upstream-failed'],
    ['a server that fails', send('text/html', '<p>no', 500), 'upstream-failed'],
    ['a picture', send('image/png', 'x'), 'upstream-failed'],
    ['a page without text', send('text/html', '<html><body><script>1</script>'), 'upstream-failed'],
    ['bytes of no kind', send('application/octet-stream', '\u0000\u0001'), 'upstream-failed'],
    ['a header that wants no models', send('text/html', '<p>x', 200, { 'x-robots-tag': 'noindex, noai' }), 'forbidden'],
    ['a page that wants no models', send('text/html', '<meta name="Robots" content="nosnippet"><p>x'), 'forbidden'],
  ];
  for (const [what, how, kind] of failures) {
    it(`fails with ${kind} for ${what}`, async () => {
      answer = how;
      await assert.rejects(readerOf().read('/a'), { kind });
    });
  }

  it('asks nobody for what is no address of the web', async () => {
    const { order } = readerOf();
    const readPage = createReadPage({
      fetch: web.fetch,
      reader,
      robots: { check: async () => 0 },
      pace: { enter: async () => () => undefined },
    });
    for (const url of [
      '',
      'file:///etc/passwd',
      'javascript:1',
      'https://u:p@a.example/',
      `http://a.example/${'x'.repeat(5_000)}`,
      '/a',
    ])
      await assert.rejects(readPage({ url, workspace: 'w' }, NEVER), { kind: 'invalid-request' });
    assert.deepEqual(order, []);
  });

  it('ends at once with its caller, and by itself when the time is over', async () => {
    answer = () => undefined;
    const caller = new AbortController();
    const reading = readerOf().read('/slow', caller.signal);
    caller.abort(new Error('gone'));
    await assert.rejects(reading, /gone/);
    await assert.rejects(readerOf({ wholeMs: 50 }).read('/slow'), { kind: 'timeout' });
  });

  it('is as long as it may be', async () => {
    answer = send('text/plain', `${'word '.repeat(100)}\n\n`.repeat(100));
    const { passage } = await readerOf({ charsMax: 2_000 }).read('/long');
    assert.ok(passage.length <= 2_000 && passage.length > 1_400, String(passage.length));
  });
});
