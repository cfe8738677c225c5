import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Message } from '../core/message.ts';
import { startTestHttpServer, type TestHttpServer } from '../net/__fixtures__/test-http-server.ts';
import { createGuardedFetch } from '../net/guarded-fetch.ts';
import { createFetchImages, type FetchedImages, type FetchImages } from './fetch-images.ts';
import { IMAGE_BYTES_MAX, IMAGES_WORKSPACE_BYTES_MAX, REQUEST_IMAGE_URLS_MAX } from './limits.ts';

const NEVER_ABORTED = new AbortController().signal;
const CALLER = { workspace: 'ws', signal: NEVER_ABORTED };
const PIXEL = Buffer.from('GIF89a');
const PIXEL_URL = `data:image/gif;base64,${PIXEL.toString('base64')}`;

const show = (...urls: readonly string[]): readonly Message[] => [
  { role: 'system', content: [{ type: 'text', text: 'Look.' }] },
  { role: 'user', content: urls.map((url) => ({ type: 'image', url })) },
];

describe('createFetchImages', () => {
  let server: TestHttpServer;
  let paths: string[] = [];
  let fetchImages: FetchImages;
  before(async () => {
    server = await startTestHttpServer((request, response) => {
      const path = request.url ?? '';
      paths.push(path);
      if (path.startsWith('/page')) response.writeHead(200, { 'content-type': 'text/html' }).end('secret');
      else if (path.startsWith('/missing')) response.writeHead(404).end();
      else if (path.startsWith('/too-large'))
        response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(IMAGE_BYTES_MAX + 1));
      else if (path.startsWith('/large'))
        response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(IMAGE_BYTES_MAX));
      else if (path.startsWith('/octets'))
        response.writeHead(200, { 'content-type': 'binary/octet-stream' }).end(PIXEL);
      else if (path.startsWith('/untyped')) response.writeHead(200).end(PIXEL);
      else response.writeHead(200, { 'content-type': 'image/gif; charset=x' }).end(PIXEL);
    });
    fetchImages = createFetchImages(createGuardedFetch({ allow: ['127.0.0.0/8'] }));
  });
  after(() => server.close());

  const local = (path: string): string => `http://127.0.0.1:${server.port}${path}`;

  it('replaces each URL by the image, and leaves everything else unchanged', async () => {
    paths = [];
    const messages = show(local('/a'), 'data:image/png;base64,AA==', local('/a'));
    const { messages: fetched } = await fetchImages(messages, CALLER);
    assert.deepEqual(fetched, show(PIXEL_URL, 'data:image/png;base64,AA==', PIXEL_URL));
    assert.deepEqual(paths, ['/a'], 'each URL is fetched once');
    const withoutUrls = show('data:,');
    assert.equal((await fetchImages(withoutUrls, CALLER)).messages, withoutUrls);
  });

  it('reaches public hosts only', async () => {
    paths = [];
    const guarded = createFetchImages(createGuardedFetch());
    const forbidden = [local('/a'), 'http://169.254.169.254/latest/meta-data', 'http://[::1]/', 'http://localhost/'];
    for (const url of [...forbidden, 'file:///etc/passwd', 'ftp://h/a.png', '/etc/passwd', '']) {
      await assert.rejects(guarded(show(url), CALLER), {
        kind: 'invalid-request',
        message: /^The image cannot be downloaded\. /,
        param: 'messages[1].content',
      });
    }
    assert.deepEqual(paths, []);
  });

  it('refuses pages, missing images and images above the limit, and reveals nothing of them', async () => {
    for (const [path, message] of [
      ['/page', 'The image cannot be downloaded. The URL names no image: its type is no image/*.'],
      ['/missing', 'The image cannot be downloaded. The server of the URL answered with status 404.'],
      ['/too-large', /10485760 bytes/],
    ] as const)
      await assert.rejects(fetchImages(show(local(path)), CALLER), { kind: 'invalid-request', message });
  });

  it('refuses too many URLs before it fetches any', async () => {
    paths = [];
    const urls = Array.from({ length: REQUEST_IMAGE_URLS_MAX + 1 }, (_, n) => local(`/${n}`));
    await assert.rejects(fetchImages(show(...urls), CALLER), { kind: 'invalid-request', param: 'messages' });
    assert.deepEqual(paths, []);
  });

  it('limits the memory of a workspace until its requests end, and spares other workspaces', async () => {
    const images = Math.floor(IMAGES_WORKSPACE_BYTES_MAX / IMAGE_BYTES_MAX);
    const fetchAll = (): Promise<FetchedImages[]> =>
      Promise.all(Array.from({ length: images }, (_, n) => fetchImages(show(local(`/large-${n}`)), CALLER)));
    const running = await fetchAll();
    await assert.rejects(fetchImages(show(local('/large')), CALLER), { kind: 'overloaded' });
    (await fetchImages(show(local('/large')), { ...CALLER, workspace: 'other' })).release();
    for (const { release } of [...running, ...running]) release();
    for (const { release } of await fetchAll()) release();
  });

  it('fetches several images at a time, and keeps no memory when one fails', async () => {
    const first = Promise.withResolvers<void>();
    let waiting = 0;
    const slow = await startTestHttpServer((request, response) => {
      void (async () => {
        waiting++;
        if (waiting === 3) first.resolve();
        await first.promise;
        if (request.url === '/bad') response.writeHead(404).end();
        else response.writeHead(200, { 'content-type': 'image/png' }).end(PIXEL);
      })();
    });
    const urls = ['/1', '/bad', '/2'].map((path) => `http://127.0.0.1:${slow.port}${path}`);
    await assert.rejects(fetchImages(show(...urls), CALLER), { kind: 'invalid-request', message: /status 404/ });
    await slow.close();
  });

  it('limits the images of one request together', async () => {
    await assert.rejects(fetchImages(show(local('/large-1'), local('/large-2')), CALLER), {
      kind: 'invalid-request',
      message: /at most 12 MiB together/,
    });
  });

  it('recognizes images whose server states no type or that of any bytes', async () => {
    for (const path of ['/octets', '/untyped']) {
      const { messages, release } = await fetchImages(show(local(path)), CALLER);
      assert.deepEqual(messages, show(PIXEL_URL));
      release();
    }
  });

  it('rejects with the reason of an aborted signal, and keeps no memory', async () => {
    const caller = new AbortController();
    const fetching = fetchImages(show(local('/a')), { ...CALLER, signal: caller.signal });
    caller.abort(new Error('gone'));
    await assert.rejects(fetching, { message: 'gone' });
  });
});
