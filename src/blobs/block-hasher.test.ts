import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { createBlockHasher } from './block-hasher.ts';
import { BLOB_BLOCK_BYTES } from './limits.ts';

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

describe('block hasher', () => {
  for (const sizeBytes of [0, 1, BLOB_BLOCK_BYTES, BLOB_BLOCK_BYTES + 1, 2 * BLOB_BLOCK_BYTES]) {
    it(`returns the hash of each block of ${sizeBytes} bytes, however they are cut`, () => {
      const bytes = Buffer.alloc(sizeBytes, 'parley');
      const expected: Buffer[] = [];
      for (let at = 0; at < sizeBytes; at += BLOB_BLOCK_BYTES)
        expected.push(sha256(bytes.subarray(at, at + BLOB_BLOCK_BYTES)));
      for (const pieceBytes of [sizeBytes || 1, 65_536, 99_991]) {
        const hasher = createBlockHasher();
        for (let at = 0; at < sizeBytes; at += pieceBytes) hasher.update(bytes.subarray(at, at + pieceBytes));
        assert.deepEqual(hasher.digest(), Buffer.concat(expected));
      }
    });
  }
});
