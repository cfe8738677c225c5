import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { openDiskBlobStore } from '../../../blobs/disk-blob-store.ts';
import { BATCH_READ_BYTES } from './limits.ts';
import { readInput } from './read-input.ts';
import { readLines } from './read-lines.ts';

describe('readInput', () => {
  let folder = '';
  let blobs: BlobStore;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-read-input-'));
    blobs = await openDiskBlobStore({ folder });
  });
  after(() => rm(folder, { recursive: true }));

  const putBlob = (name: string, text: string) =>
    blobs.put(
      name,
      (async function* () {
        yield Buffer.from(text);
      })(),
    );

  it('reads to the end even if the reader releases the memory of each piece', async () => {
    const lines = Array.from({ length: 12 }, (_, at) => String(at).padEnd(BATCH_READ_BYTES / 4, '.'));
    await putBlob('large', lines.join('\n'));
    const read: string[] = [];
    for await (const each of readLines(readInput(blobs, 'large'), { lineBytesMax: BATCH_READ_BYTES })) {
      read.push(each.type === 'text' ? each.bytes.toString() : each.reason);
    }
    assert.deepEqual(read, lines);
  });

  for (const [what, text] of [
    ['shorter than a piece', 'abc'],
    ['as long as a piece', 'abcd'],
    ['of whole pieces', 'abcdefgh'],
    ['empty', ''],
  ] as const) {
    it(`reads an input that is ${what}`, async () => {
      await putBlob(what.replaceAll(' ', '-'), text);
      const pieces = await Array.fromAsync(readInput(blobs, what.replaceAll(' ', '-'), 4));
      assert.equal(Buffer.concat(pieces).toString(), text);
    });
  }
});
