// Lower bound for a proxy in this runtime: forwards bytes, with one keep-alive connection per request in progress.
import { Agent, createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveRequests } from '../child.ts';

const upstream = new URL(process.env['BENCH_UPSTREAM'] ?? '');
const agent = new Agent({ keepAlive: true });

const server = createServer((request, response) => {
  const { 'content-type': type, 'content-length': length } = request.headers;
  const upstreamRequest = ask(
    {
      agent,
      host: upstream.hostname,
      port: upstream.port,
      path: request.url,
      method: request.method,
      headers: { ...(type ? { 'content-type': type } : {}), ...(length ? { 'content-length': length } : {}) },
    },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'] ?? '' });
      answer.pipe(response);
    },
  );
  upstreamRequest.on('error', () => response.destroy());
  request.pipe(upstreamRequest);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 1024, () => serveRequests(() => (server.address() as AddressInfo).port));
