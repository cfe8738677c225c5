// A process of its own for blobs.test.ts: puts blobs on disk one after the other, tells the name of each that is there, and
// waits to be killed.
import { openDisk } from '../../src/blobs/disk.ts';

const [, , folder, prefix] = process.argv;
if (folder === undefined || prefix === undefined) throw new Error('usage: blobs-child FOLDER PREFIX');
const store = await openDisk({ folder });

/** Each byte of a blob is the last of its number: a blob of another's bytes is found. */
async function* bytesOf(number: number): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < 20; count += 1) {
    yield Buffer.alloc(32 * 1024, number);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

for (let number = 0; ; number += 1) {
  const { md5 } = await store.put(`${prefix}-${number}`, bytesOf(number));
  process.stdout.write(`${prefix}-${number} ${md5}\n`);
}
