import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBlobs } from '../../src/blobs/open-blobs.ts';
import { blobStoreContract } from './blob-store-contract.ts';

blobStoreContract('on disk', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-blobs-'));
  const store = await openBlobs({ folder: join(folder, 'blobs'), environment: {} });
  return {
    store,
    leftOvers: async () => (await readdir(join(folder, 'blobs', 'incoming'))).length,
    async close() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
