import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { ServiceError } from '../core/error.ts';
import type { ErrorKind } from '../core/error.ts';
import {
  TEST_CERTIFICATE,
  startTestTcpServer,
  startTestHttpServer,
  startTestHttpsServer,
} from './__fixtures__/test-http-server.ts';
import type { TestHttpServer } from './__fixtures__/test-http-server.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import type { GuardedFetchOptions } from './guarded-fetch.ts';

const LOOPBACK = { allow: ['127.0.0.0/8'] };

const MB = 1024 * 1024;

/** Calls `run` with servers that are closed afterwards. */
async function withServers<T>(run: (servers: Servers) => Promise<T>): Promise<T> {
  const openServers: TestHttpServer[] = [];
  const track = async (starting: Promise<TestHttpServer>): Promise<TestHttpServer> => {
    const server = await starting;
    openServers.push(server);
    return server;
  };
  try {
    return await run({
      http: (listener) => track(startTestHttpServer(listener)),
      https: (listener) => track(startTestHttpsServer(listener)),
      raw: (onSocket) => track(startTestTcpServer(onSocket)),
    });
  } finally {
    await Promise.all(openServers.map((server) => server.close()));
  }
}

interface Servers {
  http(listener: RequestListener): Promise<TestHttpServer>;
  https(listener: RequestListener): Promise<TestHttpServer>;
  raw(onSocket: (socket: Socket) => void): Promise<TestHttpServer>;
}

const local = ({ port }: TestHttpServer, path = '/'): string => `http://127.0.0.1:${port}${path}`;

/** Fetches a URL and returns its body as text. */
async function fetchText(url: string, options: GuardedFetchOptions = {}, bytesMax = MB): Promise<string> {
  const { body } = await createGuardedFetch({ ...LOOPBACK, ...options })(url, { bytesMax });
  return text(body);
}

async function assertRefused(work: Promise<unknown>, kind: ErrorKind, message: string | RegExp): Promise<void> {
  await assert.rejects(work, (thrown) => {
    assert.ok(thrown instanceof ServiceError, String(thrown));
    assert.equal(thrown.kind, kind, thrown.message);
    if (typeof message === 'string') assert.equal(thrown.message, message);
    else assert.match(thrown.message, message);
    assert.doesNotMatch(thrown.message, /127\.0|localhost|169\.254|example/, 'the message contains no host');
    return true;
  });
}

