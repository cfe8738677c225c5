import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { openDisk } from '../../../blobs/disk.ts';
import { BATCH_READ_BYTES } from '../../../core/limits.ts';
import { readInput } from './read-input.ts';
import { readLines } from './read-lines.ts';

describe('the input of a batch', () => {
  let folder = '';
  let blobs: BlobStore;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-read-input-'));
    blobs = await openDisk({ folder });
  });
  after(() => rm(folder, { recursive: true }));

  const keep = (name: string, text: string) =>
    blobs.put(
      name,
      (async function* () {
        yield Buffer.from(text);
      })(),
    );

  it('is read to its end, also by a reader that gives back the memory of each piece', async () => {
    const lines = Array.from({ length: 12 }, (_, at) => String(at).padEnd(BATCH_READ_BYTES / 4, '.'));
    await keep('large', lines.join('\n'));
    const read: string[] = [];
    for await (const each of readLines(readInput(blobs, 'large'), { lineBytesMax: BATCH_READ_BYTES })) {
      read.push(each.type === 'text' ? each.bytes.toString() : each.why);
    }
    assert.deepEqual(read, lines);
  });

  for (const [what, text] of [
    ['shorter than a piece', 'abc'],
    ['as long as a piece', 'abcd'],
    ['of whole pieces', 'abcdefgh'],
    ['empty', ''],
  ] as const) {
    it(`is whole where it is ${what}`, async () => {
      await keep(what.replaceAll(' ', '-'), text);
      const pieces = await Array.fromAsync(readInput(blobs, what.replaceAll(' ', '-'), 4));
      assert.equal(Buffer.concat(pieces).toString(), text);
    });
  }
});
