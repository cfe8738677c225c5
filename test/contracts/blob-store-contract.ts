import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { ServiceError } from '../../src/core/error.ts';
import { releaseBytes } from '../../src/lib/release-bytes.ts';
import { until } from '../until.ts';

export interface BlobStorePlace {
  readonly store: BlobStore;
  /** How many uploads have begun and are neither there nor gone: temporaries, parts. */
  readonly leftOvers: () => Promise<number>;
  /** How many bytes of such uploads are there. */
  readonly leftBytes: () => Promise<number>;
  close(): Promise<void>;
}

const PATIENCE = { withinMs: 20_000 };

/** Two parts of any store. */
const TWO_PARTS_BYTES = 2 * 5 * 1024 * 1024;

/** More than that. */
const LARGE_BYTES = 12 * 1024 * 1024 + 345;

const md5 = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');

/** Not the same anywhere, so that bytes in a wrong place are found. */
function patternOf(sizeBytes: number, seed = 1): Buffer {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  let state = seed;
  for (let at = 0; at < sizeBytes; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

async function* inPieces(bytes: Uint8Array, pieceBytes = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
    await turn();
    yield bytes.subarray(at, at + pieceBytes);
  }
}

async function* breaksAfter(bytes: Uint8Array, error: Error): AsyncGenerator<Uint8Array> {
  yield* inPieces(bytes);
  throw error;
}

/** Says nothing more after these bytes, and tells when it has come so far. */
function fallsSilent(bytes: Uint8Array): { source: AsyncIterable<Uint8Array>; silent: Promise<void> } {
  const { promise: silent, resolve } = Promise.withResolvers<void>();
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* inPieces(bytes);
    resolve();
    await new Promise(() => undefined);
  }
  return { source: source(), silent };
}

const isKind = (kind: string) => (error: unknown) => error instanceof ServiceError && error.kind === kind;

