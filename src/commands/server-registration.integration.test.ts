import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FIRST_TLS } from '../http/__fixtures__/tls-files.ts';
import { isServerRunning, registerServer } from './server-registration.ts';

test('a registered server counts as running while it answers, also with a certificate that no authority signed', async (t) => {
  const answer = (_: unknown, response: { end(): unknown }): void => void response.end();
  const servers: Readonly<Record<string, Server>> = {
    http: createHttpServer(answer),
    https: createHttpsServer(FIRST_TLS, answer),
  };
  for (const [scheme, server] of Object.entries(servers)) {
    const folder = mkdtempSync(join(tmpdir(), 'parley-registration-'));
    t.after(() => rmSync(folder, { recursive: true }));
    assert.equal(await isServerRunning(folder), false);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const registration = await registerServer(folder, `${scheme}://127.0.0.1:${port}`);
    assert.equal(await isServerRunning(folder), true, scheme);
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    assert.equal(await isServerRunning(folder), false, scheme);
    registration.remove();
  }
});
