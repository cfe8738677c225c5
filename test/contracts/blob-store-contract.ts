import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { flipBitAt } from '../../src/blobs/__fixtures__/change-disk-blob.ts';
import type { BlobStore, UnverifiedBlobStore } from '../../src/blobs/blob-store.ts';
import { BLOB_BLOCK_BYTES } from '../../src/blobs/limits.ts';
import {
  createVerifiedBlobStore,
  type BlobDamage,
  type BlobHashes,
  type BlobHashRecord,
} from '../../src/blobs/verified-blob-store.ts';
import { ServiceError } from '../../src/core/error.ts';
import { releaseBytes } from '../../src/lib/release-bytes.ts';
import { until } from '../until.ts';

export interface BlobStoreUnderTest {
  readonly store: UnverifiedBlobStore;
  /** Counts uploads that are neither complete nor removed: temporary files, multipart uploads. */
  readonly countUnfinishedUploads: () => Promise<number>;
  /** Returns the number of bytes that those uploads have stored. */
  readonly getUnfinishedBytes: () => Promise<number>;
  /** Changes the stored bytes of a blob without the store; undefined removes them. */
  changeBytes(blob: string, change: (bytes: Buffer) => Buffer | undefined): Promise<void>;
  close(): Promise<void>;
}

const WAIT = { timeoutMs: 20_000 };

/** Size of two multipart parts, the same for every store. */
const TWO_PARTS_BYTES = 2 * 5 * 1024 * 1024;

/** More than two parts. */
const LARGE_BYTES = 12 * 1024 * 1024 + 345;

const md5 = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');

/** Creates bytes without repetition, so that misplaced bytes are detected. */
function createPattern(sizeBytes: number, seed = 1): Buffer {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  let state = seed;
  for (let at = 0; at < sizeBytes; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

async function* splitIntoChunks(bytes: Uint8Array, pieceBytes = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
    await yieldToEventLoop();
    yield bytes.subarray(at, at + pieceBytes);
  }
}

async function* failAfter(bytes: Uint8Array, error: Error): AsyncGenerator<Uint8Array> {
  yield* splitIntoChunks(bytes);
  throw error;
}

/** Yields the bytes and then stalls forever. `stalled` resolves when the source stalls. */
function stallAfter(bytes: Uint8Array): { source: AsyncIterable<Uint8Array>; stalled: Promise<void> } {
  const { promise: silent, resolve } = Promise.withResolvers<void>();
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* splitIntoChunks(bytes);
    resolve();
    await new Promise(() => undefined);
  }
  return { source: source(), stalled: silent };
}

const isKind = (kind: string) => (error: unknown) => error instanceof ServiceError && error.kind === kind;