/** One promise for every store of blobs: what passes here on one passes on all. */
export function blobStoreContract(
  name: string,
  open: () => Promise<BlobStorePlace>,
  skip: string | false = false,
): void {
  describe(`blobs ${name}`, { skip }, () => {
    let place: BlobStorePlace | undefined;
    const of = (): BlobStorePlace => {
      assert.ok(place);
      return place;
    };
    const store = (): BlobStore => of().store;
    before(async () => {
      place = await open();
    });
    after(() => place?.close());

    const readAll = async (blob: string, range?: { start: number; end: number }): Promise<Buffer> =>
      buffer(await store().read(blob, range));
    const isThere = async (blob: string): Promise<boolean> => {
      for await (const entry of store().list()) if (entry.name === blob) return true;
      return false;
    };
    const nothingOf = async (blob: string): Promise<void> => {
      await assert.rejects(store().read(blob), isKind('file-not-found'));
      assert.equal(await isThere(blob), false);
      assert.equal(await of().leftOvers(), 0);
    };

    for (const [what, sizeBytes] of [
      ['empty', 0],
      ['of one byte', 1],
      ['large', LARGE_BYTES],
      ['of exactly two parts', TWO_PARTS_BYTES],
    ] as const) {
      it(`gives back a blob that is ${what}, with its size and md5`, async () => {
        const bytes = patternOf(sizeBytes);
        const blob = `file-size-${sizeBytes}`;
        const facts = await store().put(blob, inPieces(bytes));
        assert.deepEqual(facts, { sizeBytes, md5: md5(bytes) });
        assert.ok((await readAll(blob)).equals(bytes));
        assert.equal(await of().leftOvers(), 0);
      });
    }

    it('takes pieces of any size, also larger than a part and without a byte', async () => {
      const bytes = patternOf(LARGE_BYTES, 7);
      async function* odd(): AsyncGenerator<Uint8Array> {
        yield new Uint8Array(0);
        yield bytes.subarray(0, 11 * 1024 * 1024);
        await turn();
        yield new Uint8Array(0);
        yield bytes.subarray(11 * 1024 * 1024);
      }
      const facts = await store().put('file-odd-pieces', odd());
      assert.deepEqual(facts, { sizeBytes: LARGE_BYTES, md5: md5(bytes) });
      assert.ok((await readAll('file-odd-pieces')).equals(bytes));
    });

    it('reads ranges, both ends counted, and leaves out what lies beyond the end', async () => {
      const bytes = patternOf(1_000);
      await store().put('file-ranges', inPieces(bytes, 100));
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

    it('keeps no chunk that it gave: whoever reads gives its memory back, and others have every byte', async () => {
      const bytes = patternOf(LARGE_BYTES, 11);
      await store().put('file-released', inPieces(bytes));
      const readOn = async (): Promise<string> => {
        const hash = createHash('md5');
        for await (const chunk of await store().read('file-released')) {
          hash.update(chunk);
          releaseBytes(chunk);
        }
        return hash.digest('hex');
      };
      assert.deepEqual(await Promise.all([readOn(), readOn()]), [md5(bytes), md5(bytes)]);
      assert.equal(await readOn(), md5(bytes));
    });

    it('refuses a range of which no byte is there', async () => {
      await store().put('file-short', inPieces(patternOf(10)));
      await store().put('file-nothing', inPieces(patternOf(0)));
      for (const [blob, start, end] of [
        ['file-short', 10, 20],
        ['file-short', 5, 4],
        ['file-short', -1, 4],
        ['file-nothing', 0, 0],
      ] as const) {
        await assert.rejects(store().read(blob, { start, end }), isKind('invalid-request'), `${blob} ${start}-${end}`);
      }
    });

    it('finds no blob that was never put', async () => {
      await assert.rejects(store().read('file-never'), isKind('file-not-found'));
      await assert.rejects(store().read('file-never', { start: 0, end: 1 }), isKind('file-not-found'));
    });

    it('deletes a blob, and once more without effect', async () => {
      await store().put('file-deleted', inPieces(patternOf(10)));
      await store().delete('file-deleted');
      await store().delete('file-deleted');
      await store().delete('file-never');
      await nothingOf('file-deleted');
    });

    it('lists every blob once, with the time of its change', async () => {
      const began = Date.now();
      const names = Array.from({ length: 30 }, (_, index) => `listed_${index}`);
      await Promise.all(names.map((blob) => store().put(blob, inPieces(patternOf(3)))));
      const found: string[] = [];
      for await (const { name: blob, changedAt } of store().list()) {
        if (!blob.startsWith('listed_')) continue;
        found.push(blob);
        // Some stores tell whole seconds.
        assert.ok(changedAt > began - 2_000 && changedAt < Date.now() + 2_000, `${changedAt} is not about ${began}`);
      }
      assert.deepEqual(found.toSorted(), names.toSorted());
    });

    for (const [what, sizeBytes] of [
      ['at once', 0],
      ['early', 100_000],
      ['late', LARGE_BYTES],
    ] as const) {
      it(`leaves nothing of a source that fails ${what}, and throws what it threw`, async () => {
        const blob = `file-broken-${sizeBytes}`;
        const broken = new Error('the sender went away');
        await assert.rejects(store().put(blob, breaksAfter(patternOf(sizeBytes), broken)), broken);
        await nothingOf(blob);
      });

      it(`leaves nothing of an upload that is aborted ${what}, also while its source is silent`, async () => {
        const blob = `file-aborted-${sizeBytes}`;
        const { source, silent } = fallsSilent(patternOf(sizeBytes));
        const controller = new AbortController();
        const reason = new ServiceError('cancelled', 'The request was cancelled.');
        const put = store().put(blob, source, { signal: controller.signal });
        void silent.then(() => controller.abort(reason));
        await assert.rejects(put, reason);
        await nothingOf(blob);
      });
    }

    it('begins nothing with a signal that has aborted already', async () => {
      const reason = new Error('too late');
      const put = store().put('file-too-late', inPieces(patternOf(10)), { signal: AbortSignal.abort(reason) });
      await assert.rejects(put, reason);
      await nothingOf('file-too-late');
    });

    it('asks for leave before each piece, and leaves nothing where it is refused midway', async () => {
      const refusal = new ServiceError('too-large', 'A file must not be larger than 11 MB.');
      const asked: number[] = [];
      const allow = async (sizeBytes: number): Promise<void> => {
        asked.push(sizeBytes);
        if (sizeBytes > 11 * 1024 * 1024) throw refusal;
      };
      await assert.rejects(store().put('file-refused', inPieces(patternOf(LARGE_BYTES)), { allow }), refusal);
      assert.equal(asked[0], 65_536);
      assert.equal(asked.length, 11 * 16 + 1);
      await nothingOf('file-refused');
    });

    it('takes fifty uploads at once, of which every fifth fails, and mixes none up', async () => {
      const sizes = Array.from({ length: 50 }, (_, index) => 1_000 + index * 20_011);
      const results = await Promise.allSettled(
        sizes.map((sizeBytes, index) => {
          const bytes = patternOf(sizeBytes, index + 1);
          const source = index % 5 === 0 ? breaksAfter(bytes, new Error('cut')) : inPieces(bytes);
          return store().put(`many_${index}`, source);
        }),
      );
      for (const [index, sizeBytes] of sizes.entries()) {
        const bytes = patternOf(sizeBytes, index + 1);
        const result = results[index];
        if (index % 5 === 0) {
          assert.equal(result?.status, 'rejected');
          await assert.rejects(store().read(`many_${index}`), isKind('file-not-found'));
        } else {
          assert.ok(result?.status === 'fulfilled');
          assert.deepEqual(result.value, { sizeBytes, md5: md5(bytes) });
          assert.ok((await readAll(`many_${index}`)).equals(bytes), `many_${index}`);
        }
      }
      assert.equal(await of().leftOvers(), 0);
    });

    it('does not show a blob before it is whole', async () => {
      const { source, silent } = fallsSilent(patternOf(LARGE_BYTES));
      const controller = new AbortController();
      const put = store().put('file-growing', source, { signal: controller.signal });
      put.catch(() => undefined);
      await silent;
      await until('the upload has begun', PATIENCE, async () => ((await of().leftOvers()) > 0 ? true : undefined));
      await assert.rejects(store().read('file-growing'), isKind('file-not-found'));
      assert.equal(await isThere('file-growing'), false);
      controller.abort(new Error('enough'));
      await assert.rejects(put, /enough/);
    });

    it('abandons what an upload of a name left, and no other upload', async () => {
      const bytes = patternOf(LARGE_BYTES);
      const { promise: more, resolve: goOn } = Promise.withResolvers<void>();
      async function* paused(): AsyncGenerator<Uint8Array> {
        yield* inPieces(bytes.subarray(0, LARGE_BYTES - 10));
        await more;
        yield bytes.subarray(LARGE_BYTES - 10);
      }
      const names = ['file-dead', 'file-dead-not'] as const;
      const puts = names.map((each) => store().put(each, paused()));
      for (const put of puts) put.catch(() => undefined);
      // A part that comes in behind the end of its upload brings some servers to let it go on.
      await until('all their whole parts are there', PATIENCE, async () =>
        (await of().leftBytes()) >= names.length * TWO_PARTS_BYTES ? true : undefined,
      );
      await store().abandon('file-dead');
      assert.equal(await of().leftOvers(), 1);
      goOn();
      await assert.rejects(puts[0] ?? Promise.resolve());
      assert.deepEqual(await puts[1], { sizeBytes: LARGE_BYTES, md5: md5(bytes) });
      await nothingOf('file-dead');
      await store().abandon('file-dead-not');
      await store().abandon('file-never');
      assert.ok((await readAll('file-dead-not')).equals(bytes), 'it touches no blob');
    });

    it('sweeps what old uploads left and spares young ones, whose blobs come to be', async () => {
      const bytes = patternOf(LARGE_BYTES);
      const { promise: more, resolve: goOn } = Promise.withResolvers<void>();
      async function* paused(): AsyncGenerator<Uint8Array> {
        yield* inPieces(bytes.subarray(0, LARGE_BYTES - 10));
        await more;
        yield bytes.subarray(LARGE_BYTES - 10);
      }
      const put = store().put('file-young', paused());
      await until('the upload has begun', PATIENCE, async () => ((await of().leftOvers()) > 0 ? true : undefined));
      assert.equal(await store().sweep(Date.now() - 60_000), 0);
      goOn();
      assert.deepEqual(await put, { sizeBytes: LARGE_BYTES, md5: md5(bytes) });
      assert.ok((await readAll('file-young')).equals(bytes));

      const { source, silent } = fallsSilent(bytes);
      const controller = new AbortController();
      const old = store().put('file-old', source, { signal: controller.signal });
      old.catch(() => undefined);
      await silent;
      await until('the upload has begun', PATIENCE, async () => ((await of().leftOvers()) > 0 ? true : undefined));
      assert.equal(await store().sweep(Date.now() + 60_000), 1);
      controller.abort(new Error('enough'));
      await assert.rejects(old);
      // A part that was on its way when its upload was swept may stay for the next sweep.
      await until('nothing is left of the old upload', PATIENCE, async () => {
        await store().sweep(Date.now() + 60_000);
        return (await of().leftOvers()) === 0 ? true : undefined;
      });
      await nothingOf('file-old');
      assert.equal(await store().sweep(Date.now() + 60_000), 0);
      assert.ok((await readAll('file-young')).equals(bytes), 'a sweep touches no blob');
    });

    it('refuses names that are not ours, whatever is asked of them, and reaches nothing by them', async () => {
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
      for (const odd of names) {
        const isOurs = isKind('internal');
        await assert.rejects(async () => store().put(odd, inPieces(patternOf(1))), isOurs, JSON.stringify(odd));
        await assert.rejects(async () => store().read(odd), isOurs, JSON.stringify(odd));
        await assert.rejects(async () => store().delete(odd), isOurs, JSON.stringify(odd));
        await assert.rejects(async () => store().abandon(odd), isOurs, JSON.stringify(odd));
      }
      await store().put('x'.repeat(128), inPieces(patternOf(1)));
      assert.equal((await readAll('x'.repeat(128))).length, 1);
    });

    it('lets a reader go away in mid-blob', async () => {
      await store().put('file-left', inPieces(patternOf(LARGE_BYTES)));
      for (let count = 0; count < 60; count += 1) {
        const stream = await store().read('file-left');
        for await (const _ of stream) break;
        stream.destroy();
      }
      assert.equal((await readAll('file-left')).length, LARGE_BYTES);
    });
  });
}
