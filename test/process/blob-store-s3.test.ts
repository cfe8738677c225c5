import { ListMultipartUploadsCommand, ListPartsCommand, S3Client } from '@aws-sdk/client-s3';
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openBlobs } from '../../src/blobs/open-blobs.ts';
import { blobStoreContract } from '../contracts/blob-store-contract.ts';
import { lacksS3Server, startS3Server } from '../s3-server.ts';
import type { S3Server } from '../s3-server.ts';

function openOn({ bucket, endpoint, credentials }: S3Server, secretAccessKey = credentials.secretAccessKey) {
  return openBlobs({
    url: `s3://${bucket}/some/files?endpoint=${encodeURIComponent(endpoint)}`,
    folder: 'not used',
    environment: { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
  });
}

blobStoreContract(
  'in a bucket of a real S3 server',
  async () => {
    const server = await startS3Server();
    const store = await openOn(server);
    const other = new S3Client({
      endpoint: server.endpoint,
      credentials: server.credentials,
      region: 'us-east-1',
      forcePathStyle: true,
    });
    const Bucket = server.bucket;
    const uploads = async () => (await other.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? [];
    return {
      store,
      leftOvers: async () => (await uploads()).length,
      async leftBytes() {
        let sum = 0;
        for (const { Key, UploadId } of await uploads()) {
          const { Parts = [] } = await other.send(new ListPartsCommand({ Bucket, Key, UploadId }));
          for (const { Size = 0 } of Parts) sum += Size;
        }
        return sum;
      },
      async close() {
        other.destroy();
        await store.close();
        await server.close();
      },
    };
  },
  lacksS3Server(),
);

it('an upload fails soon where the server dies under it', { skip: lacksS3Server() }, async () => {
  const server = await startS3Server();
  const store = await openOn(server);
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

it('a wrong secret is refused by the server', { skip: lacksS3Server() }, async () => {
  const server = await startS3Server();
  const store = await openOn(server, 'another secret');
  await assert.rejects(store.read('file-1'), (thrown) => {
    assert.ok(thrown instanceof Error);
    assert.match(String(thrown.cause), /GetObject failed \(status 403, .*SignatureDoesNotMatch/);
    return true;
  });
  await store.close();
  await server.close();
});
