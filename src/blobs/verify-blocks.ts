import { createHash } from 'node:crypto';
import { releaseBytes } from '../lib/release-bytes.ts';
import { BLOCK_HASH_BYTES } from './block-hasher.ts';
import { BLOB_BLOCK_BYTES } from './limits.ts';

/** Consecutive blocks as they were written. */
export interface ExpectedBlocks {
  /** Position of the first byte in the blob: a multiple of the block size. */
  readonly start: number;
  readonly sizeBytes: number;
  /** Joined SHA-256 of the blocks. */
  readonly hashes: Uint8Array;
}

/** Difference between stored bytes and what was written. `position`: of the block in the blob. */
export class BlockMismatch extends Error {
  override readonly name = 'BlockMismatch';
  readonly position: number;
  readonly expected: string;
  readonly found: string;

  constructor({ position, expected, found }: { position: number; expected: string; found: string }) {
    super(`the block at ${position} has ${found} instead of ${expected}`);
    this.position = position;
    this.expected = expected;
    this.found = found;
  }
}

/**
 * Yields the blocks of a source, each after its hash was verified. The last one is yielded after the source has ended,
 * so that a source with more bytes than expected does not look complete.
 *
 * @throws BlockMismatch at the first block that has another hash or is missing; errors of the source.
 */
export async function* verifyBlocks(
  source: AsyncIterable<Uint8Array>,
  { start, sizeBytes, hashes }: ExpectedBlocks,
): AsyncGenerator<Uint8Array> {
  const reader = createByteReader(source[Symbol.asyncIterator]());
  for (let at = 0; at < sizeBytes; at += BLOB_BLOCK_BYTES) {
    const blockBytes = Math.min(BLOB_BLOCK_BYTES, sizeBytes - at);
    const position = start + at;
    const block = await reader.take(blockBytes);
    if (block.byteLength < blockBytes) throw createSizeMismatch(position, blockBytes, `${block.byteLength} bytes`);
    const hashAt = (at / BLOB_BLOCK_BYTES) * BLOCK_HASH_BYTES;
    const expected = Buffer.from(hashes.subarray(hashAt, hashAt + BLOCK_HASH_BYTES)).toString('hex');
    const found = createHash('sha256').update(block).digest('hex');
    if (found !== expected)
      throw new BlockMismatch({ position, expected: `sha256 ${expected}`, found: `sha256 ${found}` });
    if (at + blockBytes === sizeBytes) await expectEnd(reader, { position, blockBytes });
    yield block;
  }
  if (sizeBytes === 0) await expectEnd(reader, { position: start, blockBytes: 0 });
}

async function expectEnd(
  { take }: ByteReader,
  { position, blockBytes }: { readonly position: number; readonly blockBytes: number },
): Promise<void> {
  if ((await take(1)).byteLength > 0) throw createSizeMismatch(position, blockBytes, 'more bytes');
}

const createSizeMismatch = (position: number, expectedBytes: number, found: string): BlockMismatch =>
  new BlockMismatch({ position, expected: `${expectedBytes} bytes`, found });

interface ByteReader {
  /** Returns the next bytes: fewer only at the end of the source. */
  take(sizeBytes: number): Promise<Uint8Array>;
}

/** Cuts a source again. A chunk of the wanted size is passed on without a copy; the memory of others is released. */
function createByteReader(source: AsyncIterator<Uint8Array>): ByteReader {
  let rest: { readonly chunk: Uint8Array; at: number } | undefined;
  const readChunk = async (): Promise<{ readonly chunk: Uint8Array; at: number } | undefined> => {
    if (rest) return rest;
    const step = await source.next();
    return step.done === true ? undefined : (rest = { chunk: step.value, at: 0 });
  };
  return {
    async take(sizeBytes) {
      const first = await readChunk();
      if (!first) return new Uint8Array(0);
      if (first.at === 0 && first.chunk.byteLength === sizeBytes) {
        rest = undefined;
        return first.chunk;
      }
      const bytes = Buffer.allocUnsafeSlow(sizeBytes);
      let filled = 0;
      for (let from: typeof rest = first; from && filled < sizeBytes; from = await readChunk()) {
        const part = from.chunk.subarray(from.at, from.at + sizeBytes - filled);
        bytes.set(part, filled);
        filled += part.byteLength;
        from.at += part.byteLength;
        if (from.at < from.chunk.byteLength) break;
        releaseBytes(from.chunk);
        rest = undefined;
        if (filled === sizeBytes) break;
      }
      return filled === sizeBytes ? bytes : bytes.subarray(0, filled);
    },
  };
}
