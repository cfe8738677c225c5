import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openDisk } from '../../src/blobs/disk.ts';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { systemIds } from '../../src/core/id.ts';
import { FILE_LEASE_MS } from '../../src/core/limits.ts';
import type { FileLimits, Files } from '../../src/resources/files/file.ts';
import { createFiles } from '../../src/resources/files/service.ts';
import { sweepExpired, sweepOrphans } from '../../src/resources/files/sweep.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

const START = 1_790_000_000_123;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const STRANGERS = [
  { ...OWNER, workspace: 'other' },
  { ...OWNER, region: 'ap-southeast-1' },
] as const;
const KIB = 1024;

async function* bytes(size: number, piece = 64 * KIB): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; left -= piece) yield Buffer.alloc(Math.min(left, piece), 7);
}

for (const { name, dialect } of DIALECTS) {
  describe(`files on ${name}`, () => {
    let folder = '';
    let store: Store;
    let blobs: BlobStore;
    let files: Files;
    let nowMs = START;
    let limits: FileLimits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
    const clock = { now: () => nowMs, monotonic: () => nowMs - START };
    const warnings: string[] = [];
    const ticks: (() => void)[] = [];
    const every = (_ms: number, tick: () => void) => {
      ticks.push(tick);
      return () => undefined;
    };
    let made = 0;
    const ids = {
      ...systemIds,
      sortable: (prefix: string) => `${prefix}${(made += 1).toString(16).padStart(32, '0')}`,
    };

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-files-'));
      store = await openStore({ dialect: dialect(folder) });
      blobs = await openDisk({ folder: join(folder, 'blobs') });
      const log = { warn: (message: string) => void warnings.push(message) };
      const needs = { store, blobs, clock, log, limitsOf: () => limits, ids, every };
      files = createFiles(needs);
    });
    after(async () => {
      await files.close();
      await store.close();
      await rm(folder, { recursive: true });
      assert.deepEqual(warnings, []);
    });

    const owned = (workspace: string) => ({ ...OWNER, workspace });
    const draft = { name: 'a.txt', description: '', purpose: 'batch' };
    const put = async (owner: typeof OWNER | ReturnType<typeof owned>, size: number, change = {}) => {
      const received = await files.receive(owner, bytes(size));
      const [kept] = await files.keep(owner, [{ received, draft: { ...draft, ...change } }]);
      return kept ?? assert.fail();
    };
    /** What is counted, beside what there is. */
    const held = (owner: ReturnType<typeof owned>) =>
      store.transaction(({ fileTotals }) => fileTotals.lock({ region: owner.region, workspace: owner.workspace }));
    const blobNames = async () => {
      const names = new Set<string>();
      for await (const { name: each } of blobs.list()) names.add(each);
      return names;
    };
    const kindOf = (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        (error: Error & { kind?: string }) => error.kind ?? error.message,
      );

    it('gives back a file as it was put in', async () => {
      const owner = owned('roundtrip');
      const text = `O'Brien 密钥 🔑`;
      const file = await put(owner, 5, { name: text, description: `${text}\nmore` });
      assert.deepEqual(await files.find(owner, file.id), file);
      const { id, sortKey, number, blob, ...facts } = file;
      assert.match(id, /^file-batch-[0-9a-f]{32}$/);
      assert.ok(id.endsWith(sortKey) && number >= 1 && (await blobNames()).has(blob));
      assert.deepEqual(facts, {
        ...owner,
        name: text,
        description: `${text}\nmore`,
        purpose: 'batch',
        sizeBytes: 5,
        md5: '04fc420c2daa8356b1f2dfc03858cc2c',
        createdAt: START,
      });
      assert.equal(Buffer.concat(await (await files.read(file, { start: 1, end: 2 })).toArray()).length, 2);
      assert.deepEqual(await held(owner), { files: 1, bytes: 5 });
    });

    it('shows, reads and deletes nothing of another owner', async () => {
      const file = await put(OWNER, 5);
      for (const stranger of STRANGERS) {
        for (const work of [files.find(stranger, file.id), files.delete(stranger, file.id)]) {
          assert.equal(await kindOf(work), 'file-not-found');
        }
        assert.deepEqual(await files.list(stranger, { limit: 10 }), []);
        assert.equal(await files.count(stranger), 0);
      }
      assert.equal((await files.find(OWNER, file.id)).id, file.id);
    });

    it('knows no file whose id has a NUL in it, and fails for none', async () => {
      const owner = owned('nul');
      const { id } = await put(owner, 5);
      for (const other of [`${id}\0`, '\0', 'file-\0']) {
        for (const work of [files.find(owner, other), files.findAnywhere(other), files.delete(owner, other)]) {
          assert.equal(await kindOf(work), 'file-not-found');
        }
        assert.equal(await kindOf(files.list(owner, { limit: 1, after: other })), 'invalid-request');
        assert.deepEqual(await files.list(owner, { limit: 1, purpose: other }), []);
        assert.equal(await files.count(owner, other), 0);
      }
      assert.equal((await files.find(owner, id)).id, id);
    });

    it('lists the newest first, by pages and by key, also behind one that is gone', async () => {
      const owner = owned('lists');
      const ids: string[] = [];
      for (let at = 0; at < 7; at += 1) {
        nowMs = START + at * 1000;
        const { id } = await put(owner, at, { purpose: at % 2 === 0 ? 'batch' : 'fine-tune' });
        ids.unshift(id);
      }
      const listed = async (wish: object) =>
        (await files.list(owner, { limit: 100, ...wish })).map(({ id }) => ids.indexOf(id));
      assert.deepEqual(await listed({}), [0, 1, 2, 3, 4, 5, 6]);
      assert.deepEqual(await listed({ limit: 2, skip: 2 }), [2, 3]);
      assert.deepEqual(await listed({ purpose: 'fine-tune' }), [1, 3, 5]);
      assert.deepEqual(await listed({ limit: 2, skip: 1, purpose: 'batch' }), [2, 4]);
      assert.deepEqual(await listed({ limit: 2, skip: 1, after: ids[1] }), [3, 4]);
      assert.deepEqual([await listed({ limit: 2, skip: 6 }), await listed({ limit: 2, skip: 7 })], [[6], []]);
      assert.deepEqual(await listed({ limit: 2, after: ids[1] }), [2, 3]);
      assert.deepEqual(await listed({ createdFrom: START + 2000, createdTo: START + 4000 }), [2, 3, 4]);
      assert.deepEqual([await files.count(owner), await files.count(owner, 'fine-tune')], [7, 3]);
      const numbers = (await files.list(owner, { limit: 100 })).map(({ number }) => number);
      assert.deepEqual(
        numbers,
        numbers.toSorted((one, other) => other - one),
      );
      await files.delete(owner, ids[3] ?? '');
      assert.deepEqual(await listed({ after: ids[3] }), [4, 5, 6]);
      assert.deepEqual([await files.count(owner), await files.count(owner, 'fine-tune')], [6, 2]);
      assert.equal(await kindOf(files.list(owner, { limit: 1, after: 'nonsense' })), 'invalid-request');
      nowMs = START;
    });

    it('takes no more files than there may be, however many come at once', async () => {
      const owner = owned('counted');
      limits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 10 };
      const kinds = await Promise.all(Array.from({ length: 50 }, () => kindOf(put(owner, 1000))));
      assert.deepEqual(
        [kinds.filter((kind) => kind === 'done').length, kinds.filter((kind) => kind === 'count-quota').length],
        [10, 40],
      );
      assert.deepEqual(await held(owner), { files: 10, bytes: 10_000 });
      assert.equal((await files.list(owner, { limit: 100 })).length, 10);
      await assert.rejects(put(owner, 1), { message: 'Out of number, <10> of <10> files has been uploaded.' });
    });

    it('takes no more bytes than there may be, however many come at once, and can be filled to the last', async () => {
      const owner = owned('weighed');
      const size = 300 * KIB;
      limits = { fileBytesMax: 1e9, totalBytesMax: 10 * size, countMax: 1e6 };
      // Each that waits tries again and again, and each try takes all others' time: a few too many say as much as many.
      const uploads = 16;
      const kinds = await Promise.all(Array.from({ length: uploads }, () => kindOf(put(owner, size))));
      const done = kinds.filter((kind) => kind === 'done').length;
      assert.ok(done >= 8 && done <= 10, `${done} were taken`);
      assert.equal(kinds.filter((kind) => kind === 'storage-quota').length, uploads - done);
      assert.deepEqual(await held(owner), { files: done, bytes: done * size });
      for (let at = done; at < 10; at += 1) await put(owner, size);
      assert.deepEqual(await held(owner), { files: 10, bytes: 10 * size });
      assert.equal(await kindOf(put(owner, 1)), 'storage-quota');
      await put(owner, 0);
      assert.equal((await blobNames()).size >= 11, true);
    });

    it('refuses none of two that have room together, whatever they reserved meanwhile', async () => {
      const owner = owned('both');
      limits = { fileBytesMax: 1e9, totalBytesMax: 3_000_000, countMax: 10 };
      const sizes = [1_700_000, 1_300_000];
      // As patient as a busy machine needs: the other one gives back what it reserved ahead when its bytes are in.
      const patient = createFiles({
        store,
        blobs,
        clock,
        log: { warn: assert.fail },
        limitsOf: () => limits,
        ids,
        every,
        roomWaits: { lookMs: 20, tryMs: 20, lastMs: 10_000, longestMs: 20_000 },
      });
      await Promise.all(
        sizes.map(async (size) =>
          patient.keep(owner, [{ received: await patient.receive(owner, bytes(size)), draft }]),
        ),
      );
      await patient.close();
      assert.deepEqual(await held(owner), { files: 2, bytes: 3_000_000 });
      await assert.rejects(put(owner, 1), { message: 'Out of space, <3000000> of <3000000> bytes has been used.' });
    });

    it('holds no more for a file that came in than it has, so that the next one of its upload finds the room', async () => {
      const owner = owned('surplus');
      limits = { ...limits, totalBytesMax: 1000 * KIB };
      const taken = [];
      for (let at = 0; at < 9; at += 1) {
        taken.push(await files.receive(owner, bytes(100 * KIB)));
        assert.deepEqual(await held(owner), { files: at + 1, bytes: (at + 1) * 100 * KIB });
      }
      taken.push(await files.receive(owner, bytes(100 * KIB)));
      await files.keep(
        owner,
        taken.map((received) => ({ received, draft })),
      );
      assert.deepEqual(await held(owner), { files: 10, bytes: 1000 * KIB });
      limits = { ...limits, totalBytesMax: 1e9 };
    });

    it('leaves nothing of a file that is too large, breaks off, or is not wanted', async () => {
      const owner = owned('refused');
      limits = { fileBytesMax: 200 * KIB, totalBytesMax: 1e9, countMax: 10 };
      const before_ = await blobNames();
      assert.equal(await kindOf(files.receive(owner, bytes(200 * KIB + 1))), 'too-large');
      const broken = (async function* () {
        yield* bytes(100 * KIB);
        throw new Error('cut off');
      })();
      await assert.rejects(files.receive(owner, broken), /cut off/);
      const unwanted = await files.receive(owner, bytes(200 * KIB));
      assert.deepEqual((await held(owner)).files, 1);
      await files.drop(owner, [unwanted]);
      assert.deepEqual(await held(owner), { files: 0, bytes: 0 });
      assert.deepEqual(await blobNames(), before_);
    });

    it('has given back the room of what was broken off when it is closed', async () => {
      const owner = owned('closing');
      const log = { warn: (message: string) => void warnings.push(message) };
      const closing = createFiles({
        store,
        blobs,
        clock,
        log,
        limitsOf: () => limits,
        ids,
        every: () => () => undefined,
      });
      const stop = new AbortController();
      const first = await closing.receive(owner, bytes(5));
      async function* endless(): AsyncGenerator<Uint8Array> {
        for (;;) yield await new Promise<Uint8Array>(() => undefined);
      }
      const upload = closing
        .receive(owner, endless(), { signal: stop.signal })
        .catch(() => undefined)
        .then(() => closing.drop(owner, [first]));
      while ((await held(owner)).files < 2);
      stop.abort(new Error('the service ends'));
      await closing.close();
      assert.deepEqual(await held(owner), { files: 0, bytes: 0 });
      await upload;
    });

    it('keeps all files of an upload or none', async () => {
      const owner = owned('together');
      limits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 10 };
      const one = await files.receive(owner, bytes(1));
      const wrong = { ...(await files.receive(owner, bytes(1))) };
      await files.drop(owner, [wrong]);
      const both = [one, wrong].map((received) => ({ received, draft }));
      assert.equal(await kindOf(files.keep(owner, both)), 'overloaded');
      assert.equal(await files.count(owner), 0);
      await files.drop(owner, [one, wrong]);
      const kept = await put(owner, 1);
      await files.drop(owner, [{ blob: kept.blob, sizeBytes: 1, md5: kept.md5 }]);
      assert.deepEqual(await held(owner), { files: 1, bytes: 1 });
    });

    it('tells what comes in in the order in which it began, whoever was renewed last', async () => {
      const { region, workspace, keyId } = owned('ordered');
      for (const [blob, leaseUntil] of [
        ['upload_3', START + 1],
        ['upload_1', START + 3],
        ['upload_2', START + 2],
      ] as const) {
        await store.files.reserve({ blob, region, workspace, keyId, bytes: 1, leaseUntil, at: START });
      }
      const coming = await store.files.reservations({ region, workspace });
      assert.deepEqual(
        coming.map(({ blob }) => blob),
        ['upload_1', 'upload_2', 'upload_3'],
      );
      for (const { blob } of coming) {
        await store.files.giveUp(blob, { leaseUntil: START, at: START });
        await store.files.remove(blob);
      }
    });

    it('gives back the room of uploads that nobody renews, and does not keep them afterwards', async () => {
      const owner = owned('stalled');
      const received = await files.receive(owner, bytes(1000));
      assert.equal(await sweepExpired({ store, blobs, clock }), 0);
      nowMs = START + FILE_LEASE_MS + 1;
      assert.equal(await sweepExpired({ store, blobs, clock }), 1);
      assert.deepEqual(await held(owner), { files: 0, bytes: 0 });
      assert.equal(await kindOf(files.keep(owner, [{ received, draft }])), 'overloaded');
      await files.drop(owner, [received]);
      assert.equal((await blobNames()).has(received.blob), false);
      nowMs = START;
    });

    it('holds the room of an upload that goes on, and of one that waits for its siblings', async () => {
      const owner = owned('patient');
      limits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 10 };
      const slow = (async function* () {
        yield Buffer.alloc(60 * KIB);
        nowMs = START + FILE_LEASE_MS - 1;
        yield Buffer.alloc(60 * KIB);
        nowMs += FILE_LEASE_MS - 1;
        assert.equal(await sweepExpired({ store, blobs, clock }), 0, 'more came in');
      })();
      const received = await files.receive(owner, slow);
      for (const tick of ticks) tick();
      // Transactions are in line: after this one the renewal is done.
      await held(owner);
      nowMs += FILE_LEASE_MS - 1;
      assert.equal(await sweepExpired({ store, blobs, clock }), 0, 'it was renewed');
      assert.equal((await files.keep(owner, [{ received, draft }])).length, 1);
      nowMs = START;
    });

    it('waits for what others have reserved, also when it began last, and never for what has come in', async () => {
      const owner = owned('neighbours');
      limits = { fileBytesMax: 1e9, totalBytesMax: 300 * KIB, countMax: 10 };
      let looks = 0;
      let whenLooked: () => void = () => undefined;
      const look: typeof store.fileTotals.look = (place) => {
        looks += 1;
        whenLooked();
        return store.fileTotals.look(place);
      };
      const seen = { ...store, fileTotals: { ...store.fileTotals, look } };
      const log = { warn: assert.fail };
      const waiting = createFiles({ store: seen, blobs, clock, log, limitsOf: () => limits, ids });
      const mayEnd = Promise.withResolvers<void>();
      const neighbour = files.receive(
        owner,
        (async function* () {
          yield Buffer.alloc(110 * KIB);
          yield Buffer.alloc(1);
          await mayEnd.promise;
          throw new Error('gone');
        })(),
      );
      neighbour.catch(() => undefined);
      while ((await held(owner)).bytes <= 110 * KIB) await turn();
      // A quarter of a second and more: the neighbour is no faster than that.
      whenLooked = () => void (looks > 10 && mayEnd.resolve());
      const last = await waiting.receive(owner, bytes(200 * KIB));
      assert.ok(looks > 10);
      await assert.rejects(neighbour, /gone/);
      looks = 0;
      assert.equal(await kindOf(waiting.receive(owner, bytes(200 * KIB))), 'storage-quota');
      assert.equal(looks, 0, 'what has come in is not given back');
      await waiting.drop(owner, [last]);
      await waiting.close();
      assert.deepEqual(await held(owner), { files: 0, bytes: 0 });
    });

    it('waits for room no longer than whoever wants it', async () => {
      const owner = owned('left');
      limits = { fileBytesMax: 1e9, totalBytesMax: 300 * KIB, countMax: 10 };
      const leaving = new AbortController();
      const look: typeof store.fileTotals.look = async (place) => {
        leaving.abort(new Error('gone'));
        return await store.fileTotals.look(place);
      };
      const seen = { ...store, fileTotals: { ...store.fileTotals, look } };
      const watched = createFiles({
        store: seen,
        blobs,
        clock,
        log: { warn: assert.fail },
        limitsOf: () => limits,
        ids,
      });
      const other = Promise.withResolvers<void>();
      const holds = (async function* () {
        yield Buffer.alloc(100 * KIB);
        await other.promise;
      })();
      const mayGoOn = Promise.withResolvers<void>();
      const wants = (async function* () {
        yield Buffer.alloc(1);
        await mayGoOn.promise;
        yield Buffer.alloc(250 * KIB);
      })();
      const first = watched.receive(owner, wants, { signal: leaving.signal });
      while ((await held(owner)).files < 1) await turn();
      const second = files.receive(owner, holds);
      while ((await held(owner)).bytes < 100 * KIB) await turn();
      mayGoOn.resolve();
      await assert.rejects(first, /gone/);
      other.resolve();
      await files.drop(owner, [await second]);
      assert.deepEqual(await held(owner), { files: 0, bytes: 0 });
      await watched.close();
    });

    it('ends deletions that broke off, and removes what no record knows, but nothing else', async () => {
      const owner = owned('swept');
      const [half, whole] = [await put(owner, 10), await put(owner, 20)];
      await store.files.retire(owner, half.id, { leaseUntil: START, at: START });
      assert.equal(await kindOf(files.find(owner, half.id)), 'file-not-found');
      await blobs.put('upload_orphan', bytes(3));
      await blobs.put('other_house', bytes(3));
      nowMs = START + 1;
      assert.equal(await sweepExpired({ store, blobs, clock }), 1);
      assert.deepEqual(await sweepOrphans({ store, blobs }, Date.now() - 60_000), { orphans: 0, parts: 0 });
      assert.deepEqual(await sweepOrphans({ store, blobs }, Date.now() + 1000), { orphans: 1, parts: 0 });
      const names = await blobNames();
      assert.deepEqual(
        [half.blob, whole.blob, 'upload_orphan', 'other_house'].map((each) => names.has(each)),
        [false, true, false, true],
      );
      nowMs = START;
    });
  });
}
