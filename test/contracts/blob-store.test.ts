import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changeDiskBlob } from '../../src/blobs/__fixtures__/change-disk-blob.ts';
import { openBlobStore } from '../../src/blobs/open-blob-store.ts';
import { describeBlobStoreContract } from './blob-store-contract.ts';

describeBlobStoreContract('on disk', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-blobs-'));
  const store = await openBlobStore({ folder: join(folder, 'blobs'), environment: {} });
  const incoming = join(folder, 'blobs', 'incoming');
  return {
    store,
    countUnfinishedUploads: async () => (await readdir(incoming)).length,
    async getUnfinishedBytes() {
      const files = await Promise.all((await readdir(incoming)).map((name) => stat(join(incoming, name))));
      return files.reduce((sum, { size }) => sum + size, 0);
    },
    changeBytes: (blob, change) => changeDiskBlob(join(folder, 'blobs'), blob, change),
    async close() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
