import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { WebFetch } from '../web-fetch.ts';

export interface RecordedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An HTTP server that records its requests; disposed at the end of the test. */
export interface TestWebServer extends AsyncDisposable {
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly requests: RecordedRequest[];
  /** Fetches as the guarded fetch does, without its checks, which have their own tests. */
  readonly fetch: WebFetch;
}

/** Starts a server whose responses come from `respond`. */
export async function startTestWebServer(respond: (requests: RecordedRequest, response: ServerResponse) => void): Promise<TestWebServer> {
  const requests: RecordedRequest[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', headers } = request;
      const recorded = { method, headers, body, url: new URL(request.url ?? '/', 'http://127.0.0.1') };
      requests.push(recorded);
      respond(recorded, response);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    fetch: unguardedFetch,
    [Symbol.asyncDispose]: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

const unguardedFetch: WebFetch = async (url, { accept = '*/*', signal, headers = {}, content, onRedirect }) => {
  const response = await fetch(url, {
    redirect: 'manual',
    signal,
    headers: { ...headers, accept, ...(content ? { 'content-type': content.type } : {}) },
    ...(content ? { method: 'POST', body: Buffer.from(content.bytes) } : {}),
  });
  const location = response.headers.get('location');
  if (onRedirect && location !== null) {
    await response.body?.cancel();
    const next = new URL(location, url).href;
    await onRedirect(next);
    return await unguardedFetch(next, { bytesMax: 0, accept, signal, headers, onRedirect });
  }
  return {
    status: response.status,
    url,
    contentType: response.headers.get('content-type') ?? '',
    getHeader: (name) => response.headers.get(name) ?? '',
    body: response.body ? Readable.fromWeb(response.body) : Readable.from([]),
  };
};

export const sendJson = (response: ServerResponse, value: unknown, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
