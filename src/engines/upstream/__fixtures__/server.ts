import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { UpstreamOptions } from '../upstream-engine.ts';
import { createUpstreamEngine } from '../upstream-engine.ts';
import type { TextEngine } from '../../engine.ts';

/** What a path answers: JSON, a status with JSON, or by itself. Paths that are not named answer 404. */
export type Reply =
  | object
  | { readonly status: number; readonly body?: unknown }
  | ((body: unknown, response: ServerResponse, request: IncomingMessage) => unknown);

export interface Asked {
  readonly path: string;
  readonly body: unknown;
  readonly headers: IncomingMessage['headers'];
}

/** A server that answers by path, and engines that ask it. */
export interface TestServer extends AsyncDisposable {
  readonly base: string;
  readonly asked: readonly Asked[];
  engine(options?: Partial<UpstreamOptions>): TextEngine;
}

/** @param keepsMs How long it keeps a connection that nobody uses; Node's default: 5 s. */
export async function testServer(
  replies: Readonly<Record<string, Reply>>,
  { keepsMs }: { readonly keepsMs?: number } = {},
): Promise<TestServer> {
  const asked: Asked[] = [];
  const engines: TextEngine[] = [];
  const play = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const text = await readText(request);
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    asked.push({ path, body, headers: request.headers });
    const reply = replies[path];
    if (typeof reply === 'function') return void reply(body, response, request);
    const status = reply === undefined ? 404 : 'status' in reply ? Number(reply.status) : 200;
    const said = reply !== undefined && 'status' in reply ? ('body' in reply ? reply.body : '') : reply;
    response.writeHead(status, { 'content-type': 'application/json' }).end(said === '' ? '' : JSON.stringify(said));
  };
  const server = createServer((request, response) => void play(request, response)).listen(0, '127.0.0.1');
  if (keepsMs !== undefined) server.keepAliveTimeout = keepsMs;
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    base,
    asked,
    engine(options = {}) {
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

/** A streamed answer of these events. */
export const streamed =
  (...events: readonly unknown[]): Reply =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end('data: [DONE]\n\n');
  };