describe('createGuardedFetch', () => {
  it('returns status, headers, final URL and body, and sends nothing that identifies the caller', async () => {
    await withServers(async ({ http }) => {
      let receivedHeaders: NodeJS.Dict<string | string[]> = {};
      const server = await http((request, response) => {
        receivedHeaders = request.headers;
        response.writeHead(404, { 'content-type': 'text/plain; charset=x', 'content-disposition': 'inline' });
        response.end(request.url);
      });
      const fetch = createGuardedFetch(LOOPBACK);
      const fetched = await fetch(local(server, '/a?b=c#d'), { bytesMax: 100, accept: 'text/*' });
      assert.equal(fetched.status, 404);
      assert.equal(fetched.url, local(server, '/a?b=c'));
      assert.equal(fetched.contentType, 'text/plain; charset=x');
      assert.equal(fetched.contentDisposition, 'inline');
      assert.equal(await text(fetched.body), '/a?b=c');
      assert.deepEqual(receivedHeaders, {
        accept: 'text/*',
        'accept-encoding': 'gzip, deflate, br',
        'user-agent': 'parley',
        host: `127.0.0.1:${server.port}`,
        connection: 'close',
      });
    });
  });

  it('resolves a name once and connects to the checked address', async () => {
    await withServers(async ({ http }) => {
      const server = await http((request, response) => void response.end(request.headers.host));
      let resolveCount = 0;
      const resolve = async (): Promise<string[]> => {
        resolveCount += 1;
        return resolveCount === 1 ? ['127.0.0.1'] : ['127.0.0.99'];
      };
      const url = `http://rebound.example.com:${server.port}/`;
      assert.equal(await fetchText(url, { resolve }), `rebound.example.com:${server.port}`);
      assert.equal(resolveCount, 1);
    });
  });

  it('checks the name again on every redirect, and refuses one that has become internal', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.writeHead(302, { location: '/again' }).end());
      const answers = [['127.0.0.1'], ['127.1.1.1']];
      const options = { allow: ['127.0.0.1'], resolve: async () => answers.shift() ?? [] };
      await assertRefused(
        fetchText(`http://rebound.example.com:${server.port}/`, options),
        'invalid-request',
        "The URL's host has no public address.",
      );
      assert.equal(server.countConnections(), 1);
      assert.deepEqual(answers, []);
    });
  });

  it('accepts the names and networks that the operator allows, and no others', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.end('inside'));
      const to = (host: string): string => `http://${host}:${server.port}/`;
      const resolve = async (): Promise<string[]> => ['127.0.0.1'];
      for (const [allow, host, isAllowed] of [
        [['127.0.0.1'], '127.0.0.1', true],
        [['127.0.0.0/8'], 'wiki.example.com', true],
        [['::ffff:127.0.0.1/128'], '127.0.0.2', false],
        [['10.0.0.0/8'], '127.0.0.1', false],
        [['wiki.example.com'], 'wiki.example.com', true],
        [['WIKI.example.com'], 'Wiki.Example.com', true],
        [['wiki.example.com'], 'a.wiki.example.com', false],
        [['wiki.example.com'], 'wiki.example.com.evil.example.net', false],
        [['*.example.com'], 'a.b.example.com', true],
        [['*.example.com'], 'example.com', false],
        [['*.example.com'], 'badexample.com', false],
        [['wiki'], 'wiki', true],
        [['localhost'], 'localhost', true],
        [['127.0.0.0/8'], 'localhost', false],
      ] as const) {
        const fetched = fetchText(to(host), { allow: [...allow], resolve });
        if (isAllowed) assert.equal(await fetched, 'inside', `${allow.join()} ${host}`);
        else await assertRefused(fetched, 'invalid-request', "The URL's host has no public address.");
      }
    });
  });

  it('refuses an invalid entry of the allow list', () => {
    for (const entry of ['10.0.0.0/40', 'http://a.example', 'a b', '*', '*.', '']) {
      assert.throws(() => createGuardedFetch({ allow: [entry] }), /neither a host name nor a network/, entry);
    }
  });

  it('ignores proxies that the environment names', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.end('direct'));
      const proxy = await http((_request, response) => void response.end('proxied'));
      const names = ['http_proxy', 'HTTP_PROXY', 'NODE_USE_ENV_PROXY'];
      const before = names.map((name) => process.env[name]);
      for (const name of names) process.env[name] = name.endsWith('_ENV_PROXY') ? '1' : local(proxy);
      try {
        assert.equal(await fetchText(local(server)), 'direct');
        assert.equal(proxy.countConnections(), 0);
      } finally {
        for (const [index, name] of names.entries()) {
          const value = before[index];
          if (value === undefined) delete process.env[name];
          else process.env[name] = value;
        }
      }
    });
  });
});

