import { createHash, type Hash } from 'node:crypto';
import { BLOB_BLOCK_BYTES } from './limits.ts';

/** Bytes of a SHA-256. */
export const BLOCK_HASH_BYTES = 32;

/** Hashes bytes that arrive in pieces of any size, block by block. */
export interface BlockHasher {
  update(piece: Uint8Array): void;
  /** Returns the SHA-256 of each block, in order and joined; empty without bytes. Call it once, at the end. */
  digest(): Uint8Array;
}

export function createBlockHasher(): BlockHasher {
  const hashes: Uint8Array[] = [];
  let block: { readonly hash: Hash; sizeBytes: number } | undefined;
  return {
    update(piece) {
      for (let remaining = piece; remaining.byteLength > 0;) {
        block ??= { hash: createHash('sha256'), sizeBytes: 0 };
        const chunk = remaining.subarray(0, BLOB_BLOCK_BYTES - block.sizeBytes);
        block.hash.update(chunk);
        block.sizeBytes += chunk.byteLength;
        remaining = remaining.subarray(chunk.byteLength);
        if (block.sizeBytes < BLOB_BLOCK_BYTES) continue;
        hashes.push(block.hash.digest());
        block = undefined;
      }
    },
    digest() {
      if (block) hashes.push(block.hash.digest());
      return Buffer.concat(hashes);
    },
  };
}
