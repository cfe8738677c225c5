import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Message } from '../core/message.ts';
import { startTestHttpServer, type TestHttpServer } from '../net/__fixtures__/test-http-server.ts';
import { createGuardedFetch } from '../net/guarded-fetch.ts';
import { createOpenImages, type OpenRequestImages } from './fetch-images.ts';
import { IMAGE_BYTES_MAX, REQUEST_IMAGE_URLS_MAX } from './limits.ts';

const NEVER_ABORTED = new AbortController().signal;
const LIMITS = { workspaceBytesMax: 64 * 2 ** 20, totalBytesMax: 128 * 2 ** 20 };
const PIXEL = Buffer.from('GIF89a');
const PIXEL_URL = `data:image/gif;base64,${PIXEL.toString('base64')}`;

const show = (...urls: readonly string[]): readonly Message[] => [
  { role: 'system', content: [{ type: 'text', text: 'Look.' }] },
  { role: 'user', content: urls.map((url) => ({ type: 'image', url })) },
];

describe('createOpenImages', () => {
  let server: TestHttpServer;
  let paths: string[] = [];
  let openImages: OpenRequestImages;
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
    openImages = createOpenImages(createGuardedFetch({ allow: ['127.0.0.0/8'] }), LIMITS);
  });
  after(() => server.close());

  /** Fetches the images of a request that needs them once. */
  const fetchImages = async (
    messages: readonly Message[],
    { workspace = 'ws', signal = NEVER_ABORTED, open = openImages } = {},
  ) => {
    const { inline, release } = open(workspace);
    try {
      return { messages: await inline(messages, signal), release };
    } catch (error) {
      release();
      throw error;
    }
  };
  const local = (path: string): string => `http://127.0.0.1:${server.port}${path}`;

  it('replaces each URL by the image, and leaves everything else unchanged', async () => {
    paths = [];
    const messages = show(local('/a'), 'data:image/png;base64,AA==', local('/a'));
    const { messages: fetched } = await fetchImages(messages);
    assert.deepEqual(fetched, show(PIXEL_URL, 'data:image/png;base64,AA==', PIXEL_URL));
    assert.deepEqual(paths, ['/a'], 'each URL is fetched once');
    const withoutUrls = show('data:,');
    assert.equal((await fetchImages(withoutUrls)).messages, withoutUrls);
  });

  it('reaches public hosts only', async () => {
    paths = [];
    const open = createOpenImages(createGuardedFetch(), LIMITS);
    const forbidden = [local('/a'), 'http://169.254.169.254/latest/meta-data', 'http://[::1]/', 'http://localhost/'];
    for (const url of [...forbidden, 'file:///etc/passwd', 'ftp://h/a.png', '/etc/passwd', '']) {
      await assert.rejects(fetchImages(show(url), { open }), {
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
      await assert.rejects(fetchImages(show(local(path))), { kind: 'invalid-request', message });
  });

  it('refuses too many URLs before it fetches any', async () => {
    paths = [];
    const urls = Array.from({ length: REQUEST_IMAGE_URLS_MAX + 1 }, (_, n) => local(`/${n}`));
    await assert.rejects(fetchImages(show(...urls)), { kind: 'invalid-request', param: 'messages' });
    assert.deepEqual(paths, []);
  });

  it('fetches each URL once for all model runs of a request, and again for another request', async () => {
    paths = [];
    const images = openImages('ws');
    assert.deepEqual(await images.inline(show(local('/a')), NEVER_ABORTED), show(PIXEL_URL));
    assert.deepEqual(await images.inline(show(local('/a'), local('/b')), NEVER_ABORTED), show(PIXEL_URL, PIXEL_URL));
    images.release();
    assert.deepEqual(paths, ['/a', '/b']);
    (await fetchImages(show(local('/a')))).release();
    assert.deepEqual(paths, ['/a', '/b', '/a']);
  });

  it('limits the memory of a workspace and of all until their requests end', async () => {
    const limits = { workspaceBytesMax: 2 * IMAGE_BYTES_MAX, totalBytesMax: 3 * IMAGE_BYTES_MAX };
    const open = createOpenImages(createGuardedFetch({ allow: ['127.0.0.0/8'] }), limits);
    const fetchLarge = (workspace: string) => fetchImages(show(local('/large')), { workspace, open });
    const running = [await fetchLarge('ws'), await fetchLarge('ws')];
    await assert.rejects(fetchLarge('ws'), { kind: 'overloaded' });
    const other = await fetchLarge('other');
    await assert.rejects(fetchLarge('third'), { kind: 'overloaded' });
    for (const { release } of [...running, ...running]) release();
    const again = [await fetchLarge('ws'), await fetchLarge('ws')];
    for (const { release } of [...again, other]) release();
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
    await assert.rejects(fetchImages(show(...urls)), { kind: 'invalid-request', message: /status 404/ });
    await slow.close();
  });

  it('limits the images of one request together', async () => {
    await assert.rejects(fetchImages(show(local('/large-1'), local('/large-2'))), {
      kind: 'invalid-request',
      message: /at most 12 MiB together/,
    });
  });

  it('recognizes images whose server states no type or that of any bytes', async () => {
    for (const path of ['/octets', '/untyped']) {
      const { messages, release } = await fetchImages(show(local(path)));
      assert.deepEqual(messages, show(PIXEL_URL));
      release();
    }
  });

  it('rejects with the reason of an aborted signal, and keeps no memory', async () => {
    const caller = new AbortController();
    const fetching = fetchImages(show(local('/a')), { signal: caller.signal });
    caller.abort(new Error('gone'));
    await assert.rejects(fetching, { message: 'gone' });
  });
});