describe('redirects of createGuardedFetch', () => {
  for (const status of [301, 302, 303, 307, 308]) {
    it(`follows a redirect with ${status}`, async () => {
      await withServers(async ({ http }) => {
        const server = await http((request, response) => {
          if (request.url === '/there') response.end('arrived');
          else response.writeHead(status, { location: 'there', 'set-cookie': 'a=b' }).end('x'.repeat(1_000));
        });
        const { url, body } = await createGuardedFetch(LOOPBACK)(local(server), { bytesMax: 100 });
        assert.equal(url, local(server, '/there'));
        assert.equal(await text(body), 'arrived');
      });
    });
  }

  it('fails after the maximum number of redirects', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.writeHead(302, { location: '/' }).end());
      await assertRefused(
        fetchText(local(server), { redirectsMax: 3 }),
        'upstream-failed',
        'The server of the URL redirects more than 3 times.',
      );
      assert.equal(server.countConnections(), 4);
    });
  });

  for (const [location, message] of [
    ['http://169.254.169.254/latest/meta-data/', "The URL's host has no public address."],
    ['//169.254.169.254/', "The URL's host has no public address."],
    ['http://[::ffff:169.254.169.254]/', "The URL's host has no public address."],
    ['http://localhost/', "The URL's host has no public address."],
    ['http://2852039166/', "The URL's host has no public address."],
    ['file:///etc/passwd', 'The URL does not begin with http:// or https://.'],
    ['gopher://127.0.0.1:6379/_FLUSHALL', 'The URL does not begin with http:// or https://.'],
    ['http://user:password@public.example.com/', 'The URL contains a user name or password.'],
    ['http://public.example.com:22/', 'The URL uses a port that is not allowed.'],
    ['http://a b/', 'The URL is not a valid URL.'],
  ] as const) {
    it(`refuses a redirect to ${location}`, async () => {
      await withServers(async ({ http }) => {
        const server = await http((_request, response) => void response.writeHead(302, { location }).end());
        await assertRefused(fetchText(local(server)), 'invalid-request', message);
      });
    });
  }

  it('refuses a redirect from https to http unless that is allowed', async () => {
    await withServers(async ({ http, https }) => {
      const plain = await http((_request, response) => void response.end('plain'));
      const tls = await https((_request, response) => void response.writeHead(302, { location: local(plain) }).end());
      const url = `https://files.parley.example:${tls.port}/`;
      const options = { resolve: async () => ['127.0.0.1'], certificates: [TEST_CERTIFICATE] };
      await assertRefused(fetchText(url, options), 'invalid-request', 'The URL redirects from https:// to http://.');
      assert.equal(plain.countConnections(), 0);
      assert.equal(await fetchText(url, { ...options, allowsDowngrade: true }), 'plain');
    });
  });

  it('returns a redirect without a location', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.writeHead(302).end('nowhere'));
      assert.equal(await fetchText(local(server)), 'nowhere');
    });
  });
});

describe('TLS of createGuardedFetch', () => {
  const resolve = async (): Promise<string[]> => ['127.0.0.1'];

  it('checks the certificate against the name, although the connection goes to an address', async () => {
    await withServers(async ({ https }) => {
      const server = await https((request, response) => void response.end(request.headers.host));
      const options = { resolve, certificates: [TEST_CERTIFICATE] };
      const to = (host: string): string => `https://${host}:${server.port}/`;
      const right = await fetchText(to('files.parley.example'), options);
      assert.equal(right, `files.parley.example:${server.port}`);
      assert.equal(await fetchText(to('files.parley.example.'), options), right);
      for (const host of ['other.parley.example', '127.0.0.1']) {
        const invalid = 'The server of the URL has no valid certificate.';
        await assertRefused(fetchText(to(host), options), 'upstream-failed', invalid);
      }
    });
  });

  it('refuses an untrusted certificate', async () => {
    await withServers(async ({ https }) => {
      const server = await https((_request, response) => void response.end('secret'));
      await assertRefused(
        fetchText(`https://files.parley.example:${server.port}/`, { resolve }),
        'upstream-failed',
        'The server of the URL has no valid certificate.',
      );
    });
  });
});

