import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { ServiceError } from '../core/error.ts';
import type { ErrorKind } from '../core/error.ts';
import { CERTIFICATE, startRawServer, startServer, startTlsServer } from './__fixtures__/small-server.ts';
import type { SmallServer } from './__fixtures__/small-server.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import type { GuardedFetchOptions } from './guarded-fetch.ts';

const LOOPBACK = { allow: ['127.0.0.0/8'] };

const MB = 1024 * 1024;

/** The servers of one test, closed at its end. */
async function withServers<T>(work: (servers: Servers) => Promise<T>): Promise<T> {
  const open: SmallServer[] = [];
  const kept = async (starting: Promise<SmallServer>): Promise<SmallServer> => {
    const server = await starting;
    open.push(server);
    return server;
  };
  try {
    return await work({
      http: (listener) => kept(startServer(listener)),
      https: (listener) => kept(startTlsServer(listener)),
      raw: (onSocket) => kept(startRawServer(onSocket)),
    });
  } finally {
    await Promise.all(open.map((server) => server.close()));
  }
}

interface Servers {
  http(listener: RequestListener): Promise<SmallServer>;
  https(listener: RequestListener): Promise<SmallServer>;
  raw(onSocket: (socket: Socket) => void): Promise<SmallServer>;
}

const local = ({ port }: SmallServer, path = '/'): string => `http://127.0.0.1:${port}${path}`;

/** Reads all of it. */
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
    assert.doesNotMatch(thrown.message, /127\.0|localhost|169\.254|example/, 'a message names no place');
    return true;
  });
}

describe('a guarded fetch', () => {
  it('hands over status, type, disposition, last address and the body, and tells nothing of who asks', async () => {
    await withServers(async ({ http }) => {
      let seen: NodeJS.Dict<string | string[]> = {};
      const server = await http((request, response) => {
        seen = request.headers;
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
      assert.deepEqual(seen, {
        accept: 'text/*',
        'accept-encoding': 'gzip, deflate, br',
        'user-agent': 'parley',
        host: `127.0.0.1:${server.port}`,
        connection: 'close',
      });
    });
  });

  it('connects to what the name was when it was judged, and asks for it once', async () => {
    await withServers(async ({ http }) => {
      const server = await http((request, response) => void response.end(request.headers.host));
      let asked = 0;
      const resolve = async (): Promise<string[]> => {
        asked += 1;
        return asked === 1 ? ['127.0.0.1'] : ['127.0.0.99'];
      };
      const url = `http://rebound.example.com:${server.port}/`;
      assert.equal(await fetchText(url, { resolve }), `rebound.example.com:${server.port}`);
      assert.equal(asked, 1);
    });
  });

  it('judges a name anew on every redirect: public first and ours then is refused', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.writeHead(302, { location: '/again' }).end());
      const answers = [['127.0.0.1'], ['127.1.1.1']];
      const options = { allow: ['127.0.0.1'], resolve: async () => answers.shift() ?? [] };
      await assertRefused(
        fetchText(`http://rebound.example.com:${server.port}/`, options),
        'invalid-request',
        "The URL's host has no public address.",
      );
      assert.equal(server.connections(), 1);
      assert.deepEqual(answers, []);
    });
  });

  it('takes names and networks that the operator allows, and no others', async () => {
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

  it('refuses an allow list that cannot be read', () => {
    for (const entry of ['10.0.0.0/40', 'http://a.example', 'a b', '*', '*.', '']) {
      assert.throws(() => createGuardedFetch({ allow: [entry] }), /neither a host name nor a network/, entry);
    }
  });

  it('uses no proxy that the environment names', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.end('direct'));
      const proxy = await http((_request, response) => void response.end('proxied'));
      const names = ['http_proxy', 'HTTP_PROXY', 'NODE_USE_ENV_PROXY'];
      const before = names.map((name) => process.env[name]);
      for (const name of names) process.env[name] = name.endsWith('_ENV_PROXY') ? '1' : local(proxy);
      try {
        assert.equal(await fetchText(local(server)), 'direct');
        assert.equal(proxy.connections(), 0);
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

describe('redirects of a guarded fetch', () => {
  for (const status of [301, 302, 303, 307, 308]) {
    it(`are followed: ${status}`, async () => {
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

  it('end after as many as are allowed', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.writeHead(302, { location: '/' }).end());
      await assertRefused(
        fetchText(local(server), { redirectsMax: 3 }),
        'upstream-failed',
        'The server of the URL redirects more than 3 times.',
      );
      assert.equal(server.connections(), 4);
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
    ['http://user:password@public.example.com/', 'The URL holds a user name or password.'],
    ['http://public.example.com:22/', 'The URL names a port that is not allowed.'],
    ['http://a b/', 'The URL is not a valid URL.'],
  ] as const) {
    it(`are refused to ${location}`, async () => {
      await withServers(async ({ http }) => {
        const server = await http((_request, response) => void response.writeHead(302, { location }).end());
        await assertRefused(fetchText(local(server)), 'invalid-request', message);
      });
    });
  }

  it('lead from https to http only where that is allowed', async () => {
    await withServers(async ({ http, https }) => {
      const plain = await http((_request, response) => void response.end('plain'));
      const tls = await https((_request, response) => void response.writeHead(302, { location: local(plain) }).end());
      const url = `https://files.parley.example:${tls.port}/`;
      const options = { resolve: async () => ['127.0.0.1'], certificates: [CERTIFICATE] };
      await assertRefused(
        fetchText(url, options),
        'invalid-request',
        'The URL begins with https:// and redirects to http://.',
      );
      assert.equal(plain.connections(), 0);
      assert.equal(await fetchText(url, { ...options, mayDowngrade: true }), 'plain');
    });
  });

  it('without a place to go to are answers', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.writeHead(302).end('nowhere'));
      assert.equal(await fetchText(local(server)), 'nowhere');
    });
  });
});

