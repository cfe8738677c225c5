import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { openDiskBlobStore } from '../../src/blobs/disk-blob-store.ts';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { removeExpiredReservations, removeExpiredUploads } from '../../src/resources/files/garbage-collection.ts';
import type { FileLimits, Files } from '../../src/resources/files/file.ts';
import { UPLOAD_GRACE_MS, UPLOAD_LIFETIME_MS, UPLOADS_PENDING_MAX } from '../../src/resources/files/limits.ts';
import { createFiles } from '../../src/resources/files/service.ts';
import type { Store } from '../../src/store/store.ts';
import type { UploadRecord } from '../../src/store/uploads.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

const START = 1_790_000_000_123;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const RECORD: UploadRecord = {
  ...OWNER,
  id: 'upload_0',
  name: `O'Brien 密钥 🔑`,
  purpose: 'batch',
  sizeBytes: 2 ** 33,
  status: 'pending',
  createdAt: START,
  expiresAt: START + 1,
  fileId: undefined,
};

async function* createBytes(size: number): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(size, 7);
}

describeOnDialects('uploads in parts', ({ onOpen }) => {
  let store: Store;
  let blobs: BlobStore;
  let files: Files;
  let nowMs = START;
  const clock = { now: () => nowMs, monotonic: () => nowMs - START };
  const limits: FileLimits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
  const warnings: string[] = [];
  const ticks: (() => void)[] = [];

  onOpen(async (opened) => {
    ({ store } = opened);
    blobs = await openDiskBlobStore({ folder: join(opened.folder, 'blobs') });
    files = createFiles({
      store,
      blobs,
      clock,
      log: { warn: (message) => void warnings.push(message) },
      getLimits: () => limits,
      startInterval: (_, tick) => {
        ticks.push(tick);
        return () => undefined;
      },
    });
  });
  after(async () => {
    await files.close();
    assert.deepEqual(warnings, []);
  });

  const createOwner = (workspace: string) => ({ ...OWNER, workspace });
  const create = (owner: ReturnType<typeof createOwner>, sizeBytes: number) =>
    files.chunked.create(owner, { name: 'a.txt', purpose: 'batch', sizeBytes });
  const addPart = async (owner: ReturnType<typeof createOwner>, id: string, size: number) =>
    files.chunked.addPart(owner, id, await files.receive(owner, createBytes(size)));
  const readUsage = ({ region, workspace }: ReturnType<typeof createOwner>) =>
    store.fileTotals.getUsage({ region, workspace });
  const countBlobs = async () => (await Array.fromAsync(blobs.list())).length;

  it('stores, ends and removes uploads and parts', async () => {
    const part = { id: 'part_1', uploadId: RECORD.id, blob: 'blob_1', sizeBytes: 2 ** 33, createdAt: START };
    await store.uploads.insert(RECORD);
    await store.uploads.insertPart({ ...part, id: 'part_2', blob: 'blob_2' });
    await store.uploads.insertPart(part);
    assert.deepEqual(await store.uploads.find(OWNER, RECORD.id), RECORD);
    assert.equal(await store.uploads.find(createOwner('other'), RECORD.id), undefined);
    assert.equal(await store.uploads.find({ ...OWNER, region: 'ap-southeast-1' }, RECORD.id), undefined);
    assert.deepEqual(await store.uploads.listParts(RECORD.id), [part, { ...part, id: 'part_2', blob: 'blob_2' }]);
    assert.equal(await store.uploads.countPending(OWNER, START), 1);
    assert.equal(await store.uploads.countPending(OWNER, START + 1), 0);
    assert.equal(await store.uploads.end(RECORD.id, { status: 'completed', fileId: 'file-1' }), true);
    assert.equal(await store.uploads.end(RECORD.id, { status: 'cancelled' }), false);
    assert.deepEqual(await store.uploads.find(OWNER, RECORD.id), { ...RECORD, status: 'completed', fileId: 'file-1' });
    assert.equal(await store.uploads.removeExpired({ before: RECORD.expiresAt, limit: 10 }), 0);
    assert.equal(await store.uploads.removeExpired({ before: RECORD.expiresAt + 1, limit: 10 }), 1);
    assert.equal(await store.uploads.find(OWNER, RECORD.id), undefined);
    assert.deepEqual(await store.uploads.listParts(RECORD.id), []);
  });

  it('counts parts once, and only the file after the completion', async () => {
    const owner = createOwner('completed');
    const { id } = await create(owner, 30);
    const parts = [await addPart(owner, id, 10), await addPart(owner, id, 20), await addPart(owner, id, 5)];
    assert.deepEqual(await readUsage(owner), { files: 3, bytes: 35 });
    assert.deepEqual(await store.files.listReservations(owner), [], 'no other upload waits for the bytes of parts');
    const partIds = parts.slice(0, 2).map((part) => part.id);
    const { file, upload } = await files.chunked.complete(owner, id, { partIds }, undefined);
    assert.equal(upload.fileId, file.id);
    assert.deepEqual(await readUsage(owner), { files: 1, bytes: 30 });
    assert.deepEqual([...(await store.files.filterReferenced(parts.map(({ blob }) => blob)))], []);
    assert.equal(await countBlobs(), 1);
    await files.delete(owner, file.id);
    assert.deepEqual(await readUsage(owner), { files: 0, bytes: 0 });
  });

  it('completes once when requests do so at the same time', async () => {
    const owner = createOwner('concurrent');
    const { id } = await create(owner, 10);
    const { id: partId } = await addPart(owner, id, 10);
    const completions = await Promise.all(
      Array.from({ length: 3 }, () => files.chunked.complete(owner, id, { partIds: [partId] }, undefined)),
    );
    const ids = completions.map(({ file }) => file.id);
    assert.equal(new Set(ids).size, 1);
    assert.deepEqual(await readUsage(owner), { files: 1, bytes: 10 });
    await files.delete(owner, ids[0] ?? '');
    assert.equal(await countBlobs(), 0);
  });

  it('leaves nothing behind when it is cancelled', async () => {
    const owner = createOwner('cancelled');
    const { id } = await create(owner, 10);
    await addPart(owner, id, 10);
    assert.equal((await files.chunked.cancel(owner, id)).status, 'cancelled');
    assert.deepEqual(await readUsage(owner), { files: 0, bytes: 0 });
    assert.deepEqual([await countBlobs(), await store.uploads.listParts(id)], [0, []]);
    const received = await files.receive(owner, createBytes(1));
    await assert.rejects(files.chunked.addPart(owner, id, received), { kind: 'invalid-request', param: 'upload_id' });
    await files.discard(owner, [received]);
    assert.deepEqual([await countBlobs(), await readUsage(owner)], [0, { files: 0, bytes: 0 }]);
  });

  it('keeps parts until the upload expires, and then leaves nothing behind', async () => {
    const owner = createOwner('expired');
    const { id } = await create(owner, 10);
    const { id: partId } = await addPart(owner, id, 10);
    nowMs += UPLOAD_LIFETIME_MS - 1;
    for (const tick of ticks) tick();
    assert.equal(await removeExpiredReservations({ store, blobs, clock }), 0);
    nowMs += 2;
    await assert.rejects(files.chunked.complete(owner, id, { partIds: [partId] }, undefined), /is expired/);
    await assert.rejects(files.chunked.cancel(owner, id), /is expired/);
    assert.equal(await removeExpiredReservations({ store, blobs, clock }), 1);
    assert.deepEqual([await countBlobs(), await readUsage(owner)], [0, { files: 0, bytes: 0 }]);
    await removeExpiredUploads({ store, clock });
    assert.ok(await store.uploads.find(owner, id), 'its status is still known');
    nowMs += UPLOAD_GRACE_MS;
    assert.ok((await removeExpiredUploads({ store, clock })) > 0);
    assert.equal(await store.uploads.find(owner, id), undefined);
    assert.deepEqual(await store.uploads.listParts(id), []);
  });

  it('keeps its parts when the bytes of one are lost, or the digest differs', async () => {
    const owner = createOwner('failed');
    const { id } = await create(owner, 10);
    const { id: partId, blob } = await addPart(owner, id, 10);
    const completion = { partIds: [partId], md5: '0'.repeat(32) };
    await assert.rejects(files.chunked.complete(owner, id, completion, undefined), { param: 'md5' });
    assert.deepEqual([await readUsage(owner), await countBlobs()], [{ files: 1, bytes: 10 }, 1]);
    await blobs.delete(blob);
    await assert.rejects(files.chunked.complete(owner, id, { partIds: [partId] }, undefined));
    assert.deepEqual(await readUsage(owner), { files: 1, bytes: 10 });
    await files.chunked.cancel(owner, id);
  });

  it('limits pending uploads', async () => {
    const owner = createOwner('many');
    const { id } = await create(owner, 1);
    await store.transaction(async ({ uploads }) => {
      const expiresAt = nowMs + 1;
      for (let count = 1; count < UPLOADS_PENDING_MAX; count++)
        await uploads.insert({ ...RECORD, ...owner, id: `upload_many_${count}`, expiresAt });
    });
    await assert.rejects(create(owner, 1), { kind: 'count-quota' });
    await files.chunked.cancel(owner, id);
    await create(owner, 1);
  });
});