describe('limits of createGuardedFetch', () => {
  it('refuses an announced length above the limit before reading the body', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => {
        response.writeHead(200, { 'content-length': 1_001 }).write('x');
      });
      const fetch = createGuardedFetch(LOOPBACK);
      await assertRefused(
        fetch(local(server), { bytesMax: 1_000 }),
        'too-large',
        'The response from the URL is larger than 1000 bytes.',
      );
    });
  });

  it('stops reading an endless body at the limit', async () => {
    await withServers(async ({ http }) => {
      const { promise: closed, resolve: reportClosed } = Promise.withResolvers<void>();
      const server = await http((_request, response) => {
        const go = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        };
        response.on('drain', go).on('close', () => reportClosed());
        go();
      });
      await assertRefused(
        fetchText(local(server)),
        'too-large',
        /^The response from the URL is larger than \d+ bytes\.$/,
      );
      await closed;
    });
  });

  it('accepts a body of exactly the maximum size', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.end('x'.repeat(1_000)));
      assert.equal((await fetchText(local(server), {}, 1_000)).length, 1_000);
      await assertRefused(fetchText(local(server), {}, 999), 'too-large', /larger than 999 bytes/);
    });
  });

  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['identity', (bytes: Buffer) => bytes],
    ['GZIP', gzipSync],
  ] as const) {
    it(`limits the decompressed size: ${encoding} by ${compress.name}`, async () => {
      await withServers(async ({ http }) => {
        const content = Array.from({ length: 9_000 }, (_, index) => `${index * 7_919}`).join(' ');
        const compressed = compress(Buffer.from(content));
        const server = await http((_request, response) => {
          response.writeHead(200, { 'content-encoding': encoding }).end(compressed);
        });
        assert.equal(await fetchText(local(server)), content);
        await assertRefused(fetchText(local(server), {}, content.length - 1), 'too-large', /larger than/);
      });
    });
  }

  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const) {
    it(`stops a ${encoding} bomb early, far below the size limit`, async () => {
      await withServers(async ({ http }) => {
        const bomb = compress(Buffer.alloc(64 * MB));
        const server = await http((_request, response) => {
          response.writeHead(200, { 'content-encoding': encoding }).end(bomb);
        });
        const { body } = await createGuardedFetch(LOOPBACK)(local(server), { bytesMax: 1024 * MB });
        let decodedBytes = 0;
        const read = (async () => {
          for await (const chunk of body) decodedBytes += (chunk as Uint8Array).byteLength;
        })();
        await assertRefused(read, 'upstream-failed', /decompresses to far more than its size/);
        assert.ok(decodedBytes < 16 * MB, `${decodedBytes} bytes were decompressed`);
      });
    });
  }

  for (const [what, encoding, body] of [
    ['that is not compressed as declared', 'gzip', Buffer.from('plain text')],
    ['that is incomplete', 'gzip', gzipSync(Buffer.alloc(100_000, 'ab')).subarray(0, -20)],
    ['that is incomplete', 'br', brotliCompressSync(Buffer.alloc(100_000, 'ab')).subarray(0, -4)],
  ] as const) {
    it(`refuses a body ${what}: ${encoding}`, async () => {
      await withServers(async ({ http }) => {
        const server = await http((_request, response) => {
          response.writeHead(200, { 'content-encoding': encoding }).end(body);
        });
        await assertRefused(
          fetchText(local(server)),
          'upstream-failed',
          'The server of the URL sent a body that cannot be decompressed.',
        );
      });
    });
  }

  for (const encoding of ['zstd', 'gzip, gzip', 'compress', 'x']) {
    it(`refuses the content encoding ${encoding}, which was not requested`, async () => {
      await withServers(async ({ http }) => {
        const server = await http((_request, response) => {
          response.writeHead(200, { 'content-encoding': encoding }).end('?');
        });
        await assertRefused(fetchText(local(server)), 'upstream-failed', /content encoding that was not requested/);
      });
    });
  }

  it('limits the total time of a body that arrives slowly but steadily', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => {
        const timer = setInterval(() => response.write('x'), 10);
        response.on('close', () => clearInterval(timer));
      });
      await assertRefused(
        fetchText(local(server), { timeouts: { totalMs: 300 } }),
        'timeout',
        'The server of the URL needed more than 0.3 s in all.',
      );
    });
  });

  it('limits the time for headers that never arrive or arrive byte by byte', async () => {
    await withServers(async ({ raw }) => {
      const silent = await raw(() => undefined);
      const dripping = await raw((socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 200 OK\r\na: b\r\n'.charAt(0)), 20);
        socket.write('HTTP/1.1 200 OK\r\na: ');
        socket.on('close', () => clearInterval(timer));
      });
      for (const server of [silent, dripping]) {
        await assertRefused(
          fetchText(local(server), { timeouts: { headMs: 200 } }),
          'timeout',
          'The server of the URL needed more than 0.2 s to answer.',
        );
      }
    });
  });

  it('limits the time for endless informational responses', async () => {
    await withServers(async ({ raw }) => {
      const server = await raw((socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'), 5);
        socket.on('close', () => clearInterval(timer));
      });
      await assertRefused(fetchText(local(server), { timeouts: { headMs: 200 } }), 'timeout', /to answer/);
    });
  });

  it('limits the time for resolving a name', async () => {
    const options = { timeouts: { connectMs: 100 }, resolve: () => new Promise<never>(() => undefined) };
    await assertRefused(fetchText('http://public.example.com/', options), 'timeout', /more than 0\.1 s to connect/);
  });

  it('limits the time for the TLS handshake', async () => {
    await withServers(async ({ raw }) => {
      const server = await raw(() => undefined);
      await assertRefused(
        fetchText(`https://127.0.0.1:${server.port}/`, { timeouts: { connectMs: 200 } }),
        'timeout',
        /to connect/,
      );
    });
  });

  it('limits the size of the headers', async () => {
    await withServers(async ({ raw }) => {
      const server = await raw((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        for (let count = 0; count < 2_000; count += 1) socket.write(`x-${count}: ${'y'.repeat(50)}\r\n`);
      });
      await assertRefused(fetchText(local(server)), 'upstream-failed', 'The server of the URL sent too many headers.');
    });
  });

  for (const [what, bytes, message] of [
    ['a body that ends early', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf', /closed the connection early/],
    [
      'chunks that end early',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
      /closed the connection early/,
    ],
    ['a head that ends early', 'HTTP/1.1 200 OK\r\ncontent-le', /closed the connection early/],
    ['nothing at all', '', /closed the connection early/],
    ['a response that is not HTTP', '220 smtp.example.com ESMTP\r\n', /not valid HTTP/],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcde', /not valid HTTP/],
    [
      'length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      /not valid HTTP/,
    ],
    [
      'another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      /closed the connection early/,
    ],
  ] as const) {
    it(`fails on ${what}`, async () => {
      await withServers(async ({ raw }) => {
        const server = await raw((socket) => void socket.end(bytes));
        await assertRefused(fetchText(local(server)), 'upstream-failed', message);
      });
    });
  }

  it('fails if nothing listens on the port', async () => {
    const port = await withServers(async ({ http }) => (await http(() => undefined)).port);
    await assertRefused(
      fetchText(`http://127.0.0.1:${port}/`),
      'upstream-failed',
      'The server of the URL cannot be reached.',
    );
  });

  it('ignores bytes beyond the declared length', async () => {
    await withServers(async ({ raw }) => {
      const server = await raw((socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcdefgh'));
      assert.equal(await fetchText(local(server)), 'abcd');
    });
  });
});

describe('aborting createGuardedFetch', () => {
  for (const where of ['head', 'body']) {
    it(`rejects with the reason while waiting for the ${where}, and closes the connection`, async () => {
      await withServers(async ({ http }) => {
        const { promise: requestReceived, resolve: reportRequest } = Promise.withResolvers<void>();
        const { promise: closed, resolve: reportClosed } = Promise.withResolvers<void>();
        const server = await http((_request, response) => {
          response.on('close', () => reportClosed());
          if (where === 'body') response.write('begun');
          reportRequest();
        });
        const controller = new AbortController();
        const reason = new ServiceError('cancelled', 'The request was cancelled.');
        const fetched = (async () => {
          const { body } = await createGuardedFetch(LOOPBACK)(local(server), {
            bytesMax: 100,
            signal: controller.signal,
          });
          return buffer(body);
        })();
        fetched.catch(() => undefined);
        await requestReceived;
        controller.abort(reason);
        await assert.rejects(fetched, reason);
        await closed;
      });
    });
  }

  for (const isRead of [false, true]) {
    it(`closes the connection when a body is destroyed that was ${isRead ? 'partly read' : 'not read'}`, async () => {
      await withServers(async ({ http }) => {
        const { promise: closed, resolve: reportClosed } = Promise.withResolvers<void>();
        const server = await http((_request, response) => {
          response.on('close', () => reportClosed());
          response.write('begun');
        });
        const { body } = await createGuardedFetch(LOOPBACK)(local(server), { bytesMax: 100 });
        if (isRead) for await (const _ of body) break;
        else body.destroy();
        await closed;
      });
    });
  }

  it('closes an unread response after the total time', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await withServers(async ({ http }) => {
      const { promise: closed, resolve: reportClosed } = Promise.withResolvers<void>();
      const server = await http((_request, response) => {
        response.write('begun');
        response.on('close', () => reportClosed());
      });
      const { body } = await createGuardedFetch({ ...LOOPBACK, timeouts: { totalMs: 200 } })(local(server), {
        bytesMax: 100,
      });
      t.mock.timers.tick(200);
      await closed;
      await assertRefused(buffer(body), 'timeout', /in all/);
    });
  });
});

