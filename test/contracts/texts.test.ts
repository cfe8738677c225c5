import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Kysely } from 'kysely';
import { openDiskBlobStore } from '../../src/blobs/disk-blob-store.ts';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { systemIdGenerator } from '../../src/core/id.ts';
import { FILE_LEASE_MS } from '../../src/resources/limits.ts';
import type { ExtractionResult } from '../../src/documents/document.ts';
import type { JobHandler } from '../../src/jobs/handler.ts';
import { createExtractHandler } from '../../src/jobs/kinds/extract-handler.ts';
import type { Files } from '../../src/resources/files/file.ts';
import { createFiles } from '../../src/resources/files/service.ts';
import { removeExpiredReservations, removeOrphanedBlobs } from '../../src/resources/files/garbage-collection.ts';
import { createTexts, type Texts } from '../../src/resources/texts/service.ts';
import { migrate } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { changeDiskBlob, flipBitAt } from '../../src/blobs/__fixtures__/change-disk-blob.ts';
import { createVerifiedBlobStore } from '../../src/blobs/verified-blob-store.ts';
import { isFileDamaged } from '../../src/core/error.ts';
import type { Database } from '../../src/store/schema/database.ts';
import type { FileRecord } from '../../src/store/files.ts';
import type { Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

const START = 1_790_000_000_123;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const LIMITS = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };

async function* createBytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
const createText = (text: string): ExtractionResult => ({
  type: 'text',
  kind: 'text',
  text: Buffer.from(text),
  chars: text.length,
});

