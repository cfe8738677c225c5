import { Readable } from 'node:stream';
import { ServiceError } from '../core/error.ts';
import { checkRange, createBlobDamagedError, createFileNotFoundError } from './blob-errors.ts';
import type { BlobRange, BlobStore, UnverifiedBlobStore } from './blob-store.ts';
import { BLOB_BLOCK_BYTES } from './limits.ts';
import { BlockMismatch, verifyBlocks, type ExpectedBlocks } from './verify-blocks.ts';

/** Size and hashes of a blob as it was written. */
export interface BlobHashRecord {
  readonly sizeBytes: number;
  /** Joined SHA-256 of the blocks that were requested. */
  readonly hashes: Uint8Array;
}

/** Block numbers from 0, inclusive. Blocks beyond the end of the blob are ignored. */
export interface BlockRange {
  readonly first: number;
  readonly last: number;
}

/** Hashes of all blobs, kept apart from them. */
export interface BlobHashes {
  put(blob: string, record: BlobHashRecord): Promise<void>;
  /** Returns undefined for a blob without hashes: a version of Parley that recorded none wrote it. */
  find(blob: string, blocks?: BlockRange): Promise<BlobHashRecord | undefined>;
  remove(blob: string): Promise<void>;
}

/** How the bytes of a blob differ from those that were written. */
export interface BlobDamage {
  readonly blob: string;
  /** Position of the first wrong block in the blob; undefined if the whole blob is missing. */
  readonly position: number | undefined;
  readonly expected: string;
  readonly found: string;
}

export interface VerifiedBlobStoreDeps {
  readonly hashes: BlobHashes;
  /** Called for each read that found damage. */
  readonly onDamage: (damage: BlobDamage) => void;
}

/**
 * Records the hashes of the blobs that it writes, and verifies what it reads against them, block by block: no byte of
 * a block is returned before the whole block is verified. `read` also throws, and its streams fail with, ServiceError
 * `file-damaged`. `read` returns after the first block is verified.
 *
 * A blob without recorded hashes is read unverified.
 */
export function createVerifiedBlobStore(
  store: UnverifiedBlobStore,
  { hashes, onDamage }: VerifiedBlobStoreDeps,
): BlobStore {
  /** Reports damage, unless the blob was deleted while it was read. */
  const createReadError = async (blob: string, damage: Omit<BlobDamage, 'blob'>): Promise<ServiceError> => {
    if (!(await hashes.find(blob, { first: 0, last: 0 }))) return createFileNotFoundError();
    onDamage({ blob, ...damage });
    return createBlobDamagedError();
  };

  /** @throws ServiceError `file-damaged` if the blob is missing or ends before the range. */
  const openKnown = async (blob: string, range: BlobRange | undefined, sizeBytes: number): Promise<Readable> => {
    try {
      return await store.read(blob, range);
    } catch (thrown) {
      const { kind } = ServiceError.from(thrown);
      const expected = `${sizeBytes} bytes`;
      if (kind === 'file-not-found')
        throw await createReadError(blob, { position: undefined, expected, found: 'no blob' });
      // The record contains the range.
      if (kind === 'invalid-request')
        throw await createReadError(blob, { position: range?.start, expected, found: 'fewer bytes' });
      throw thrown;
    }
  };

  /** Opens the blocks around the range and returns its bytes. */
  const readVerified = async (blob: string, record: BlobHashRecord, range?: BlobRange): Promise<Readable> => {
    const { source: sourceRange, blocks } = locateBlocks(record, range);
    const source = await openKnown(blob, sourceRange, record.sizeBytes);
    const verified = mapMismatch(verifyBlocks(source, blocks), ({ position, expected, found }) =>
      createReadError(blob, { position, expected, found }),
    );
    const pieces = range ? cutBlocks(verified, blocks.start, range) : verified;
    try {
      const first = await pieces.next();
      const stream = Readable.from(continueWith(first, pieces), { objectMode: false, highWaterMark: 1 });
      return stream.once('close', () => source.destroy());
    } catch (thrown) {
      source.destroy();
      throw thrown;
    }
  };

  return {
    ...store,
    async put(name, source, options) {
      const { blockHashes, ...metadata } = await store.put(name, source, options);
      try {
        await hashes.put(name, { sizeBytes: metadata.sizeBytes, hashes: blockHashes });
      } catch (thrown) {
        await store.delete(name).catch(() => undefined); // the garbage collection repeats it
        throw thrown;
      }
      return metadata;
    },
    async read(name, range) {
      if (range) checkRange(range, Number.POSITIVE_INFINITY);
      const record = await hashes.find(name, range && getBlockRange(range));
      if (!record) return await store.read(name, range);
      if (range) checkRange(range, record.sizeBytes);
      return await readVerified(name, record, range);
    },
    async delete(name) {
      // First, so that a reader does not take the deleted blob for a lost one. On a full disk the database may accept
      // this only after the blob has made space.
      const isForgotten = await hashes.remove(name).then(
        () => true,
        () => false,
      );
      await store.delete(name);
      if (!isForgotten) await hashes.remove(name);
    },
  };
}

const getBlockRange = ({ start, end }: BlobRange): BlockRange => ({
  first: Math.floor(start / BLOB_BLOCK_BYTES),
  last: Math.floor(end / BLOB_BLOCK_BYTES),
});

/** Returns the blocks that contain the range, and their range in the blob; undefined to read the whole blob. */
function locateBlocks(
  { sizeBytes, hashes }: BlobHashRecord,
  range: BlobRange | undefined,
): { readonly source: BlobRange | undefined; readonly blocks: ExpectedBlocks } {
  if (!range) return { source: undefined, blocks: { start: 0, sizeBytes, hashes } };
  const { first, last } = getBlockRange(range);
  const start = first * BLOB_BLOCK_BYTES;
  const end = Math.min((last + 1) * BLOB_BLOCK_BYTES, sizeBytes) - 1;
  return { source: { start, end }, blocks: { start, sizeBytes: end - start + 1, hashes } };
}

/** Yields the bytes of the range from blocks of which the first starts at `start`. */
async function* cutBlocks(
  blocks: AsyncIterable<Uint8Array>,
  start: number,
  range: BlobRange,
): AsyncGenerator<Uint8Array> {
  let position = start;
  for await (const block of blocks) {
    const from = Math.max(0, range.start - position);
    const to = Math.min(block.byteLength, range.end + 1 - position);
    position += block.byteLength;
    // The block itself, so that its reader can release its memory.
    yield from === 0 && to === block.byteLength ? block : block.subarray(from, to);
  }
}

async function* mapMismatch(
  blocks: AsyncIterable<Uint8Array>,
  createError: (mismatch: BlockMismatch) => Promise<ServiceError>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* blocks;
  } catch (thrown) {
    throw thrown instanceof BlockMismatch ? await createError(thrown) : thrown;
  }
}

async function* continueWith<T>(first: IteratorResult<T>, rest: AsyncIterable<T>): AsyncGenerator<T> {
  if (first.done === true) return;
  yield first.value;
  yield* rest;
}
