// Lower bound for a streamed answer: node:http writes prepared bytes, one write per token, one token per tick.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveRequests, getCpuMicros } from '../child.ts';

let frames: string[] = [];
let plain = '';

const server = createServer((request, response) => {
  // Every server of this kind reads and parses the body.
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    const { stream } = JSON.parse(text) as { stream?: boolean };
    if (!stream) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(plain);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream;charset=UTF-8', 'cache-control': 'no-cache' });
    let at = 0;
    const next = (): void => {
      const frame = frames[at++];
      if (frame === undefined) return void response.end();
      response.write(frame);
      setImmediate(next);
    };
    next();
  });
});
server.listen(0, '127.0.0.1', () =>
  serveRequests((question) => {
    if (question === 'cpu') return getCpuMicros();
    if (question === 'port') return (server.address() as AddressInfo).port;
    ({ frames, plain } = question as { frames: string[]; plain: string });
    return 'ok';
  }),
);