/** Runs the contract of every blob store. */
export function describeBlobStoreContract(
  name: string,
  open: () => Promise<BlobStoreUnderTest>,
  skip: string | false = false,
): void {
  describe(`blob store contract: ${name}`, { skip }, () => {
    let opened: BlobStoreUnderTest | undefined;
    let verified: BlobStore | undefined;
    const blobHashes = createInMemoryBlobHashes();
    const damages: BlobDamage[] = [];
    const getOpened = (): BlobStoreUnderTest => {
      assert.ok(opened);
      return opened;
    };
    const getStore = (): BlobStore => {
      assert.ok(verified);
      return verified;
    };
    before(async () => {
      opened = await open();
      verified = createVerifiedBlobStore(opened.store, {
        hashes: blobHashes,
        onDamage: (damage) => damages.push(damage),
      });
    });
    after(() => opened?.close());

    const readAll = async (blob: string, range?: { start: number; end: number }): Promise<Buffer> =>
      buffer(await getStore().read(blob, range));
    const isListed = async (blob: string): Promise<boolean> => {
      for await (const entry of getStore().list()) if (entry.name === blob) return true;
      return false;
    };
    const assertNothingLeft = async (blob: string): Promise<void> => {
      await assert.rejects(getStore().read(blob), isKind('file-not-found'));
      assert.equal(await isListed(blob), false);
      assert.equal(await getOpened().countUnfinishedUploads(), 0);
    };

    for (const [description, sizeBytes] of [
      ['an empty blob', 0],
      ['a blob of one byte', 1],
      ['a large blob', LARGE_BYTES],
      ['a blob of exactly two parts', TWO_PARTS_BYTES],
    ] as const) {
      it(`stores and returns ${description}, with its size and md5`, async () => {
        const bytes = createPattern(sizeBytes);
        const blob = `file-size-${sizeBytes}`;
        const stored = await getStore().put(blob, splitIntoChunks(bytes));
        assert.deepEqual(stored, { sizeBytes, md5: md5(bytes) });
        assert.ok((await readAll(blob)).equals(bytes));
        assert.equal(await getOpened().countUnfinishedUploads(), 0);
      });
    }

    it('accepts chunks of any size, also empty ones and those larger than a part', async () => {
      const bytes = createPattern(LARGE_BYTES, 7);
      async function* createUnevenChunks(): AsyncGenerator<Uint8Array> {
        yield new Uint8Array(0);
        yield bytes.subarray(0, 11 * 1024 * 1024);
        await yieldToEventLoop();
        yield new Uint8Array(0);
        yield bytes.subarray(11 * 1024 * 1024);
      }
      const stored = await getStore().put('file-odd-pieces', createUnevenChunks());
      assert.deepEqual(stored, { sizeBytes: LARGE_BYTES, md5: md5(bytes) });
      assert.ok((await readAll('file-odd-pieces')).equals(bytes));
    });

    it('reads ranges with inclusive ends, and truncates a range at the end of the blob', async () => {
      const bytes = createPattern(1_000);
      await getStore().put('file-ranges', splitIntoChunks(bytes, 100));
      for (const [start, end] of [
        [0, 0],
        [0, 999],
        [10, 19],
        [999, 999],
        [990, 5_000],
      ] as const) {
        assert.deepEqual(
          await readAll('file-ranges', { start, end }),
          bytes.subarray(start, end + 1),
          `${start}-${end}`,
        );
      }
    });

    it('keeps no reference to a chunk: one reader may release its memory while others read every byte', async () => {
      const bytes = createPattern(LARGE_BYTES, 11);
      await getStore().put('file-released', splitIntoChunks(bytes));
      const readAndRelease = async (): Promise<string> => {
        const hash = createHash('md5');
        for await (const chunk of await getStore().read('file-released')) {
          hash.update(chunk);
          releaseBytes(chunk);
        }
        return hash.digest('hex');
      };
      assert.deepEqual(await Promise.all([readAndRelease(), readAndRelease()]), [md5(bytes), md5(bytes)]);
      assert.equal(await readAndRelease(), md5(bytes));
    });

    it('rejects a range that contains no byte of the blob', async () => {
      await getStore().put('file-short', splitIntoChunks(createPattern(10)));
      await getStore().put('file-nothing', splitIntoChunks(createPattern(0)));
      for (const [blob, start, end] of [
        ['file-short', 10, 20],
        ['file-short', 5, 4],
        ['file-short', -1, 4],
        ['file-nothing', 0, 0],
      ] as const) {
        await assert.rejects(
          getStore().read(blob, { start, end }),
          isKind('invalid-request'),
          `${blob} ${start}-${end}`,
        );
      }
    });

    it('rejects reading a blob that was never stored', async () => {
      await assert.rejects(getStore().read('file-never'), isKind('file-not-found'));
      await assert.rejects(getStore().read('file-never', { start: 0, end: 1 }), isKind('file-not-found'));
    });

    it('deletes a blob, and deletes it again without effect', async () => {
      await getStore().put('file-deleted', splitIntoChunks(createPattern(10)));
      await getStore().delete('file-deleted');
      await getStore().delete('file-deleted');
      await getStore().delete('file-never');
      await assertNothingLeft('file-deleted');
    });

    it('lists every blob once, with its size and modification time', async () => {
      const startedAt = Date.now();
      const names = Array.from({ length: 30 }, (_, index) => `listed_${index}`);
      await Promise.all(names.map((blob) => getStore().put(blob, splitIntoChunks(createPattern(3)))));
      const found: string[] = [];
      for await (const { name: blob, sizeBytes, changedAt } of getStore().list()) {
        if (!blob.startsWith('listed_')) continue;
        found.push(blob);
        assert.equal(sizeBytes, 3);
        // Some stores return times in whole seconds.
        assert.ok(
          changedAt > startedAt - 2_000 && changedAt < Date.now() + 2_000,
          `${changedAt} is not close to ${startedAt}`,
        );
      }
      assert.deepEqual(found.toSorted(), names.toSorted());
    });

    for (const [moment, sizeBytes] of [
      ['at once', 0],
      ['early', 100_000],
      ['late', LARGE_BYTES],
    ] as const) {
      it(`leaves nothing behind when the source fails ${moment}, and rejects with the same error`, async () => {
        const blob = `file-broken-${sizeBytes}`;
        const failure = new Error('the sender went away');
        await assert.rejects(getStore().put(blob, failAfter(createPattern(sizeBytes), failure)), failure);
        await assertNothingLeft(blob);
      });

      it(`leaves nothing behind when an upload is aborted ${moment}, also while its source stalls`, async () => {
        const blob = `file-aborted-${sizeBytes}`;
        const { source, stalled } = stallAfter(createPattern(sizeBytes));
        const controller = new AbortController();
        const reason = new ServiceError('cancelled', 'The request was cancelled.');
        const put = getStore().put(blob, source, { signal: controller.signal });
        void stalled.then(() => controller.abort(reason));
        await assert.rejects(put, reason);
        await assertNothingLeft(blob);
      });
    }

    it('starts no upload with an aborted signal', async () => {
      const reason = new Error('too late');
      const put = getStore().put('file-too-late', splitIntoChunks(createPattern(10)), {
        signal: AbortSignal.abort(reason),
      });
      await assert.rejects(put, reason);
      await assertNothingLeft('file-too-late');
    });

    it('checks the size before each chunk, and leaves nothing behind when the check fails midway', async () => {
      const refusal = new ServiceError('too-large', 'A file must not be larger than 11 MB.');
      const checkedSizes: number[] = [];
      const limitSize = async (sizeBytes: number): Promise<void> => {
        checkedSizes.push(sizeBytes);
        if (sizeBytes > 11 * 1024 * 1024) throw refusal;
      };
      await assert.rejects(
        getStore().put('file-refused', splitIntoChunks(createPattern(LARGE_BYTES)), { checkSize: limitSize }),
        refusal,
      );
      assert.equal(checkedSizes[0], 65_536);
      assert.equal(checkedSizes.length, 11 * 16 + 1);
      await assertNothingLeft('file-refused');
    });

    it('stores fifty concurrent uploads correctly while every fifth fails', async () => {
      const sizes = Array.from({ length: 50 }, (_, index) => 1_000 + index * 20_011);
      const results = await Promise.allSettled(
        sizes.map((sizeBytes, index) => {
          const bytes = createPattern(sizeBytes, index + 1);
          const source = index % 5 === 0 ? failAfter(bytes, new Error('cut')) : splitIntoChunks(bytes);
          return getStore().put(`many_${index}`, source);
        }),
      );
      for (const [index, sizeBytes] of sizes.entries()) {
        const bytes = createPattern(sizeBytes, index + 1);
        const result = results[index];
        if (index % 5 === 0) {
          assert.equal(result?.status, 'rejected');
          await assert.rejects(getStore().read(`many_${index}`), isKind('file-not-found'));
        } else {
          assert.ok(result?.status === 'fulfilled');
          assert.deepEqual(result.value, { sizeBytes, md5: md5(bytes) });
          assert.ok((await readAll(`many_${index}`)).equals(bytes), `many_${index}`);
        }
      }
      assert.equal(await getOpened().countUnfinishedUploads(), 0);
    });

    it('does not list or read a blob before it is complete', async () => {
      const { source, stalled } = stallAfter(createPattern(LARGE_BYTES));
      const controller = new AbortController();
      const put = getStore().put('file-growing', source, { signal: controller.signal });
      put.catch(() => undefined);
      await stalled;
      await until('the upload has started', WAIT, async () =>
        (await getOpened().countUnfinishedUploads()) > 0 ? true : undefined,
      );
      await assert.rejects(getStore().read('file-growing'), isKind('file-not-found'));
      assert.equal(await isListed('file-growing'), false);
      controller.abort(new Error('enough'));
      await assert.rejects(put, /enough/);
    });

    it('aborts the upload with a name, and no other upload', async () => {
      const bytes = createPattern(LARGE_BYTES);
      const { promise: more, resolve: resume } = Promise.withResolvers<void>();
      async function* paused(): AsyncGenerator<Uint8Array> {
        yield* splitIntoChunks(bytes.subarray(0, LARGE_BYTES - 10));
        await more;
        yield bytes.subarray(LARGE_BYTES - 10);
      }
      const names = ['file-dead', 'file-dead-not'] as const;
      const puts = names.map((each) => getStore().put(each, paused()));
      for (const put of puts) put.catch(() => undefined);
      // Some servers let an upload continue when a part arrives after its abort.
      await until('all complete parts are stored', WAIT, async () =>
        (await getOpened().getUnfinishedBytes()) >= names.length * TWO_PARTS_BYTES ? true : undefined,
      );
      await getStore().abortUpload('file-dead');
      assert.equal(await getOpened().countUnfinishedUploads(), 1);
      resume();
      await assert.rejects(puts[0] ?? Promise.resolve());
      assert.deepEqual(await puts[1], { sizeBytes: LARGE_BYTES, md5: md5(bytes) });
      await assertNothingLeft('file-dead');
      await getStore().abortUpload('file-dead-not');
      await getStore().abortUpload('file-never');
      assert.ok((await readAll('file-dead-not')).equals(bytes), 'an abort changes no stored blob');
    });

    it('removes stale uploads and keeps recent ones, which complete', async () => {
      const bytes = createPattern(LARGE_BYTES);
      const { promise: more, resolve: resume } = Promise.withResolvers<void>();
      async function* paused(): AsyncGenerator<Uint8Array> {
        yield* splitIntoChunks(bytes.subarray(0, LARGE_BYTES - 10));
        await more;
        yield bytes.subarray(LARGE_BYTES - 10);
      }
      const put = getStore().put('file-young', paused());
      await until('the upload has started', WAIT, async () =>
        (await getOpened().countUnfinishedUploads()) > 0 ? true : undefined,
      );
      assert.equal(await getStore().removeStaleUploads(Date.now() - 60_000), 0);
      resume();
      assert.deepEqual(await put, { sizeBytes: LARGE_BYTES, md5: md5(bytes) });
      assert.ok((await readAll('file-young')).equals(bytes));

      const { source, stalled } = stallAfter(bytes);
      const controller = new AbortController();
      const old = getStore().put('file-old', source, { signal: controller.signal });
      old.catch(() => undefined);
      await stalled;
      await until('the upload has started', WAIT, async () =>
        (await getOpened().countUnfinishedUploads()) > 0 ? true : undefined,
      );
      assert.equal(await getStore().removeStaleUploads(Date.now() + 60_000), 1);
      controller.abort(new Error('enough'));
      await assert.rejects(old);
      // A part in transit during the removal may need a second removal.
      await until('the stale upload is removed', WAIT, async () => {
        await getStore().removeStaleUploads(Date.now() + 60_000);
        return (await getOpened().countUnfinishedUploads()) === 0 ? true : undefined;
      });
      await assertNothingLeft('file-old');
      assert.equal(await getStore().removeStaleUploads(Date.now() + 60_000), 0);
      assert.ok((await readAll('file-young')).equals(bytes), 'the removal changes no stored blob');
    });

    it('rejects names with other characters or more than 128 of them, in every operation', async () => {
      const names = [
        '',
        '.',
        '..',
        '../file-x',
        'a/b',
        'a\\b',
        'a b',
        'ä',
        'a\0',
        'a%2fb',
        'a.b',
        'x'.repeat(129),
        '\n',
      ];
      for (const invalidName of names) {
        const isInternal = isKind('internal');
        await assert.rejects(
          async () => getStore().put(invalidName, splitIntoChunks(createPattern(1))),
          isInternal,
          JSON.stringify(invalidName),
        );
        await assert.rejects(async () => getStore().read(invalidName), isInternal, JSON.stringify(invalidName));
        await assert.rejects(async () => getStore().delete(invalidName), isInternal, JSON.stringify(invalidName));
        await assert.rejects(async () => getStore().abortUpload(invalidName), isInternal, JSON.stringify(invalidName));
      }
      await getStore().put('x'.repeat(128), splitIntoChunks(createPattern(1)));
      assert.equal((await readAll('x'.repeat(128))).length, 1);
    });

    it('allows a reader to stop in the middle of a blob', async () => {
      await getStore().put('file-left', splitIntoChunks(createPattern(LARGE_BYTES)));
      for (let count = 0; count < 60; count += 1) {
        const stream = await getStore().read('file-left');
        for await (const _ of stream) break;
        stream.destroy();
      }
      assert.equal((await readAll('file-left')).length, LARGE_BYTES);
    });

    describe('with damaged bytes', () => {
      const bytes = createPattern(3 * BLOB_BLOCK_BYTES + 100);
      const putDamaged = async (blob: string, change: (stored: Buffer) => Buffer | undefined): Promise<string> => {
        await getStore().put(blob, splitIntoChunks(bytes));
        await getOpened().changeBytes(blob, change);
        damages.length = 0;
        return blob;
      };
      const isDamaged = isKind('file-damaged');

      /** Reads until the end or a failure. */
      const readUntilFailure = async (
        blob: string,
        range?: { start: number; end: number },
      ): Promise<{ received: Buffer; error: unknown }> => {
        const received: Uint8Array[] = [];
        try {
          for await (const chunk of await getStore().read(blob, range)) received.push(chunk as Uint8Array);
          return { received: Buffer.concat(received), error: undefined };
        } catch (error) {
          return { received: Buffer.concat(received), error };
        }
      };

      it('returns no byte of a block with a flipped bit, and reports its position and hashes', async () => {
        const blob = await putDamaged('file-flipped', flipBitAt(2 * BLOB_BLOCK_BYTES + 7));
        const { received, error } = await readUntilFailure(blob);
        assert.ok(isDamaged(error), String(error));
        assert.ok(received.equals(bytes.subarray(0, 2 * BLOB_BLOCK_BYTES)));
        const [damage] = damages;
        assert.equal(damages.length, 1);
        assert.deepEqual([damage?.blob, damage?.position], [blob, 2 * BLOB_BLOCK_BYTES]);
        assert.match(`${damage?.expected} ${damage?.found}`, /^sha256 ([\da-f]{64}) sha256 (?!\1)[\da-f]{64}$/);
      });

      it('fails before the stream is returned when the first block is damaged', async () => {
        const blob = await putDamaged('file-flipped-first', flipBitAt(0));
        await assert.rejects(getStore().read(blob), isDamaged);
      });

      it('verifies every block that a range touches, and no other', async () => {
        const blob = await putDamaged('file-flipped-range', flipBitAt(BLOB_BLOCK_BYTES + 9));
        const before = { start: 5, end: BLOB_BLOCK_BYTES - 1 };
        assert.ok((await readAll(blob, before)).equals(bytes.subarray(5, BLOB_BLOCK_BYTES)));
        const after = { start: 2 * BLOB_BLOCK_BYTES + 1, end: bytes.length + 50 };
        assert.ok((await readAll(blob, after)).equals(bytes.subarray(after.start)));
        assert.equal(damages.length, 0);
        // The range ends before the flipped byte of the block.
        const { received, error } = await readUntilFailure(blob, { start: 5, end: BLOB_BLOCK_BYTES + 3 });
        assert.ok(isDamaged(error), String(error));
        assert.ok(received.equals(bytes.subarray(5, BLOB_BLOCK_BYTES)));
      });

      for (const [description, change] of [
        ['cut at a block', (stored) => stored.subarray(0, 2 * BLOB_BLOCK_BYTES)],
        ['cut within its last block', (stored) => stored.subarray(0, -1)],
        ['longer than it was written', (stored) => Buffer.concat([stored, Buffer.from('x')])],
        ['empty', () => Buffer.alloc(0)],
      ] satisfies [string, (stored: Buffer) => Buffer][]) {
        it(`never returns all bytes of a blob that is ${description}`, async () => {
          const blob = await putDamaged(`file-${description.replaceAll(' ', '-')}`, change);
          const { received, error } = await readUntilFailure(blob);
          assert.ok(isDamaged(error), String(error));
          assert.ok(received.length < bytes.length);
          assert.equal(damages.length, 1);
        });
      }

      it('reports a blob that ends before the range', async () => {
        const blob = await putDamaged('file-short', (stored) => stored.subarray(0, 10));
        await assert.rejects(getStore().read(blob, { start: bytes.length - 5, end: bytes.length }), isDamaged);
        assert.equal(damages.length, 1);
      });

      it('reports a missing blob, and does not confuse it with a deleted one', async () => {
        const blob = await putDamaged('file-lost', () => undefined);
        await assert.rejects(getStore().read(blob), isDamaged);
        assert.deepEqual(
          damages.map(({ position, found }) => ({ position, found })),
          [{ position: undefined, found: 'no blob' }],
        );
        await getStore().delete(blob);
        await assert.rejects(getStore().read(blob), isKind('file-not-found'));
        assert.equal(damages.length, 1);
      });

      it('reads a blob without recorded hashes as it is', async () => {
        const blob = await putDamaged('file-old', flipBitAt(1));
        await blobHashes.remove(blob);
        assert.equal((await readAll(blob)).length, bytes.length);
        assert.equal(damages.length, 0);
      });

      it('leaves no blob without hashes', async () => {
        const failure = new Error('the database is gone');
        const store = createVerifiedBlobStore(getOpened().store, {
          hashes: { ...blobHashes, put: () => Promise.reject(failure) },
          onDamage: () => undefined,
        });
        await assert.rejects(store.put('file-unhashed', splitIntoChunks(bytes)), failure);
        await assertNothingLeft('file-unhashed');
      });

      it('deletes a blob also when its hashes can be removed only afterwards', async () => {
        let failures = 1;
        const store = createVerifiedBlobStore(getOpened().store, {
          hashes: {
            ...blobHashes,
            remove: (blob) => (failures-- > 0 ? Promise.reject(new Error('disk is full')) : blobHashes.remove(blob)),
          },
          onDamage: () => undefined,
        });
        await store.put('file-removed', splitIntoChunks(bytes));
        await store.delete('file-removed');
        await assertNothingLeft('file-removed');
      });
    });
  });
}

/** Keeps hashes as the database does. */
function createInMemoryBlobHashes(): BlobHashes {
  const records = new Map<string, BlobHashRecord>();
  return {
    put: async (blob, record) => void records.set(blob, record),
    async find(blob, blocks) {
      const record = records.get(blob);
      if (!record || !blocks) return record;
      return { ...record, hashes: record.hashes.subarray(blocks.first * 32, (blocks.last + 1) * 32) };
    },
    remove: async (blob) => void records.delete(blob),
  };
}
