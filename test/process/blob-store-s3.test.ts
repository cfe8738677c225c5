import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { openBlobs } from '../../src/blobs/open-blobs.ts';
import { blobStoreContract } from '../contracts/blob-store-contract.ts';
import { lacksS3Server, startS3Server } from '../s3-server.ts';

blobStoreContract(
  'in a bucket of a real S3 server',
  async () => {
    const server = await startS3Server();
    const { accessKeyId, secretAccessKey } = server.credentials;
    const url = `s3://${server.bucket}/some/files?endpoint=${encodeURIComponent(server.endpoint)}`;
    const environment = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const store = await openBlobs({ url, folder: 'not used', environment });
    const other = new S3Client({
      endpoint: server.endpoint,
      credentials: server.credentials,
      region: 'us-east-1',
      forcePathStyle: true,
    });
    return {
      store,
      leftOvers: async () =>
        (await other.send(new ListMultipartUploadsCommand({ Bucket: server.bucket }))).Uploads?.length ?? 0,
      async close() {
        other.destroy();
        await store.close();
        await server.close();
      },
    };
  },
  lacksS3Server(),
);