describeOnDialects('extracted texts of files', ({ onOpen }) => {
  let store: Store;
  let blobs: BlobStore;
  let blobFolder = '';
  let files: Files;
  let texts: Texts;
  let nowMs = START;
  let notificationCount = 0;
  const clock = { now: () => nowMs, monotonic: () => nowMs - START };

  onOpen(async (opened) => {
    ({ store } = opened);
    blobFolder = join(opened.folder, 'blobs');
    blobs = createVerifiedBlobStore(await openDiskBlobStore({ folder: blobFolder }), {
      hashes: store.blobHashes,
      onDamage: () => undefined,
    });
    const notifier = { notify: () => void notificationCount++ };
    files = createFiles({ store, blobs, clock, notifier, log: { warn: assert.fail }, getLimits: () => LIMITS });
    texts = createTexts({ store, blobs });
  });
  after(async () => {
    await files.close();
  });

  const createFile = async (purpose = 'file-extract'): Promise<FileRecord> => {
    const received = await files.receive(OWNER, createBytes('the bytes'));
    const draft = { name: 'a.txt', description: '', purpose };
    const [committed] = await files.commit(OWNER, [{ received, draft }]);
    return committed ?? assert.fail();
  };
  const createHandler = (extract: () => Promise<ExtractionResult>, part: Partial<Store> = {}): JobHandler =>
    createExtractHandler({ store: { ...store, ...part }, blobs, extract, ids: systemIdGenerator, clock });
  const findJob = async ({ id }: FileRecord) =>
    (await store.jobs.findBySubject('extract', id)) ?? assert.fail('no job');
  const runHandler = async (file: FileRecord, jobHandler: JobHandler) => {
    const signal = new AbortController().signal;
    return await jobHandler.run({ job: await findJob(file), signal, report: () => undefined });
  };
  const getState = async (file: FileRecord) => (await texts.findStates([file])).get(file.id);
  const listTextBlobs = async () => {
    const names: string[] = [];
    for await (const { name: each } of blobs.list()) if (each.startsWith('text_')) names.push(each);
    return names;
  };
  const removeAllFiles = async () => {
    for (const { id } of await files.list(OWNER, { limit: 100 })) await files.delete(OWNER, id);
    assert.deepEqual(await listTextBlobs(), []);
  };

  it('inserts a job and a waiting text for each file to extract, and for no other file', async () => {
    const countBefore = notificationCount;
    const [file, other] = [await createFile(), await createFile('batch')];
    assert.deepEqual(await getState(file), { state: 'waiting' });
    assert.equal((await findJob(file)).state, 'waiting');
    assert.equal(notificationCount, countBefore + 1);
    assert.equal(await getState(other), undefined);
    assert.equal(await store.jobs.findBySubject('extract', other.id), undefined);
    assert.deepEqual(await texts.findDocument(OWNER, file.id), { type: 'waiting' });
    await removeAllFiles();
    assert.equal(await store.jobs.findBySubject('extract', file.id), undefined);
  });

  it('returns the text to its owner only', async () => {
    const file = await createFile();
    assert.deepEqual(
      await runHandler(
        file,
        createHandler(async () => createText('grün 中')),
      ),
      { type: 'done' },
    );
    const found = await texts.findDocument(OWNER, file.id);
    assert.ok(found.type === 'ready');
    assert.deepEqual([found.name, found.chars, found.bytes, await found.read()], ['a.txt', 6, 9, 'grün 中']);
    for (const stranger of [
      { ...OWNER, workspace: 'other' },
      { ...OWNER, region: 'ap-southeast-1' },
    ] as const) {
      const result = await texts.findDocument(stranger, file.id);
      assert.deepEqual(result, { type: 'refused', message: `Invalid file [id:${file.id}].` });
    }
    await removeAllFiles();
  });

  it('ends the extraction of a damaged file, and names the file whose text is damaged', async () => {
    const file = await createFile();
    await changeDiskBlob(blobFolder, file.blob, flipBitAt(0));
    let extractions = 0;
    const extract = async (): Promise<ExtractionResult> => {
      extractions += 1;
      return createText('text');
    };
    assert.deepEqual(await runHandler(file, createHandler(extract)), { type: 'done' });
    const state = await getState(file);
    assert.ok(state?.state === 'failed' && /damaged or lost/.test(state.reason), JSON.stringify(state));
    assert.equal(extractions, 0);

    const other = await createFile();
    await runHandler(other, createHandler(extract));
    const found = await texts.findDocument(OWNER, other.id);
    assert.ok(found.type === 'ready');
    await changeDiskBlob(blobFolder, (await listTextBlobs()).at(-1) ?? '', flipBitAt(0));
    await assert.rejects(found.read(), (thrown: Error) => {
      assert.ok(isFileDamaged(thrown) && thrown.message.includes(`[id:${other.id}]`), String(thrown));
      return true;
    });
    await removeAllFiles();
  });

  it('stores the reason of a failed extraction, and never changes the first outcome', async () => {
    const file = await createFile();
    await runHandler(
      file,
      createHandler(async () => ({ type: 'failed', reason: 'It is a picture.' })),
    );
    const failed = { state: 'failed', reason: 'It is a picture.' };
    assert.deepEqual(await getState(file), failed);
    await createHandler(assert.fail).giveUp?.(await findJob(file), new Error('x'));
    assert.deepEqual(await getState(file), failed);
    await runHandler(file, createHandler(assert.fail));
    await removeAllFiles();
  });

  it('reports to the owner when the extraction was given up', async () => {
    const file = await createFile();
    const failingHandler = createHandler(() => Promise.reject(new Error('no process could be started')));
    await assert.rejects(runHandler(file, failingHandler), /no process/);
    assert.deepEqual(await getState(file), { state: 'waiting' });
    await failingHandler.giveUp?.(await findJob(file), new Error('x'));
    assert.equal((await getState(file))?.state, 'failed');
    await removeAllFiles();
  });

  it('reports to the owner when the operator cancelled the extraction', async () => {
    const file = await createFile();
    await createHandler(() => assert.fail('a cancelled job extracts nothing')).cancel?.(await findJob(file));
    const reason = 'The operator cancelled the text extraction of this file.';
    assert.deepEqual(await getState(file), { state: 'failed', reason });
    await removeAllFiles();
  });

  it('removes the text of an attempt that failed before the text was recorded', async () => {
    const file = await createFile();
    const parse = () => Promise.reject(new Error('the store failed'));
    const broken = createHandler(async () => createText('first'), {
      texts: { ...store.texts, completeParsing: parse },
    });
    await assert.rejects(runHandler(file, broken), /the store failed/);
    const [orphan] = await listTextBlobs();
    await runHandler(
      file,
      createHandler(async () => createText('second')),
    );
    const after = await listTextBlobs();
    assert.ok(after.length === 1 && after[0] !== orphan);
    await removeAllFiles();
  });

  it('keeps one text of two concurrent extractions', async () => {
    const file = await createFile();
    let second: Promise<unknown> = Promise.resolve();
    const first = createHandler(async () => {
      second = runHandler(
        file,
        createHandler(async () => createText('of the second')),
      );
      await second;
      return createText('of the first');
    });
    await runHandler(file, first);
    const found = await texts.findDocument(OWNER, file.id);
    assert.equal(found.type === 'ready' && (await found.read()), 'of the second');
    assert.equal((await listTextBlobs()).length, 1);
    await removeAllFiles();
  });

  it('removes the text of a file that was deleted during the extraction', async () => {
    const file = await createFile();
    await runHandler(
      file,
      createHandler(async () => {
        await files.delete(OWNER, file.id);
        return createText('late');
      }),
    );
    assert.deepEqual(await listTextBlobs(), []);
    assert.equal(await getState(file), undefined);
  });

  it('removes the text of a file whose deletion was interrupted, and old texts without a record', async () => {
    const file = await createFile();
    await runHandler(
      file,
      createHandler(async () => createText('left')),
    );
    await blobs.put('text_orphan', createBytes('nobody knows it'));
    const retirement = { leaseUntil: nowMs + FILE_LEASE_MS, at: nowMs };
    const retired = await store.transaction(async ({ files: rows, fileTotals }) => {
      await fileTotals.lockUsage(OWNER);
      const row = await rows.retire(OWNER, file.id, retirement);
      await fileTotals.addUsage(OWNER, { files: -1, bytes: -(row?.bytes ?? 0) });
      return row;
    });
    assert.equal(retired?.blob, file.blob);
    await removeOrphanedBlobs({ store, blobs }, Date.now() + 60_000);
    assert.equal((await listTextBlobs()).includes('text_orphan'), false);
    assert.equal((await listTextBlobs()).length, 1);
    nowMs += FILE_LEASE_MS + 1;
    assert.equal(await removeExpiredReservations({ store, blobs, clock }), 1);
    assert.deepEqual(await listTextBlobs(), []);
    assert.equal(await getState(file), undefined);
  });
});

