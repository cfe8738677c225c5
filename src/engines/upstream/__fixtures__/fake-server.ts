import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { createUpstreamEngine, type UpstreamEngineOptions } from '../upstream-engine.ts';
import type { TextEngine } from '../../engine.ts';

/** Reply of a path: JSON, a status with JSON, or a handler. Unknown paths reply with 404. */
export type FakeReply =
  | object
  | { readonly status: number; readonly body?: unknown }
  | ((body: unknown, response: ServerResponse, request: IncomingMessage) => unknown);

export interface ReceivedRequest {
  readonly path: string;
  readonly body: unknown;
  readonly headers: IncomingMessage['headers'];
}

/** HTTP server with a fixed reply per path, and a factory for engines that call it. */
export interface FakeServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly requests: readonly ReceivedRequest[];
  createEngine(options?: Partial<UpstreamEngineOptions>): TextEngine;
}

/** @param keepAliveMs How long the server keeps an idle connection; Node's default: 5 s. */
export async function startFakeServer(
  replies: Readonly<Record<string, FakeReply>>,
  { keepAliveMs }: { readonly keepAliveMs?: number } = {},
): Promise<FakeServer> {
  const requests: ReceivedRequest[] = [];
  const engines: TextEngine[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const text = await readText(request);
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    requests.push({ path, body, headers: request.headers });
    const reply = replies[path];
    if (typeof reply === 'function') return void reply(body, response, request);
    const status = reply === undefined ? 404 : 'status' in reply ? Number(reply.status) : 200;
    const replyBody = reply !== undefined && 'status' in reply ? ('body' in reply ? reply.body : '') : reply;
    response.writeHead(status, { 'content-type': 'application/json' }).end(replyBody === '' ? '' : JSON.stringify(replyBody));
  };
  const server = createServer((request, response) => void respond(request, response)).listen(0, '127.0.0.1');
  if (keepAliveMs !== undefined) server.keepAliveTimeout = keepAliveMs;
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl: base,
    requests,
    createEngine(options = {}) {
      const engine = createUpstreamEngine({ url: `${base}/v1`, model: 'their-model', contextTokens: 4096, ...options });
      engines.push(engine);
      return engine;
    },
    async [Symbol.asyncDispose]() {
      for (const engine of engines) await engine.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Replies with a stream of these events. */
export const replyWithStream =
  (...events: readonly unknown[]): FakeReply =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end('data: [DONE]\n\n');
  };
