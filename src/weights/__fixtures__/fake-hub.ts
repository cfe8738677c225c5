import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { TestContext } from 'node:test';

/** What the hub does; a test changes it between requests. */
export interface HubBehaviour {
  content: Buffer;
  etag: string | undefined;
  /** The hash the hub announces; undefined: none. */
  announced: string | undefined;
  hasRanges: boolean;
  /** The file's bytes come from another origin. */
  redirects: boolean;
  /** Says nothing more after this many bytes of a body. */
  stopsAfter: number | undefined;
  /** Never answers at all. */
  isSilent: boolean;
  status: number | undefined;
}

export interface FakeHub {
  readonly url: string;
  readonly behaviour: HubBehaviour;
  /** Every request, in order. */
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** Breaks what is being sent. */
  drop(): void;
}

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A hub on the loopback interface, and the storage that it redirects to. */
export async function startFakeHub(t: TestContext, given: Partial<HubBehaviour> = {}): Promise<FakeHub> {
  const content = given.content ?? Buffer.from(`GGUF${'weights '.repeat(20_000)}`);
  const behaviour: HubBehaviour = {
    content,
    etag: '"one"',
    announced: sha256Of(content),
    hasRanges: true,
    redirects: true,
    stopsAfter: undefined,
    isSilent: false,
    status: undefined,
    ...given,
  };
  const requests: FakeHub['requests'] = [];

  const storage = createServer((request, response) => {
    const { content: whole, etag, hasRanges, stopsAfter } = behaviour;
    const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
    const isSame = request.headers['if-range'] === undefined || request.headers['if-range'] === etag;
    const start = hasRanges && range && isSame ? Number(range[1]) : 0;
    if (etag) response.setHeader('etag', etag);
    if (start > whole.length) {
      response.writeHead(416, { 'content-range': `bytes */${whole.length}` }).end();
      return;
    }
    const body = whole.subarray(start);
    response.setHeader('content-length', body.length);
    if (start > 0) response.writeHead(206, { 'content-range': `bytes ${start}-${whole.length - 1}/${whole.length}` });
    if (stopsAfter !== undefined) response.write(body.subarray(0, stopsAfter));
    else response.end(body);
  });
  const storageUrl = await listen(t, storage);

  const hub = createServer((request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers });
    const { announced, isSilent, redirects, status, content: whole } = behaviour;
    if (isSilent) return;
    if (announced) response.setHeader('x-linked-etag', `"${announced}"`);
    response.setHeader('x-linked-size', whole.length);
    if (status !== undefined) response.writeHead(status).end('no');
    else if (redirects) response.writeHead(302, { location: `${storageUrl}/blob` }).end();
    else storage.emit('request', request, response);
  });
  return { url: await listen(t, hub), behaviour, requests, drop: () => storage.closeAllConnections() };
}

async function listen(t: TestContext, server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}
