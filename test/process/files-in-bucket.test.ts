import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import { getS3ServerSkipReason, startS3Server } from '../s3-server.ts';

const MIB = 1024 * 1024;

test('stores files in the configured bucket', { skip: getS3ServerSkipReason() }, async () => {
  const server = await startS3Server();
  const { accessKeyId, secretAccessKey } = server.credentials;
  const parley = await startParley({
    engine: 'scripted',
    env: {
      PARLEY_BLOBS_URL: `s3://${server.bucket}/files?endpoint=${encodeURIComponent(server.endpoint)}`,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
    },
  });
  try {
    const headers = { authorization: `Bearer ${parley.key}` };
    // Large enough for several parts of an upload.
    const bytes = Buffer.alloc(20 * MIB, 'parley ');
    const form = new FormData();
    form.append('files', new Blob([bytes]), 'a.bin');
    const response = await fetch(`${parley.address}/api/v1/files`, { method: 'POST', headers, body: form });
    const id = /"file_id":"([^"]+)"/.exec(await response.text())?.[1] ?? assert.fail(parley.output());
    const fileUrl = `${parley.address}/api/v1/files/${id}`;
    const { data } = (await (await fetch(fileUrl, { headers })).json()) as { data: { url: string; md5: string } };
    assert.equal(data.md5, createHash('md5').update(bytes).digest('hex'));
    assert.ok(bytes.equals(Buffer.from(await (await fetch(data.url)).arrayBuffer())));
    const part = await fetch(data.url, { headers: { range: `bytes=${17 * MIB}-${17 * MIB + 6}` } });
    assert.equal(await part.text(), bytes.subarray(17 * MIB, 17 * MIB + 7).toString());
    // A part is on the disk only until it is sent.
    assert.deepEqual(await readdir(join(parley.data, 'blobs'), { recursive: true }), ['incoming']);
    assert.equal((await fetch(fileUrl, { method: 'DELETE', headers })).status, 200);
    assert.equal((await fetch(data.url)).status, 400);
  } finally {
    await parley.stop();
    await server.close();
  }
});
