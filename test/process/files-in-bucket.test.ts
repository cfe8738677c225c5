import { ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import { runParleyCheck } from './__fixtures__/run-parley-check.ts';
import { getS3ServerSkipReason, startS3Server } from '../s3-server.ts';

const MIB = 1024 * 1024;

test('stores files in the configured bucket', { skip: getS3ServerSkipReason() }, async () => {
  const server = await startS3Server();
  const { accessKeyId, secretAccessKey } = server.credentials;
  const blobsUrl = `s3://${server.bucket}/files?endpoint=${encodeURIComponent(server.endpoint)}`;
  const parley = await startParley({
    engine: 'scripted',
    env: {
      PARLEY_BLOBS_URL: blobsUrl,
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
    const check = () =>
      runParleyCheck(parley.data, {
        PARLEY_BLOBS_URL: blobsUrl,
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
      });
    assert.equal((await check()).code, 0);
    // A part is on the disk only until it is sent.
    assert.deepEqual(await readdir(join(parley.data, 'blobs'), { recursive: true }), ['incoming']);
    const client = new S3Client({
      endpoint: server.endpoint,
      credentials: server.credentials,
      region: 'us-east-1',
      forcePathStyle: true,
    });
    const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: server.bucket }));
    const [{ Key } = {}] = Contents ?? [];
    await client.send(new PutObjectCommand({ Bucket: server.bucket, Key, Body: bytes.subarray(1) }));
    client.destroy();
    const { code, result } = await check();
    assert.deepEqual([code, result?.problems.length], [1, 1]);
    // The first bytes of the changed object are wrong already.
    assert.equal((await fetch(data.url)).status, 500);
    assert.equal((await fetch(fileUrl, { method: 'DELETE', headers })).status, 200);
    assert.equal((await fetch(data.url)).status, 400);
  } finally {
    await parley.stop();
    await server.close();
  }
});