describe('TLS of a guarded fetch', () => {
  const resolve = async (): Promise<string[]> => ['127.0.0.1'];

  it('is checked against the name, though the connection goes to an address', async () => {
    await withServers(async ({ https }) => {
      const server = await https((request, response) => void response.end(request.headers.host));
      const options = { resolve, certificates: [CERTIFICATE] };
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

  it('takes no certificate that nobody vouches for', async () => {
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

describe('the bounds of a guarded fetch', () => {
  it('hold for a length that is announced, before a byte is read', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => {
        response.writeHead(200, { 'content-length': 1_001 }).write('x');
      });
      const fetch = createGuardedFetch(LOOPBACK);
      await assertRefused(
        fetch(local(server), { bytesMax: 1_000 }),
        'too-large',
        'What the URL leads to is larger than 1000 bytes.',
      );
    });
  });

  it('hold for a body without an end, which is not read on', async () => {
    await withServers(async ({ http }) => {
      const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
      const server = await http((_request, response) => {
        const go = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        };
        response.on('drain', go).on('close', () => leave());
        go();
      });
      await assertRefused(fetchText(local(server)), 'too-large', /^What the URL leads to is larger than \d+ bytes\.$/);
      await gone;
    });
  });

  it('let through what is exactly as large as allowed', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => void response.end('x'.repeat(1_000)));
      assert.equal((await fetchText(local(server), {}, 1_000)).length, 1_000);
      await assertRefused(fetchText(local(server), {}, 999), 'too-large', /larger than 999 bytes/);
    });
  });

  for (const [packing, pack] of [
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['identity', (bytes: Buffer) => bytes],
    ['GZIP', gzipSync],
  ] as const) {
    it(`hold for what a body unpacks to, and leave it whole within them: ${packing} by ${pack.name}`, async () => {
      await withServers(async ({ http }) => {
        const said = Array.from({ length: 9_000 }, (_, index) => `${index * 7_919}`).join(' ');
        const packed = pack(Buffer.from(said));
        const server = await http((_request, response) => {
          response.writeHead(200, { 'content-encoding': packing }).end(packed);
        });
        assert.equal(await fetchText(local(server)), said);
        await assertRefused(fetchText(local(server), {}, said.length - 1), 'too-large', /larger than/);
      });
    });
  }

  for (const [packing, pack] of [
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const) {
    it(`stop a bomb of ${packing} early, also far below the size`, async () => {
      await withServers(async ({ http }) => {
        const bomb = pack(Buffer.alloc(64 * MB));
        const server = await http((_request, response) => {
          response.writeHead(200, { 'content-encoding': packing }).end(bomb);
        });
        const { body } = await createGuardedFetch(LOOPBACK)(local(server), { bytesMax: 1024 * MB });
        let size = 0;
        const read = (async () => {
          for await (const chunk of body) size += (chunk as Uint8Array).byteLength;
        })();
        await assertRefused(read, 'upstream-failed', /unpacks to much more than it is/);
        assert.ok(size < 16 * MB, `${size} bytes came of it`);
      });
    });
  }

  for (const [what, packing, body] of [
    ['that is not packed as it says', 'gzip', Buffer.from('plain text')],
    ['that is cut', 'gzip', gzipSync(Buffer.alloc(100_000, 'ab')).subarray(0, -20)],
    ['that is cut', 'br', brotliCompressSync(Buffer.alloc(100_000, 'ab')).subarray(0, -4)],
  ] as const) {
    it(`refuse a body ${what}: ${packing}`, async () => {
      await withServers(async ({ http }) => {
        const server = await http((_request, response) => {
          response.writeHead(200, { 'content-encoding': packing }).end(body);
        });
        await assertRefused(
          fetchText(local(server)),
          'upstream-failed',
          'The server of the URL sent a body that cannot be unpacked.',
        );
      });
    });
  }

  for (const packing of ['zstd', 'gzip, gzip', 'compress', 'x']) {
    it(`refuse a packing that was not asked for: ${packing}`, async () => {
      await withServers(async ({ http }) => {
        const server = await http((_request, response) => {
          response.writeHead(200, { 'content-encoding': packing }).end('?');
        });
        await assertRefused(fetchText(local(server)), 'upstream-failed', /packed in a way that was not asked for/);
      });
    });
  }

  it('hold for a slow drip, whose every byte comes in time', async () => {
    await withServers(async ({ http }) => {
      const server = await http((_request, response) => {
        const timer = setInterval(() => response.write('x'), 10);
        response.on('close', () => clearInterval(timer));
      });
      await assertRefused(
        fetchText(local(server), { timeouts: { wholeMs: 300 } }),
        'timeout',
        'The server of the URL needed more than 0.3 s in all.',
      );
    });
  });

  it('hold for a head that does not come, or comes a byte at a time', async () => {
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

  it('hold for informational answers without an end', async () => {
    await withServers(async ({ raw }) => {
      const server = await raw((socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'), 5);
        socket.on('close', () => clearInterval(timer));
      });
      await assertRefused(fetchText(local(server), { timeouts: { headMs: 200 } }), 'timeout', /to answer/);
    });
  });

  it('hold for a name that is not resolved', async () => {
    const options = { timeouts: { connectMs: 100 }, resolve: () => new Promise<never>(() => undefined) };
    await assertRefused(fetchText('http://public.example.com/', options), 'timeout', /more than 0\.1 s to connect/);
  });

  it('hold for a greeting of TLS that does not come', async () => {
    await withServers(async ({ raw }) => {
      const server = await raw(() => undefined);
      await assertRefused(
        fetchText(`https://127.0.0.1:${server.port}/`, { timeouts: { connectMs: 200 } }),
        'timeout',
        /to connect/,
      );
    });
  });

  it('hold for a flood of headers', async () => {
    await withServers(async ({ raw }) => {
      const server = await raw((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        for (let count = 0; count < 2_000; count += 1) socket.write(`x-${count}: ${'y'.repeat(50)}\r\n`);
      });
      await assertRefused(fetchText(local(server)), 'upstream-failed', 'The server of the URL sent too many headers.');
    });
  });

  for (const [what, bytes, message] of [
    ['a body that ends early', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf', /broke the connection/],
    [
      'chunks that end early',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
      /broke the connection/,
    ],
    ['a head that ends early', 'HTTP/1.1 200 OK\r\ncontent-le', /broke the connection/],
    ['nothing at all', '', /broke the connection/],
    ['what is no HTTP', '220 smtp.example.com ESMTP\r\n', /not valid HTTP/],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcde', /not valid HTTP/],
    [
      'length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      /not valid HTTP/,
    ],
    [
      'another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      /broke the connection/,
    ],
  ] as const) {
    it(`fail on ${what}`, async () => {
      await withServers(async ({ raw }) => {
        const server = await raw((socket) => void socket.end(bytes));
        await assertRefused(fetchText(local(server)), 'upstream-failed', message);
      });
    });
  }

  it('fail where nobody listens', async () => {
    const port = await withServers(async ({ http }) => (await http(() => undefined)).port);
    await assertRefused(
      fetchText(`http://127.0.0.1:${port}/`),
      'upstream-failed',
      'The server of the URL cannot be reached.',
    );
  });

  it('take no more than what a length says', async () => {
    await withServers(async ({ raw }) => {
      const server = await raw((socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcdefgh'));
      assert.equal(await fetchText(local(server)), 'abcd');
    });
  });
});

describe('a guarded fetch whose caller goes away', () => {
  for (const where of ['head', 'body']) {
    it(`ends with the reason while it waits for the ${where}, and lets the server go`, async () => {
      await withServers(async ({ http }) => {
        const { promise: asked, resolve: hear } = Promise.withResolvers<void>();
        const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
        const server = await http((_request, response) => {
          response.on('close', () => leave());
          if (where === 'body') response.write('begun');
          hear();
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
        await asked;
        controller.abort(reason);
        await assert.rejects(fetched, reason);
        await gone;
      });
    });
  }

  for (const isRead of [false, true]) {
    it(`lets the server go when a body is destroyed that was ${isRead ? 'read in part' : 'not read'}`, async () => {
      await withServers(async ({ http }) => {
        const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
        const server = await http((_request, response) => {
          response.on('close', () => leave());
          response.write('begun');
        });
        const { body } = await createGuardedFetch(LOOPBACK)(local(server), { bytesMax: 100 });
        if (isRead) for await (const _ of body) break;
        else body.destroy();
        await gone;
      });
    });
  }

  it('gives an answer up that nobody reads, when the time is over', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await withServers(async ({ http }) => {
      const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
      const server = await http((_request, response) => {
        response.write('begun');
        response.on('close', () => leave());
      });
      const { body } = await createGuardedFetch({ ...LOOPBACK, timeouts: { wholeMs: 200 } })(local(server), {
        bytesMax: 100,
      });
      t.mock.timers.tick(200);
      await gone;
      await assertRefused(buffer(body), 'timeout', /in all/);
    });
  });
});

describe('what a guarded fetch sends beside the URL', () => {
  it('sends headers and who asks, and keeps the headers from other origins', async () => {
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

  it('posts content, reads the answer with its headers, and follows no redirect with it', async () => {
    await withServers(async ({ http }) => {
      const server = await http((request, response) => {
        void text(request).then((body) => {
          response.writeHead(307, { location: '/on', 'retry-after': '3' }).end(`${request.method} ${body}`);
        });
      });
      const content = { type: 'application/json', bytes: Buffer.from('{"a":1}') };
      const answer = await createGuardedFetch(LOOPBACK)(local(server), { bytesMax: MB, content });
      assert.deepEqual([answer.status, answer.header('retry-after'), answer.header('x-none')], [307, '3', '']);
      assert.equal(await text(answer.body), 'POST {"a":1}');
      assert.equal(server.connections(), 1);
    });
  });

  it('asks nobody at the end of a redirect that its caller does not want', async () => {
    await withServers(async ({ http }) => {
      const other = await http((_request, response) => void response.end());
      const server = await http((_request, response) => response.writeHead(302, { location: local(other) }).end());
      const told: string[] = [];
      const onRedirect = async (url: string): Promise<void> => {
        told.push(url);
        throw new ServiceError('forbidden', 'not there');
      };
      await assert.rejects(createGuardedFetch(LOOPBACK)(local(server), { bytesMax: MB, onRedirect }), /not there/);
      assert.deepEqual(told, [local(other)]);
      assert.equal(other.connections(), 0);
    });
  });
});
