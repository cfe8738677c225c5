import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createUpstreamClient } from './upstream-client.ts';
import { readErrorResponse } from './read-error-response.ts';

test('reads Retry-After as seconds, or as a date relative to the Date header', async () => {
  const cases: readonly [retryAfter: string, seconds: number | undefined][] = [
    ['7', 7],
    ['1.2', 2],
    ['0', 0],
    ['Fri, 01 Jan 2038 00:01:30 GMT', 90],
    ['Thu, 31 Dec 2037 00:00:00 GMT', 0],
    ['Fri, 01 Jan 2038', undefined],
    ['Fri, 99 Jan 2038 00:00:00 GMT', undefined],
    ['-1', undefined],
    ['', undefined],
    ['soon', undefined],
  ];
  let retryAfter = '';
  const server = createServer((_, response) =>
    response.writeHead(503, { 'retry-after': retryAfter, date: 'Fri, 01 Jan 2038 00:00:00 GMT' }).end(),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = createUpstreamClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  try {
    for (const [text, seconds] of cases) {
      retryAfter = text;
      const refusal = await readErrorResponse(await client.get('x', {}), client.errors);
      assert.deepEqual([refusal.kind, refusal.retryAfterSeconds], ['overloaded', seconds], text);
    }
  } finally {
    client.close();
    server.close();
  }
});
