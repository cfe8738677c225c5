// Child process of blobs.test.ts: puts blobs on disk one after another, prints the name and md5 of each stored blob, and
// runs until it is killed.
import { openDiskBlobStore } from '../../src/blobs/disk-blob-store.ts';

const [, , folder, prefix] = process.argv;
if (folder === undefined || prefix === undefined) throw new Error('usage: blobs-child FOLDER PREFIX');
const store = await openDiskBlobStore({ folder });

/** Yields bytes with the blob's number as value (modulo 256), so that the test detects bytes of another blob. */
async function* createBytes(number: number): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < 20; count += 1) {
    yield Buffer.alloc(32 * 1024, number);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

for (let number = 0; ; number += 1) {
  const { md5 } = await store.put(`${prefix}-${number}`, createBytes(number));
  process.stdout.write(`${prefix}-${number} ${md5}\n`);
}
