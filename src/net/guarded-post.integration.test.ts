import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { startTestHttpServer, startTestHttpsServer, type TestHttpServer } from './__fixtures__/test-http-server.ts';
import { createGuardedPost } from './guarded-post.ts';

/** Diagnostics channel on which Node reports that a client has received response headers. */
const RESPONSE_HEADERS_CHANNEL = 'http.client.response.finish';

const LOOPBACK = { allow: ['127.0.0.0/8'] };
const POST_OPTIONS = { type: 'application/json', bytes: Buffer.from('{"ü":1}'), responseBytesMax: 1_000 };

async function withServer<T>(listener: RequestListener, run: (server: TestHttpServer) => Promise<T>): Promise<T> {
  const server = await startTestHttpServer(listener);
  try {
    return await run(server);
  } finally {
    await server.close();
  }
}

const local = ({ port }: TestHttpServer, path = '/'): string => `http://127.0.0.1:${port}${path}`;

describe('createGuardedPost', () => {
  it('sends the bytes with their type and headers, and returns the status', async () => {
    let received: unknown;
    const listener: RequestListener = (request, response) => {
      const { method, url, headers } = request;
      void text(request).then((body) => {
        const contentHeaders = {
          type: headers['content-type'],
          length: headers['content-length'],
          id: headers['x-id'],
        };
        received = { method, url, ...contentHeaders, body };
        response.writeHead(202).end('thanks');
      });
    };
    await withServer(listener, async (server) => {
      const post = createGuardedPost(LOOPBACK);
      const options = { ...POST_OPTIONS, headers: { 'x-id': '7' } };
      assert.deepEqual(await post(local(server, '/hook?a=1#b'), options), { status: 202 });
      assert.deepEqual(received, {
        method: 'POST',
        url: '/hook?a=1',
        type: 'application/json',
        length: '8',
        id: '7',
        body: '{"ü":1}',
      });
    });
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`does not follow a redirect with ${status}`, async () => {
      const listener: RequestListener = (_request, response) => response.writeHead(status, { location: '/on' }).end();
      await withServer(listener, async (server) => {
        assert.deepEqual(await createGuardedPost(LOOPBACK)(local(server), POST_OPTIONS), { status });
        assert.equal(server.countConnections(), 1);
      });
    });
  }

  it('returns the status of an endless response, and closes the connection', async () => {
    const { promise: closed, resolve: reportClosed } = Promise.withResolvers<void>();
    const listener: RequestListener = (_request, response) => {
      response.writeHead(200);
      response.once('close', () => reportClosed());
      const writeMore = (): void => {
        while (response.write(Buffer.alloc(64 * 1024)));
        response.once('drain', writeMore);
      };
      writeMore();
    };
    await withServer(listener, async (server) => {
      assert.deepEqual(await createGuardedPost(LOOPBACK)(local(server), POST_OPTIONS), { status: 200 });
      await closed;
    });
  });

  it('returns the status of an incomplete response after the total time', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const listener: RequestListener = (_request, response) => void response.writeHead(500).write('so');
    await withServer(listener, async (server) => {
      const { promise: headersArrived, resolve } = Promise.withResolvers<void>();
      const onHead = (): void => resolve();
      subscribe(RESPONSE_HEADERS_CHANNEL, onHead);
      const post = createGuardedPost({ ...LOOPBACK, timeouts: { totalMs: 200 } });
      const status = post(local(server), POST_OPTIONS);
      // Without the headers there is no response yet, and the timeout would come too early.
      await headersArrived;
      unsubscribe(RESPONSE_HEADERS_CHANNEL, onHead);
      await new Promise((turn) => setImmediate(turn));
      t.mock.timers.tick(200);
      assert.deepEqual(await status, { status: 500 });
    });
  });

  it('stops on a server that does not respond, and on an aborted signal', async () => {
    await withServer(
      () => undefined,
      async (server) => {
        const post = createGuardedPost({ ...LOOPBACK, timeouts: { headMs: 100 } });
        await assert.rejects(post(local(server), POST_OPTIONS), { kind: 'timeout' });
        const caller = new AbortController();
        const pending = createGuardedPost(LOOPBACK)(local(server), { ...POST_OPTIONS, signal: caller.signal });
        caller.abort(new Error('not any more'));
        await assert.rejects(pending, /not any more/);
      },
    );
  });

  for (const url of [
    'http://127.0.0.1/',
    'http://localhost/',
    'http://10.0.0.1/',
    'http://[::1]/',
    'http://metadata/',
  ]) {
    it(`opens no connection for ${url}`, async () => {
      await assert.rejects(createGuardedPost()(url, POST_OPTIONS), {
        kind: 'invalid-request',
        message: "The URL's host has no public address.",
      });
    });
  }

  it('opens no connection for an internal name or an invalid URL', async () => {
    const post = createGuardedPost({ resolve: async () => ['1.1.1.1', '169.254.169.254'] });
    await assert.rejects(post('https://hooks.example.com/', POST_OPTIONS), { kind: 'invalid-request' });
    for (const url of ['file:///etc/passwd', 'https://user:pass@example.com/', 'https://example.com:22/', '/hook'])
      await assert.rejects(post(url, POST_OPTIONS), { kind: 'invalid-request' });
  });

  it('sends nothing to a server with an untrusted certificate', async () => {
    let wasRequested = false;
    const server = await startTestHttpsServer(() => (wasRequested = true));
    try {
      await assert.rejects(createGuardedPost(LOOPBACK)(`https://127.0.0.1:${server.port}/`, POST_OPTIONS), {
        kind: 'upstream-failed',
      });
      assert.equal(wasRequested, false);
    } finally {
      await server.close();
    }
  });
});
