import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

/** Three hashes that differ in every byte. */
const HASHES = Buffer.concat([1, 2, 3].map((value) => Buffer.alloc(32, value)));

describeOnDialects('hashes of blobs', ({ onOpen }) => {
  let store: Store;
  onOpen((opened) => void ({ store } = opened));

  const find = async (blob: string, blocks?: { first: number; last: number }) => {
    const record = await store.blobHashes.find(blob, blocks);
    return record && { sizeBytes: record.sizeBytes, hashes: Buffer.from(record.hashes).toString('hex') };
  };
  const hex = (from: number, to: number): string => HASHES.subarray(from * 32, to * 32).toString('hex');

  it('returns the hashes of all blocks, or of some', async () => {
    const sizeBytes = 5_000_000_000;
    await store.blobHashes.put('blob-1', { sizeBytes, hashes: HASHES });
    assert.deepEqual(await find('blob-1'), { sizeBytes, hashes: hex(0, 3) });
    assert.deepEqual(await find('blob-1', { first: 0, last: 0 }), { sizeBytes, hashes: hex(0, 1) });
    assert.deepEqual(await find('blob-1', { first: 1, last: 1 }), { sizeBytes, hashes: hex(1, 2) });
    assert.deepEqual(await find('blob-1', { first: 1, last: 2 ** 40 }), { sizeBytes, hashes: hex(1, 3) });
    assert.equal(await find('blob-2'), undefined);
  });

  it('records a blob without bytes', async () => {
    await store.blobHashes.put('blob-empty', { sizeBytes: 0, hashes: new Uint8Array() });
    assert.deepEqual(await find('blob-empty', { first: 0, last: 0 }), { sizeBytes: 0, hashes: '' });
  });

  it('replaces the hashes of a repeated write, and removes them', async () => {
    await store.blobHashes.put('blob-again', { sizeBytes: 1, hashes: HASHES.subarray(0, 32) });
    await store.blobHashes.put('blob-again', { sizeBytes: 2, hashes: HASHES.subarray(32, 64) });
    assert.deepEqual(await find('blob-again'), { sizeBytes: 2, hashes: hex(1, 2) });
    await store.blobHashes.remove('blob-again');
    await store.blobHashes.remove('blob-again');
    assert.equal(await find('blob-again'), undefined);
  });
});
