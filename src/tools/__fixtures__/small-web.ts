import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { WebFetch } from '../web-fetch.ts';

export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Closed with the test that has it. */
export interface SmallWeb extends AsyncDisposable {
  /** Without a path, and without a slash at its end. */
  readonly url: string;
  readonly asked: Asked[];
  /** As the guarded fetch does it, without its guards: those are tested with it. */
  readonly fetch: WebFetch;
}

/** A server that answers what a test says. */
export async function startWeb(answer: (asked: Asked, response: ServerResponse) => void): Promise<SmallWeb> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', headers } = request;
      const one = { method, headers, body, url: new URL(request.url ?? '/', 'http://127.0.0.1') };
      asked.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    fetch: plainFetch,
    [Symbol.asyncDispose]: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

const plainFetch: WebFetch = async (url, { accept = '*/*', signal, headers = {}, content, onRedirect }) => {
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
    return await plainFetch(next, { bytesMax: 0, accept, signal, headers, onRedirect });
  }
  return {
    status: response.status,
    url,
    contentType: response.headers.get('content-type') ?? '',
    header: (name) => response.headers.get(name) ?? '',
    body: response.body ? Readable.fromWeb(response.body) : Readable.from([]),
  };
};

export const sendJson = (response: ServerResponse, value: unknown, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
