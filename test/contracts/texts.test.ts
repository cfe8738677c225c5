import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Kysely } from 'kysely';
import { openDisk } from '../../src/blobs/disk.ts';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { systemIds } from '../../src/core/id.ts';
import { FILE_LEASE_MS } from '../../src/core/limits.ts';
import type { Extracted } from '../../src/documents/document.ts';
import type { JobHandler } from '../../src/jobs/handler.ts';
import { extractJob } from '../../src/jobs/kinds/extract.ts';
import type { Files } from '../../src/resources/files/file.ts';
import { createFiles } from '../../src/resources/files/service.ts';
import { sweepExpired, sweepOrphans } from '../../src/resources/files/sweep.ts';
import { createTexts, type Texts } from '../../src/resources/texts/service.ts';
import { migrate } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import type { Database } from '../../src/store/schema/database.ts';
import type { FileRecord } from '../../src/store/files.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

const START = 1_790_000_000_123;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const LIMITS = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
const textOf = (text: string): Extracted => ({
  type: 'text',
  kind: 'text',
  text: Buffer.from(text),
  chars: text.length,
});

for (const { name, dialect } of DIALECTS) {
  describe(`texts of files on ${name}`, () => {
    let folder = '';
    let store: Store;
    let blobs: BlobStore;
    let files: Files;
    let texts: Texts;
    let nowMs = START;
    let rung = 0;
    const clock = { now: () => nowMs, monotonic: () => nowMs - START };

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-texts-'));
      store = await openStore({ dialect: dialect(folder) });
      blobs = await openDisk({ folder: join(folder, 'blobs') });
      const bell = { ring: () => void rung++ };
      files = createFiles({ store, blobs, clock, bell, log: { warn: assert.fail }, limitsOf: () => LIMITS });
      texts = createTexts({ store, blobs });
    });
    after(async () => {
      await files.close();
      await store.close();
      await rm(folder, { recursive: true });
    });

    const put = async (purpose = 'file-extract'): Promise<FileRecord> => {
      const received = await files.receive(OWNER, bytes('the bytes'));
      const draft = { name: 'a.txt', description: '', purpose };
      const [kept] = await files.keep(OWNER, [{ received, draft }]);
      return kept ?? assert.fail();
    };
    const handler = (extract: () => Promise<Extracted>, part: Partial<Store> = {}): JobHandler =>
      extractJob({ store: { ...store, ...part }, blobs, extract, ids: systemIds, clock });
    const jobOf = async ({ id }: FileRecord) =>
      (await store.jobs.findBySubject('extract', id)) ?? assert.fail('no job');
    const run = async (file: FileRecord, with_: JobHandler) => {
      const signal = new AbortController().signal;
      return await with_.run({ job: await jobOf(file), signal, report: () => undefined });
    };
    const stateOf = async (file: FileRecord) => (await texts.statesOf([file])).get(file.id);
    const textBlobs = async () => {
      const names: string[] = [];
      for await (const { name: each } of blobs.list()) if (each.startsWith('text_')) names.push(each);
      return names;
    };
    const clear = async () => {
      for (const { id } of await files.list(OWNER, { limit: 100 })) await files.delete(OWNER, id);
      assert.deepEqual(await textBlobs(), []);
    };

    it('has a job and a waiting text for each file that is sent for it, and for no other', async () => {
      const rings = rung;
      const [file, other] = [await put(), await put('batch')];
      assert.deepEqual(await stateOf(file), { state: 'waiting' });
      assert.equal((await jobOf(file)).state, 'waiting');
      assert.equal(rung, rings + 1);
      assert.equal(await stateOf(other), undefined);
      assert.equal(await store.jobs.findBySubject('extract', other.id), undefined);
      assert.deepEqual(await texts.findDocument(OWNER, file.id), { type: 'waiting' });
      await clear();
      assert.equal(await store.jobs.findBySubject('extract', file.id), undefined);
    });

    it('gives the text to its owner and to nobody else', async () => {
      const file = await put();
      assert.deepEqual(
        await run(
          file,
          handler(async () => textOf('grün 中')),
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
        const refused = await texts.findDocument(stranger, file.id);
        assert.deepEqual(refused, { type: 'refused', message: `Invalid file [id:${file.id}].` });
      }
      await clear();
    });

    it('keeps why there is none, and the first word is the last', async () => {
      const file = await put();
      await run(
        file,
        handler(async () => ({ type: 'failed', reason: 'It is a picture.' })),
      );
      const failed = { state: 'failed', reason: 'It is a picture.' };
      assert.deepEqual(await stateOf(file), failed);
      await handler(assert.fail).giveUp?.(await jobOf(file), new Error('x'));
      assert.deepEqual(await stateOf(file), failed);
      await run(file, handler(assert.fail));
      await clear();
    });

    it('tells its owner when nobody could read it', async () => {
      const file = await put();
      const broken = handler(() => Promise.reject(new Error('no process could be started')));
      await assert.rejects(run(file, broken), /no process/);
      assert.deepEqual(await stateOf(file), { state: 'waiting' });
      await broken.giveUp?.(await jobOf(file), new Error('x'));
      assert.equal((await stateOf(file))?.state, 'failed');
      await clear();
    });

    it('tells its owner when the operator cancelled it', async () => {
      const file = await put();
      await handler(() => assert.fail('nobody reads it')).cancel?.(await jobOf(file));
      const reason = 'The file was not read: the operator of the service has cancelled that.';
      assert.deepEqual(await stateOf(file), { state: 'failed', reason });
      await clear();
    });

    it('leaves nothing of an attempt that broke off between the text and its record', async () => {
      const file = await put();
      const parse = () => Promise.reject(new Error('the process is gone'));
      const broken = handler(async () => textOf('first'), { texts: { ...store.texts, parse } });
      await assert.rejects(run(file, broken), /the process is gone/);
      const [left] = await textBlobs();
      await run(
        file,
        handler(async () => textOf('second')),
      );
      const after = await textBlobs();
      assert.ok(after.length === 1 && after[0] !== left);
      await clear();
    });

    it('keeps the text of the last of two that read it at once', async () => {
      const file = await put();
      let second: Promise<unknown> = Promise.resolve();
      const first = handler(async () => {
        second = run(
          file,
          handler(async () => textOf('of the second')),
        );
        await second;
        return textOf('of the first');
      });
      await run(file, first);
      const found = await texts.findDocument(OWNER, file.id);
      assert.equal(found.type === 'ready' && (await found.read()), 'of the second');
      assert.equal((await textBlobs()).length, 1);
      await clear();
    });

    it('is gone with a file that was deleted while it was read', async () => {
      const file = await put();
      await run(
        file,
        handler(async () => {
          await files.delete(OWNER, file.id);
          return textOf('late');
        }),
      );
      assert.deepEqual(await textBlobs(), []);
      assert.equal(await stateOf(file), undefined);
    });

    it('is swept with a file whose deletion broke off, and without a record when it is old', async () => {
      const file = await put();
      await run(
        file,
        handler(async () => textOf('left')),
      );
      await blobs.put('text_orphan', bytes('nobody knows it'));
      const wish = { leaseUntil: nowMs + FILE_LEASE_MS, at: nowMs };
      const retired = await store.transaction(async ({ files: rows, fileTotals }) => {
        await fileTotals.lock(OWNER);
        const row = await rows.retire(OWNER, file.id, wish);
        await fileTotals.add(OWNER, { files: -1, bytes: -(row?.bytes ?? 0) });
        return row;
      });
      assert.equal(retired?.blob, file.blob);
      await sweepOrphans({ store, blobs }, Date.now() + 60_000);
      assert.equal((await textBlobs()).includes('text_orphan'), false);
      assert.equal((await textBlobs()).length, 1);
      nowMs += FILE_LEASE_MS + 1;
      assert.equal(await sweepExpired({ store, blobs, clock }), 1);
      assert.deepEqual(await textBlobs(), []);
      assert.equal(await stateOf(file), undefined);
    });
  });
}

describe('files that came in before their texts were read', () => {
  for (const { name, dialect } of DIALECTS) {
    if (name === 'sqlite in memory') continue;
    it(`are read after the update, on ${name}`, async () => {
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
        const facts = { number: 1, name: 'a', description: '', md5: '', created_at: 5, held_for: null };
        await db
          .insertInto('files')
          .values([
            { ...row, ...facts, blob: 'upload_1', id: 'file-fe-1', sort_key: '1', purpose: 'file-extract' },
            { ...row, ...facts, blob: 'upload_2', id: 'file-batch-2', sort_key: '2', purpose: 'batch' },
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
