// Lower bound for files: node:http, a stream to disk with md5, and one back. Syncs before it answers, as Parley does.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { serveRequests } from '../child.ts';

const path = join(process.env['BENCH_FILES'] ?? '.', 'plain.bin');

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    createReadStream(path).pipe(response);
    return;
  }
  const hash = createHash('md5');
  const hashed = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  void pipeline(request, hashed, createWriteStream(path, { flush: true })).then(() => response.end(hash.digest('hex')));
});
server.listen(0, '127.0.0.1', () => serveRequests(() => (server.address() as AddressInfo).port));
