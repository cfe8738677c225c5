import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';

/** Behavior of the fake hub; a test changes it between requests. */
export interface HubBehavior {
  content: Buffer;
  etag: string | undefined;
  /** SHA-256 that the hub announces; undefined: none. */
  announcedSha256: string | undefined;
  hasRanges: boolean;
  /** Whether the hub redirects to a storage server of another origin. */
  redirects: boolean;
  /** Number of bytes of a body after which the server stops sending. */
  stopsAfterBytes: number | undefined;
  /** Whether the hub never answers. */
  isUnresponsive: boolean;
  status: number | undefined;
  /** How the storage server sends its body: with its length, without it, or compressed, which `fetch` undoes. */
  encoding: 'length' | 'chunked' | 'gzip';
}

export interface FakeHub {
  readonly url: string;
  readonly behavior: HubBehavior;
  /** All requests in order. */
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** Closes all connections of the storage server. */
  dropConnections(): void;
}

export const hashBytes = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Starts a hub, and the storage server that it redirects to, on the loopback interface. */
export async function startFakeHub(t: TestContext, overrides: Partial<HubBehavior> = {}): Promise<FakeHub> {
  const content = overrides.content ?? Buffer.from(`GGUF${'weights '.repeat(20_000)}`);
  const behavior: HubBehavior = {
    content,
    etag: '"one"',
    announcedSha256: hashBytes(content),
    hasRanges: true,
    redirects: true,
    stopsAfterBytes: undefined,
    isUnresponsive: false,
    status: undefined,
    encoding: 'length',
    ...overrides,
  };
  const requests: FakeHub['requests'] = [];

  const storage = createServer((request, response) => {
    const { content: whole, etag, hasRanges, stopsAfterBytes, encoding } = behavior;
    const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
    const isSame = request.headers['if-range'] === undefined || request.headers['if-range'] === etag;
    const start = hasRanges && range && isSame ? Number(range[1]) : 0;
    if (etag) response.setHeader('etag', etag);
    if (start > whole.length) {
      response.writeHead(416, { 'content-range': `bytes */${whole.length}` }).end();
      return;
    }
    const body = encoding === 'gzip' ? gzipSync(whole.subarray(start)) : whole.subarray(start);
    if (encoding !== 'chunked') response.setHeader('content-length', body.length);
    if (encoding === 'gzip') response.setHeader('content-encoding', 'gzip');
    if (start > 0) response.writeHead(206, { 'content-range': `bytes ${start}-${whole.length - 1}/${whole.length}` });
    if (stopsAfterBytes !== undefined) response.write(body.subarray(0, stopsAfterBytes));
    else {
      // `end` with the whole body would add its length.
      response.write(body);
      response.end();
    }
  });
  const storageUrl = await listen(t, storage);

  const hub = createServer((request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers });
    const { announcedSha256, isUnresponsive, redirects, status, content: whole } = behavior;
    if (isUnresponsive) return;
    if (announcedSha256) response.setHeader('x-linked-etag', `"${announcedSha256}"`);
    if (behavior.encoding === 'length') response.setHeader('x-linked-size', whole.length);
    if (status !== undefined) response.writeHead(status).end('no');
    else if (redirects) response.writeHead(302, { location: `${storageUrl}/blob` }).end();
    else storage.emit('request', request, response);
  });
  return { url: await listen(t, hub), behavior, requests, dropConnections: () => storage.closeAllConnections() };
}

/** Starts a server on loopback until the end of the test. @returns its URL. */
export async function listen(t: TestContext, server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}
