import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { watch, type FSWatcher } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { createRestartableServer, send } from './restartable-server.ts';
import type { RestartableServer, RunningServer } from './restartable-server.ts';

const PART_BYTES = 200_000;

describe('uploads in parts to a server that is killed', () => {
  let data = '';
  let testServer: RestartableServer;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    testServer = createRestartableServer({ data, env: { PARLEY_ENGINE_KIND: 'scripted' } });
  });
  afterEach(() => testServer.stop('SIGKILL'));
  after(() => rm(data, { recursive: true }));

  const sendPart = async ({ url, key }: RunningServer, id: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> => {
    const body = new FormData();
    body.set('data', new Blob([bytes]), 'part');
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${url}/v1/uploads/${id}/parts`, { method: 'POST', headers, body });
    assert.equal(response.status, 200);
    return ((await response.json()) as { readonly id: string }).id;
  };

  it('keeps every acknowledged part, and completes the file after the restarts', async () => {
    const pieces = Array.from({ length: 3 }, () => randomBytes(PART_BYTES));
    let server = await testServer.start();
    const fields = { purpose: 'batch', filename: 'a', bytes: pieces.length * PART_BYTES, mime_type: 'text/plain' };
    const created = await send(server, 'POST', '/v1/uploads', fields);
    const { id } = (await created.json()) as { readonly id: string };
    const partIds: string[] = [];
    for (const piece of pieces) {
      partIds.push(await sendPart(server, id, piece));
      // Killed while another part arrives.
      const interrupted = sendPart(server, id, randomBytes(5_000_000)).catch(() => undefined);
      await testServer.stop('SIGKILL');
      await interrupted;
      server = await testServer.start();
    }
    const completed = await send(server, 'POST', `/v1/uploads/${id}/complete`, { part_ids: partIds });
    const body = (await completed.json()) as { readonly file: { readonly id: string } };
    assert.equal(completed.status, 200, JSON.stringify(body));
    const content = await send(server, 'GET', `/v1/files/${body.file.id}/content`);
    assert.ok(Buffer.from(await content.arrayBuffer()).equals(Buffer.concat(pieces)));
  });

  it('completes one file when it is killed during the completion', async () => {
    const pieces = Array.from({ length: 4 }, () => randomBytes(5_000_000));
    let server = await testServer.start();
    const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const fields = { purpose: 'batch', filename: 'killed', bytes: size, mime_type: 'text/plain' };
    const { id } = (await (await send(server, 'POST', '/v1/uploads', fields)).json()) as { readonly id: string };
    const partIds: string[] = [];
    for (const piece of pieces) partIds.push(await sendPart(server, id, piece));
    const complete = () => send(server, 'POST', `/v1/uploads/${id}/complete`, { part_ids: partIds });
    // Killed while the request arrives, while the parts are joined to a new blob, and after the response.
    for (const waitFor of [
      async () => undefined,
      (_: unknown, blobs: FSWatcher) => once(blobs, 'change'),
      (completion: Promise<unknown>) => completion,
    ]) {
      const blobs = watch(join(data, 'blobs'), { recursive: true });
      const completion = complete().catch(() => undefined);
      await waitFor(completion, blobs);
      await testServer.stop('SIGKILL');
      blobs.close();
      await completion;
      server = await testServer.start();
    }
    const completed = await complete();
    const body = (await completed.json()) as { readonly file: { readonly id: string } };
    assert.equal(completed.status, 200, JSON.stringify(body));
    const content = await send(server, 'GET', `/v1/files/${body.file.id}/content`);
    assert.ok(Buffer.from(await content.arrayBuffer()).equals(Buffer.concat(pieces)));
    const list = (await (await send(server, 'GET', '/v1/files')).json()) as {
      readonly data: readonly { readonly filename: string }[];
    };
    assert.equal(list.data.filter(({ filename }) => filename === 'killed').length, 1);
  });
});
