import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openBlobStore } from '../../src/blobs/open-blob-store.ts';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeBlobStoreContract } from '../contracts/blob-store-contract.ts';
import { getS3ServerSkipReason, startS3Server } from '../s3-server.ts';
import type { S3Server } from '../s3-server.ts';

function openStoreOn({ bucket, endpoint, credentials }: S3Server, secretAccessKey = credentials.secretAccessKey) {
  return openBlobStore({
    url: `s3://${bucket}/some/files?endpoint=${encodeURIComponent(endpoint)}`,
    folder: join(tmpdir(), 'parley-unused-blobs'),
    environment: { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
  });
}

describeBlobStoreContract(
  'in a bucket of a real S3 server',
  async () => {
    const server = await startS3Server();
    const store = await openStoreOn(server);
    const client = new S3Client({
      endpoint: server.endpoint,
      credentials: server.credentials,
      region: 'us-east-1',
      forcePathStyle: true,
    });
    const Bucket = server.bucket;
    const listUploads = async () => (await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? [];
    return {
      store,
      countUnfinishedUploads: async () => (await listUploads()).length,
      async getUnfinishedBytes() {
        let sum = 0;
        for (const { Key, UploadId } of await listUploads()) {
          const { Parts = [] } = await client.send(new ListPartsCommand({ Bucket, Key, UploadId }));
          for (const { Size = 0 } of Parts) sum += Size;
        }
        return sum;
      },
      async changeBytes(blob, change) {
        const target = { Bucket, Key: `some/files/${blob}` };
        const { Body } = await client.send(new GetObjectCommand(target));
        const changed = change(Buffer.from((await Body?.transformToByteArray()) ?? []));
        await client.send(
          changed ? new PutObjectCommand({ ...target, Body: changed }) : new DeleteObjectCommand(target),
        );
      },
      async close() {
        client.destroy();
        await store.close();
        await server.close();
      },
    };
  },
  getS3ServerSkipReason(),
);

it('fails an upload when the server dies', { skip: getS3ServerSkipReason() }, async () => {
  const server = await startS3Server();
  const store = await openStoreOn(server);
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (let count = 0; ; count += 1) {
      if (count === 20) server.kill();
      yield Buffer.alloc(1024 * 1024);
    }
  }
  await assert.rejects(store.put('file-1', endless()), /internal error/);
  await store.close();
  await server.close();
});

it('reports the refusal of a wrong secret by the server', { skip: getS3ServerSkipReason() }, async () => {
  const server = await startS3Server();
  const store = await openStoreOn(server, 'another secret');
  await assert.rejects(store.read('file-1'), (thrown) => {
    assert.ok(thrown instanceof Error);
    assert.match(String(thrown.cause), /GetObject failed \(status 403, .*SignatureDoesNotMatch/);
    return true;
  });
  await store.close();
  await server.close();
});