describe('files uploaded before text extraction existed', () => {
  for (const { name, dialect } of DIALECTS) {
    if (name === 'sqlite in memory') continue;
    it(`are extracted after the migration (${name})`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'parley-texts-'));
      const at = dialect(folder);
      const clock = { now: () => START, monotonic: () => 0 };
      const db = new Kysely<Database>({ dialect: await at.open() });
      try {
        const before = MIGRATIONS.findIndex((migration) => migration.name === '0006-texts');
        await migrate(db, { dialect: at, migrations: MIGRATIONS.slice(0, before), clock });
        const row = {
          state: 'active',
          region: 'cn-beijing',
          workspace: 'w',
          key_id: 'k',
          bytes: 1,
          changed_at: 5,
        } as const;
        const otherColumns = { number: 1, name: 'a', description: '', md5: '', created_at: 5, held_for: null };
        await db
          .insertInto('files')
          .values([
            { ...row, ...otherColumns, blob: 'upload_1', id: 'file-fe-1', sort_key: '1', purpose: 'file-extract' },
            { ...row, ...otherColumns, blob: 'upload_2', id: 'file-batch-2', sort_key: '2', purpose: 'batch' },
          ])
          .execute();
        await migrate(db, { dialect: at, migrations: MIGRATIONS, clock });
        const states = await db.selectFrom('texts').select(['blob', 'state']).execute();
        assert.deepEqual(
          states.map((each) => ({ ...each })),
          [{ blob: 'upload_1', state: 'waiting' }],
        );
        const jobs = await db.selectFrom('jobs').select(['id', 'kind', 'subject', 'state', 'due_at']).execute();
        assert.deepEqual(
          jobs.map((each) => ({ ...each })),
          [{ id: 'job_1', kind: 'extract', subject: 'file-fe-1', state: 'waiting', due_at: 5 }],
        );
      } finally {
        await db.destroy();
        await rm(folder, { recursive: true });
      }
    });
  }
});
