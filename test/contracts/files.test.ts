import assert from 'node:assert/strict';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { openDiskBlobStore } from '../../src/blobs/disk-blob-store.ts';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { systemIdGenerator } from '../../src/core/id.ts';
import { FILE_LEASE_MS } from '../../src/resources/limits.ts';
import type { FileLimits, Files } from '../../src/resources/files/file.ts';
import { createFiles } from '../../src/resources/files/service.ts';
import { removeExpiredReservations, removeOrphanedBlobs } from '../../src/resources/files/garbage-collection.ts';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

const START = 1_790_000_000_123;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const STRANGERS = [
  { ...OWNER, workspace: 'other' },
  { ...OWNER, region: 'ap-southeast-1' },
] as const;
const KIB = 1024;

async function* createBytes(size: number, piece = 64 * KIB): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; left -= piece) yield Buffer.alloc(Math.min(left, piece), 7);
}

describeOnDialects('files', ({ onOpen }) => {
  let store: Store;
  let blobs: BlobStore;
  let files: Files;
  let nowMs = START;
  let limits: FileLimits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
  const clock = { now: () => nowMs, monotonic: () => nowMs - START };
  const warnings: string[] = [];
  const ticks: (() => void)[] = [];
  const startFakeInterval = (_ms: number, tick: () => void) => {
    ticks.push(tick);
    return () => undefined;
  };
  let idCount = 0;
  const ids = {
    ...systemIdGenerator,
    createSortableId: (prefix: string) => `${prefix}${(idCount += 1).toString(16).padStart(32, '0')}`,
  };

  onOpen(async (opened) => {
    ({ store } = opened);
    blobs = await openDiskBlobStore({ folder: join(opened.folder, 'blobs') });
    const log = { warn: (message: string) => void warnings.push(message) };
    const deps = { store, blobs, clock, log, getLimits: () => limits, ids, startInterval: startFakeInterval };
    files = createFiles(deps);
  });
  after(async () => {
    await files.close();
    assert.deepEqual(warnings, []);
  });

  const createOwner = (workspace: string) => ({ ...OWNER, workspace });
  const draft = { name: 'a.txt', description: '', purpose: 'batch' };
  const createFile = async (owner: typeof OWNER | ReturnType<typeof createOwner>, size: number, change = {}) => {
    const received = await files.receive(owner, createBytes(size));
    const [committed] = await files.commit(owner, [{ received, draft: { ...draft, ...change } }]);
    return committed ?? assert.fail();
  };
  /** Reads the usage that is counted against the quota. */
  const readUsage = (owner: ReturnType<typeof createOwner>) =>
    store.transaction(({ fileTotals }) => fileTotals.lockUsage({ region: owner.region, workspace: owner.workspace }));
  const blobNames = async () => {
    const names = new Set<string>();
    for await (const { name: each } of blobs.list()) names.add(each);
    return names;
  };
  const getOutcome = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: Error & { kind?: string }) => error.kind ?? error.message,
    );

  it('returns a file unchanged', async () => {
    const owner = createOwner('roundtrip');
    const text = `O'Brien 密钥 🔑`;
    const file = await createFile(owner, 5, { name: text, description: `${text}\nmore` });
    assert.deepEqual(await files.find(owner, file.id), file);
    const { id, sortKey, number, blob, ...otherFields } = file;
    assert.match(id, /^file-batch-[0-9a-f]{32}$/);
    assert.ok(id.endsWith(sortKey) && number >= 1 && (await blobNames()).has(blob));
    assert.deepEqual(otherFields, {
      ...owner,
      name: text,
      description: `${text}\nmore`,
      purpose: 'batch',
      sizeBytes: 5,
      md5: '04fc420c2daa8356b1f2dfc03858cc2c',
      createdAt: START,
    });
    assert.equal(Buffer.concat(await (await files.read(file, { start: 1, end: 2 })).toArray()).length, 2);
    assert.deepEqual(await readUsage(owner), { files: 1, bytes: 5 });
  });

  it('shows, reads and deletes nothing of another owner', async () => {
    const file = await createFile(OWNER, 5);
    for (const stranger of STRANGERS) {
      for (const work of [files.find(stranger, file.id), files.delete(stranger, file.id)]) {
        assert.equal(await getOutcome(work), 'file-not-found');
      }
      assert.deepEqual(await files.list(stranger, { limit: 10 }), []);
      assert.equal(await files.count(stranger), 0);
    }
    assert.equal((await files.find(OWNER, file.id)).id, file.id);
  });

  it('finds no file by an id with a NUL character, and does not fail', async () => {
    const owner = createOwner('nul');
    const { id } = await createFile(owner, 5);
    for (const other of [`${id}\0`, '\0', 'file-\0']) {
      for (const work of [files.find(owner, other), files.findAnywhere(other), files.delete(owner, other)]) {
        assert.equal(await getOutcome(work), 'file-not-found');
      }
      assert.equal(await getOutcome(files.list(owner, { limit: 1, after: other })), 'invalid-request');
      assert.deepEqual(await files.list(owner, { limit: 1, purpose: other }), []);
      assert.equal(await files.count(owner, other), 0);
    }
    assert.equal((await files.find(owner, id)).id, id);
  });

  it('lists the newest first, by page number and by cursor, also after a deleted file', async () => {
    const owner = createOwner('lists');
    const ids: string[] = [];
    for (let at = 0; at < 7; at += 1) {
      nowMs = START + at * 1000;
      const { id } = await createFile(owner, at, { purpose: at % 2 === 0 ? 'batch' : 'fine-tune' });
      ids.unshift(id);
    }
    const listIndexes = async (query: object) =>
      (await files.list(owner, { limit: 100, ...query })).map(({ id }) => ids.indexOf(id));
    assert.deepEqual(await listIndexes({}), [0, 1, 2, 3, 4, 5, 6]);
    assert.deepEqual(await listIndexes({ limit: 2, skip: 2 }), [2, 3]);
    assert.deepEqual(await listIndexes({ purpose: 'fine-tune' }), [1, 3, 5]);
    assert.deepEqual(await listIndexes({ limit: 2, skip: 1, purpose: 'batch' }), [2, 4]);
    assert.deepEqual(await listIndexes({ limit: 2, skip: 1, after: ids[1] }), [3, 4]);
    assert.deepEqual([await listIndexes({ limit: 2, skip: 6 }), await listIndexes({ limit: 2, skip: 7 })], [[6], []]);
    assert.deepEqual(await listIndexes({ limit: 2, after: ids[1] }), [2, 3]);
    assert.deepEqual(await listIndexes({ createdFrom: START + 2000, createdTo: START + 4000 }), [2, 3, 4]);
    assert.deepEqual([await files.count(owner), await files.count(owner, 'fine-tune')], [7, 3]);
    const numbers = (await files.list(owner, { limit: 100 })).map(({ number }) => number);
    assert.deepEqual(
      numbers,
      numbers.toSorted((one, other) => other - one),
    );
    await files.delete(owner, ids[3] ?? '');
    assert.deepEqual(await listIndexes({ after: ids[3] }), [4, 5, 6]);
    assert.deepEqual([await files.count(owner), await files.count(owner, 'fine-tune')], [6, 2]);
    assert.equal(await getOutcome(files.list(owner, { limit: 1, after: 'nonsense' })), 'invalid-request');
    nowMs = START;
  });

  it('never exceeds the file count limit with concurrent uploads', async () => {
    const owner = createOwner('counted');
    limits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 10 };
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => getOutcome(createFile(owner, 1000))));
    assert.deepEqual(
      [outcomes.filter((kind) => kind === 'done').length, outcomes.filter((kind) => kind === 'count-quota').length],
      [10, 40],
    );
    assert.deepEqual(await readUsage(owner), { files: 10, bytes: 10_000 });
    assert.equal((await files.list(owner, { limit: 100 })).length, 10);
    await assert.rejects(createFile(owner, 1), {
      message: 'Out of number, 10 of 10 files has been uploaded. Delete files to upload more.',
    });
  });

  it('never exceeds the byte limit with concurrent uploads, and can be filled completely', async () => {
    const owner = createOwner('weighed');
    const size = 300 * KIB;
    limits = { fileBytesMax: 1e9, totalBytesMax: 10 * size, countMax: 1e6 };
    // Each waiting upload retries, and each retry slows all others, so a few uploads above the limit are enough.
    const uploads = 16;
    const outcomes = await Promise.all(Array.from({ length: uploads }, () => getOutcome(createFile(owner, size))));
    const done = outcomes.filter((kind) => kind === 'done').length;
    assert.ok(done >= 8 && done <= 10, `${done} were stored`);
    assert.equal(outcomes.filter((kind) => kind === 'storage-quota').length, uploads - done);
    assert.deepEqual(await readUsage(owner), { files: done, bytes: done * size });
    for (let at = done; at < 10; at += 1) await createFile(owner, size);
    assert.deepEqual(await readUsage(owner), { files: 10, bytes: 10 * size });
    assert.equal(await getOutcome(createFile(owner, 1)), 'storage-quota');
    await createFile(owner, 0);
    assert.equal((await blobNames()).size >= 11, true);
  });

  it('accepts two uploads that fit together, also when both reserve more meanwhile', async () => {
    const owner = createOwner('both');
    limits = { fileBytesMax: 1e9, totalBytesMax: 3_000_000, countMax: 10 };
    const sizes = [1_700_000, 1_300_000];
    // Long timeouts for a busy machine: the other upload releases its surplus reservation when it is complete.
    const patientFiles = createFiles({
      store,
      blobs,
      clock,
      log: { warn: assert.fail },
      getLimits: () => limits,
      ids,
      startInterval: startFakeInterval,
      reservationTimings: { pollMs: 20, retryMs: 20, newestTimeoutMs: 10_000, timeoutMs: 20_000 },
    });
    await Promise.all(
      sizes.map(async (size) =>
        patientFiles.commit(owner, [{ received: await patientFiles.receive(owner, createBytes(size)), draft }]),
      ),
    );
    await patientFiles.close();
    assert.deepEqual(await readUsage(owner), { files: 2, bytes: 3_000_000 });
    await assert.rejects(createFile(owner, 1), {
      message: 'Out of space, 3000000 of 3000000 bytes has been used. Delete files to upload more.',
    });
  });

  it('reserves only the size of a received file, so that the next file of the upload fits', async () => {
    const owner = createOwner('surplus');
    limits = { ...limits, totalBytesMax: 1000 * KIB };
    const receivedFiles = [];
    for (let at = 0; at < 9; at += 1) {
      receivedFiles.push(await files.receive(owner, createBytes(100 * KIB)));
      assert.deepEqual(await readUsage(owner), { files: at + 1, bytes: (at + 1) * 100 * KIB });
    }
    receivedFiles.push(await files.receive(owner, createBytes(100 * KIB)));
    await files.commit(
      owner,
      receivedFiles.map((received) => ({ received, draft })),
    );
    assert.deepEqual(await readUsage(owner), { files: 10, bytes: 1000 * KIB });
    limits = { ...limits, totalBytesMax: 1e9 };
  });

  it('leaves nothing behind of a file that is too large, interrupted or discarded', async () => {
    const owner = createOwner('refused');
    limits = { fileBytesMax: 200 * KIB, totalBytesMax: 1e9, countMax: 10 };
    const blobsBefore = await blobNames();
    assert.equal(await getOutcome(files.receive(owner, createBytes(200 * KIB + 1))), 'too-large');
    const failingSource = (async function* () {
      yield* createBytes(100 * KIB);
      throw new Error('cut off');
    })();
    await assert.rejects(files.receive(owner, failingSource), /cut off/);
    const unwanted = await files.receive(owner, createBytes(200 * KIB));
    assert.deepEqual((await readUsage(owner)).files, 1);
    await files.discard(owner, [unwanted]);
    assert.deepEqual(await readUsage(owner), { files: 0, bytes: 0 });
    assert.deepEqual(await blobNames(), blobsBefore);
  });

  it('releases the reservations of interrupted uploads on close', async () => {
    const owner = createOwner('closing');
    const log = { warn: (message: string) => void warnings.push(message) };
    const closingFiles = createFiles({
      store,
      blobs,
      clock,
      log,
      getLimits: () => limits,
      ids,
      startInterval: () => () => undefined,
    });
    const stop = new AbortController();
    const first = await closingFiles.receive(owner, createBytes(5));
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield await new Promise<Uint8Array>(() => undefined);
    }
    const upload = closingFiles
      .receive(owner, endless(), { signal: stop.signal })
      .catch(() => undefined)
      .then(() => closingFiles.discard(owner, [first]));
    while ((await readUsage(owner)).files < 2);
    stop.abort(new Error('the service ends'));
    await closingFiles.close();
    assert.deepEqual(await readUsage(owner), { files: 0, bytes: 0 });
    await upload;
  });

  it('commits all files of an upload or none', async () => {
    const owner = createOwner('together');
    limits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 10 };
    const one = await files.receive(owner, createBytes(1));
    const discarded = { ...(await files.receive(owner, createBytes(1))) };
    await files.discard(owner, [discarded]);
    const drafts = [one, discarded].map((received) => ({ received, draft }));
    assert.equal(await getOutcome(files.commit(owner, drafts)), 'overloaded');
    assert.equal(await files.count(owner), 0);
    await files.discard(owner, [one, discarded]);
    const stored = await createFile(owner, 1);
    await files.discard(owner, [{ blob: stored.blob, sizeBytes: 1, md5: stored.md5 }]);
    assert.deepEqual(await readUsage(owner), { files: 1, bytes: 1 });
  });

  it('lists reservations in the order of their start, whichever was renewed last', async () => {
    const { region, workspace, keyId } = createOwner('ordered');
    for (const [blob, leaseUntil] of [
      ['upload_3', START + 1],
      ['upload_1', START + 3],
      ['upload_2', START + 2],
    ] as const) {
      await store.files.reserve({ blob, region, workspace, keyId, bytes: 1, leaseUntil, at: START });
    }
    const reservations = await store.files.listReservations({ region, workspace });
    assert.deepEqual(
      reservations.map(({ blob }) => blob),
      ['upload_1', 'upload_2', 'upload_3'],
    );
    for (const { blob } of reservations) {
      await store.files.retireReservation(blob, { leaseUntil: START, at: START });
      await store.files.remove(blob);
    }
  });

  it('releases the reservations of uploads that are not renewed, and does not commit them afterwards', async () => {
    const owner = createOwner('stalled');
    const received = await files.receive(owner, createBytes(1000));
    assert.equal(await removeExpiredReservations({ store, blobs, clock }), 0);
    nowMs = START + FILE_LEASE_MS + 1;
    assert.equal(await removeExpiredReservations({ store, blobs, clock }), 1);
    assert.deepEqual(await readUsage(owner), { files: 0, bytes: 0 });
    assert.equal(await getOutcome(files.commit(owner, [{ received, draft }])), 'overloaded');
    await files.discard(owner, [received]);
    assert.equal((await blobNames()).has(received.blob), false);
    nowMs = START;
  });

  it('keeps the reservation of an upload in progress, and of one that waits for the other files', async () => {
    const owner = createOwner('patient');
    limits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 10 };
    const slowSource = (async function* () {
      yield Buffer.alloc(60 * KIB);
      nowMs = START + FILE_LEASE_MS - 1;
      yield Buffer.alloc(60 * KIB);
      nowMs += FILE_LEASE_MS - 1;
      assert.equal(await removeExpiredReservations({ store, blobs, clock }), 0, 'the upload made progress');
    })();
    const received = await files.receive(owner, slowSource);
    for (const tick of ticks) tick();
    // Transactions run one after another: after this one the renewal is done.
    await readUsage(owner);
    nowMs += FILE_LEASE_MS - 1;
    assert.equal(await removeExpiredReservations({ store, blobs, clock }), 0, 'the reservation was renewed');
    assert.equal((await files.commit(owner, [{ received, draft }])).length, 1);
    nowMs = START;
  });

  it('waits for reservations of other uploads, also when it started last, and never for received files', async () => {
    const owner = createOwner('neighbors');
    limits = { fileBytesMax: 1e9, totalBytesMax: 300 * KIB, countMax: 10 };
    let polls = 0;
    let onPoll: () => void = () => undefined;
    const countPoll: typeof store.fileTotals.getUsage = (scope) => {
      polls += 1;
      onPoll();
      return store.fileTotals.getUsage(scope);
    };
    const observedStore = { ...store, fileTotals: { ...store.fileTotals, getUsage: countPoll } };
    const log = { warn: assert.fail };
    const waitingFiles = createFiles({ store: observedStore, blobs, clock, log, getLimits: () => limits, ids });
    const mayEnd = Promise.withResolvers<void>();
    const neighbor = files.receive(
      owner,
      (async function* () {
        yield Buffer.alloc(110 * KIB);
        yield Buffer.alloc(1);
        await mayEnd.promise;
        throw new Error('gone');
      })(),
    );
    neighbor.catch(() => undefined);
    while ((await readUsage(owner)).bytes <= 110 * KIB) await yieldToEventLoop();
    // Ends the neighbor after more than ten polls, at least a quarter of a second.
    onPoll = () => void (polls > 10 && mayEnd.resolve());
    const last = await waitingFiles.receive(owner, createBytes(200 * KIB));
    assert.ok(polls > 10);
    await assert.rejects(neighbor, /gone/);
    polls = 0;
    assert.equal(await getOutcome(waitingFiles.receive(owner, createBytes(200 * KIB))), 'storage-quota');
    assert.equal(polls, 0, 'a received file releases nothing');
    await waitingFiles.discard(owner, [last]);
    await waitingFiles.close();
    assert.deepEqual(await readUsage(owner), { files: 0, bytes: 0 });
  });

  it('stops waiting for capacity when its caller aborts', async () => {
    const owner = createOwner('left');
    limits = { fileBytesMax: 1e9, totalBytesMax: 300 * KIB, countMax: 10 };
    const leaving = new AbortController();
    const abortOnPoll: typeof store.fileTotals.getUsage = async (scope) => {
      leaving.abort(new Error('gone'));
      return await store.fileTotals.getUsage(scope);
    };
    const observedStore = { ...store, fileTotals: { ...store.fileTotals, getUsage: abortOnPoll } };
    const observedFiles = createFiles({
      store: observedStore,
      blobs,
      clock,
      log: { warn: assert.fail },
      getLimits: () => limits,
      ids,
    });
    const otherMayEnd = Promise.withResolvers<void>();
    const holdingSource = (async function* () {
      yield Buffer.alloc(100 * KIB);
      await otherMayEnd.promise;
    })();
    const mayContinue = Promise.withResolvers<void>();
    const waitingSource = (async function* () {
      yield Buffer.alloc(1);
      await mayContinue.promise;
      yield Buffer.alloc(250 * KIB);
    })();
    const first = observedFiles.receive(owner, waitingSource, { signal: leaving.signal });
    while ((await readUsage(owner)).files < 1) await yieldToEventLoop();
    const second = files.receive(owner, holdingSource);
    while ((await readUsage(owner)).bytes < 100 * KIB) await yieldToEventLoop();
    mayContinue.resolve();
    await assert.rejects(first, /gone/);
    otherMayEnd.resolve();
    await files.discard(owner, [await second]);
    assert.deepEqual(await readUsage(owner), { files: 0, bytes: 0 });
    await observedFiles.close();
  });

  it('finishes interrupted deletions, and removes its blobs without a record, but nothing else', async () => {
    const owner = createOwner('expired');
    const [retired, keptFile] = [await createFile(owner, 10), await createFile(owner, 20)];
    await store.files.retire(owner, retired.id, { leaseUntil: START, at: START });
    assert.equal(await getOutcome(files.find(owner, retired.id)), 'file-not-found');
    await blobs.put('upload_orphan', createBytes(3));
    await blobs.put('foreign_prefix', createBytes(3));
    nowMs = START + 1;
    assert.equal(await removeExpiredReservations({ store, blobs, clock }), 1);
    assert.deepEqual(await removeOrphanedBlobs({ store, blobs }, Date.now() - 60_000), { orphans: 0, parts: 0 });
    assert.deepEqual(await removeOrphanedBlobs({ store, blobs }, Date.now() + 1000), { orphans: 1, parts: 0 });
    const names = await blobNames();
    assert.deepEqual(
      [retired.blob, keptFile.blob, 'upload_orphan', 'foreign_prefix'].map((each) => names.has(each)),
      [false, true, false, true],
    );
    nowMs = START;
  });
});