describe('request options of createGuardedFetch', () => {
  it('sends the user agent to all origins, and additional headers to the first origin only', async () => {
    await withServers(async ({ http }) => {
      const seen: unknown[] = [];
      const other = await http(({ headers }, response) => {
        seen.push([headers['x-key'], headers['user-agent']]);
        response.end('there');
      });
      const named = await http(({ headers, url }, response) => {
        seen.push([headers['x-key'], headers['user-agent']]);
        response.writeHead(302, { location: url === '/' ? '/on' : local(other) }).end();
      });
      const fetch = createGuardedFetch({ ...LOOPBACK, userAgent: 'Reader/1' });
      const { body } = await fetch(local(named), { bytesMax: MB, headers: { 'x-key': 'secret' } });
      assert.equal(await text(body), 'there');
      assert.deepEqual(seen, [
        ['secret', 'Reader/1'],
        ['secret', 'Reader/1'],
        [undefined, 'Reader/1'],
      ]);
    });
  });

  it('posts content, returns the response with its headers, and follows no redirect', async () => {
    await withServers(async ({ http }) => {
      const server = await http((request, response) => {
        void text(request).then((body) => {
          response.writeHead(307, { location: '/on', 'retry-after': '3' }).end(`${request.method} ${body}`);
        });
      });
      const content = { type: 'application/json', bytes: Buffer.from('{"a":1}') };
      const answer = await createGuardedFetch(LOOPBACK)(local(server), { bytesMax: MB, content });
      assert.deepEqual([answer.status, answer.getHeader('retry-after'), answer.getHeader('x-none')], [307, '3', '']);
      assert.equal(await text(answer.body), 'POST {"a":1}');
      assert.equal(server.countConnections(), 1);
    });
  });

  it('does not follow a redirect that the callback rejects', async () => {
    await withServers(async ({ http }) => {
      const other = await http((_request, response) => void response.end());
      const server = await http((_request, response) => response.writeHead(302, { location: local(other) }).end());
      const redirectTargets: string[] = [];
      const onRedirect = async (url: string): Promise<void> => {
        redirectTargets.push(url);
        throw new ServiceError('forbidden', 'not there');
      };
      await assert.rejects(createGuardedFetch(LOOPBACK)(local(server), { bytesMax: MB, onRedirect }), /not there/);
      assert.deepEqual(redirectTargets, [local(other)]);
      assert.equal(other.countConnections(), 0);
    });
  });
});
