import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { startServer, startTlsServer, type SmallServer } from './__fixtures__/small-server.ts';
import { createGuardedPost } from './guarded-post.ts';

/** What node says there: a client has the head of an answer. */
const HEAD_CAME = 'http.client.response.finish';

const LOOPBACK = { allow: ['127.0.0.0/8'] };
const WISH = { type: 'application/json', bytes: Buffer.from('{"ü":1}'), answerBytesMax: 1_000 };

async function withServer<T>(listener: RequestListener, work: (server: SmallServer) => Promise<T>): Promise<T> {
  const server = await startServer(listener);
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

const local = ({ port }: SmallServer, path = '/'): string => `http://127.0.0.1:${port}${path}`;

describe('a guarded post', () => {
  it('sends the bytes with their type and headers, and hands over the status', async () => {
    let seen: unknown;
    const listener: RequestListener = (request, response) => {
      const { method, url, headers } = request;
      void text(request).then((body) => {
        const told = { type: headers['content-type'], length: headers['content-length'], id: headers['x-id'] };
        seen = { method, url, ...told, body };
        response.writeHead(202).end('thanks');
      });
    };
    await withServer(listener, async (server) => {
      const post = createGuardedPost(LOOPBACK);
      const wish = { ...WISH, headers: { 'x-id': '7' } };
      assert.deepEqual(await post(local(server, '/hook?a=1#b'), wish), { status: 202 });
      assert.deepEqual(seen, {
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
        assert.deepEqual(await createGuardedPost(LOOPBACK)(local(server), WISH), { status });
        assert.equal(server.connections(), 1);
      });
    });
  }

  it('takes the status of an answer that has no end, and closes the connection', async () => {
    const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
    const listener: RequestListener = (_request, response) => {
      response.writeHead(200);
      response.once('close', () => leave());
      const more = (): void => {
        while (response.write(Buffer.alloc(64 * 1024)));
        response.once('drain', more);
      };
      more();
    };
    await withServer(listener, async (server) => {
      assert.deepEqual(await createGuardedPost(LOOPBACK)(local(server), WISH), { status: 200 });
      await gone;
    });
  });

  it('takes the status of an answer that is never complete, when the time is over', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const listener: RequestListener = (_request, response) => void response.writeHead(500).write('so');
    await withServer(listener, async (server) => {
      const { promise: headCame, resolve } = Promise.withResolvers<void>();
      const onHead = (): void => resolve();
      subscribe(HEAD_CAME, onHead);
      const post = createGuardedPost({ ...LOOPBACK, timeouts: { wholeMs: 200 } });
      const status = post(local(server), WISH);
      // Before its head there is no answer, and the time would be over too early.
      await headCame;
      unsubscribe(HEAD_CAME, onHead);
      await new Promise((turn) => setImmediate(turn));
      t.mock.timers.tick(200);
      assert.deepEqual(await status, { status: 500 });
    });
  });

  it('gives up a server that does not answer, and one that its caller does not want any more', async () => {
    await withServer(
      () => undefined,
      async (server) => {
        const post = createGuardedPost({ ...LOOPBACK, timeouts: { headMs: 100 } });
        await assert.rejects(post(local(server), WISH), { kind: 'timeout' });
        const caller = new AbortController();
        const asked = createGuardedPost(LOOPBACK)(local(server), { ...WISH, signal: caller.signal });
        caller.abort(new Error('not any more'));
        await assert.rejects(asked, /not any more/);
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
    it(`connects to nobody for ${url}`, async () => {
      await assert.rejects(createGuardedPost()(url, WISH), {
        kind: 'invalid-request',
        message: "The URL's host has no public address.",
      });
    });
  }

  it('connects to nobody for a name that leads inside, or a URL that is none', async () => {
    const post = createGuardedPost({ resolve: async () => ['1.1.1.1', '169.254.169.254'] });
    await assert.rejects(post('https://hooks.example.com/', WISH), { kind: 'invalid-request' });
    for (const url of ['file:///etc/passwd', 'https://user:pass@example.com/', 'https://example.com:22/', '/hook'])
      await assert.rejects(post(url, WISH), { kind: 'invalid-request' });
  });

  it('sends nothing to a server whose certificate nobody vouches for', async () => {
    let isAsked = false;
    const server = await startTlsServer(() => (isAsked = true));
    try {
      await assert.rejects(createGuardedPost(LOOPBACK)(`https://127.0.0.1:${server.port}/`, WISH), {
        kind: 'upstream-failed',
      });
      assert.equal(isAsked, false);
    } finally {
      await server.close();
    }
  });
});
