import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { changeDiskBlob, flipBitAt } from '../blobs/__fixtures__/change-disk-blob.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { openDiskBlobStore } from '../blobs/disk-blob-store.ts';
import { BLOB_BLOCK_BYTES } from '../blobs/limits.ts';
import { createVerifiedBlobStore } from '../blobs/verified-blob-store.ts';
import { INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';
import type { Weights } from '../core/weights.ts';
import type { Files } from '../resources/files/file.ts';
import { FILE_ORPHAN_AGE_MS } from '../resources/files/limits.ts';
import { createFiles } from '../resources/files/service.ts';
import { lockDatabaseFile } from '../store/__fixtures__/lock-database-file.ts';
import { createSqliteDialect } from '../store/dialects/sqlite.ts';
import type { FileRecord } from '../store/files.ts';
import { openStore, type Store } from '../store/store.ts';
import { createCheckCommand, type CheckedData } from './check-command.ts';

const OWNER = { region: 'cn-beijing', workspace: 'w', keyId: 'key_1' } as const;
const LIMITS = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
const quiet = () => undefined;

interface CheckOutput {
  readonly ok: boolean;
  readonly problems: readonly { area: string; subject: string; problem: string; action: string }[];
  readonly notes: readonly { subject: string; problem: string }[];
  readonly checked: { blobs: number; blobs_without_hashes: number; weights_files: number };
}

describe('parley check', () => {
  let folder = '';
  let blobFolder = '';
  /** Connection of the running server, which stays open during the checks. */
  let store: Store;
  let blobs: BlobStore;
  let files: Files;
  let weights: Weights[] = [];
  let openBlobs: CheckedData['openBlobs'];
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-check-'));
    blobFolder = join(folder, 'blobs');
    weights = [];
    openBlobs = () => openDiskBlobStore({ folder: blobFolder });
    store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
    blobs = createVerifiedBlobStore(await openDiskBlobStore({ folder: blobFolder }), {
      hashes: store.blobHashes,
      onDamage: quiet,
    });
    files = createFiles({ store, blobs, clock, log: { warn: quiet }, getLimits: () => LIMITS });
  });
  afterEach(async () => {
    await files.close();
    await store.close();
    await rm(folder, { recursive: true });
  });

  async function run(args: readonly string[]) {
    let [output, progress, exitCode] = ['', '', 0];
    const command = createCheckCommand({
      clock,
      stdout: { write: (text) => (output += text) },
      stderr: { write: (text) => (progress += text) },
      setExitCode: (code) => (exitCode = code),
      open: async () => ({
        databaseFile: join(folder, 'parley.db'),
        modelsFolder: join(folder, 'models'),
        weights,
        weightsStore: { list: async () => [] },
        openBlobs: () => openBlobs(),
      }),
    });
    await command.parseAsync(args, { from: 'user' });
    return { output, progress, exitCode };
  }
  const runJson = async (...args: readonly string[]) => {
    const { output, exitCode } = await run(['--json', ...args]);
    return { ...(JSON.parse(output) as CheckOutput), exitCode };
  };

  const upload = async (bytes: Uint8Array): Promise<FileRecord> => {
    async function* source(): AsyncGenerator<Uint8Array> {
      yield bytes;
    }
    const received = await files.receive(OWNER, source());
    const [file] = await files.commit(OWNER, [{ received, draft: { name: 'a', description: '', purpose: 'batch' } }]);
    return file ?? assert.fail();
  };

  it('finds nothing beside a running service, prints plain lines and exits with 0', async () => {
    await upload(Buffer.alloc(3 * BLOB_BLOCK_BYTES, 'parley'));
    const { output, progress, exitCode } = await run([]);
    assert.match(output, /^checked: the database, 1 stored files, 0 files of weights\nno problems found\n$/);
    assert.match(progress, /^checking database\nchecking files 0 % 0 B of 786 kB\nchecking weights\n$/);
    assert.equal(exitCode, 0);
  });

  it('prints one JSON object, also with --full', async () => {
    await upload(Buffer.from('x'));
    const { ok, problems, notes, checked, exitCode } = await runJson('--full');
    assert.deepEqual(
      { ok, problems, notes, checked, exitCode },
      {
        ok: true,
        problems: [],
        notes: [],
        checked: { blobs: 1, blobs_without_hashes: 0, weights_files: 0 },
        exitCode: 0,
      },
    );
  });

  it('names every file whose bytes are changed, cut or missing, what is wrong and what to do', async () => {
    const intact = await upload(Buffer.from('intact'));
    const flipped = await upload(Buffer.alloc(2 * BLOB_BLOCK_BYTES, 1));
    const cut = await upload(Buffer.from('cut off'));
    const lost = await upload(Buffer.from('lost'));
    await changeDiskBlob(blobFolder, flipped.blob, flipBitAt(BLOB_BLOCK_BYTES + 5));
    await changeDiskBlob(blobFolder, cut.blob, (bytes) => bytes.subarray(1));
    await changeDiskBlob(blobFolder, lost.blob, () => undefined);
    const { ok, problems, exitCode } = await runJson();
    assert.deepEqual([ok, exitCode, problems.length], [false, 1, 3]);
    const findProblem = ({ id }: FileRecord) => problems.find(({ subject }) => subject.includes(id));
    assert.equal(findProblem(intact), undefined);
    assert.match(
      findProblem(flipped)?.problem ?? '',
      /^the block at 262144 has sha256 \w{64} instead of sha256 \w{64}$/,
    );
    assert.equal(findProblem(cut)?.problem, 'the block at 0 has 6 bytes instead of 7 bytes');
    assert.equal(findProblem(lost)?.problem, 'its bytes are missing');
    assert.ok(problems.every(({ action }) => /Upload the file again/.test(action)));
    assert.ok(problems.every(({ subject }) => subject.includes('blob upload_')));
  });

  it('compares files of an earlier version with their MD5', async () => {
    const [intact, changed] = [await upload(Buffer.from('intact')), await upload(Buffer.from('changed'))];
    for (const { blob } of [intact, changed]) await store.blobHashes.remove(blob);
    await changeDiskBlob(blobFolder, changed.blob, flipBitAt(0));
    const { problems, checked } = await runJson();
    assert.equal(checked.blobs_without_hashes, 2);
    assert.deepEqual(
      problems.map(({ subject, problem }) => [subject.includes(changed.id), problem]),
      [[true, 'its MD5 differs from that of the upload']],
    );
  });

  it('takes running and uncommitted uploads for what they are', async () => {
    const { promise: isSent, resolve: send } = Promise.withResolvers<void>();
    async function* paused(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      await isSent;
    }
    const receiving = files.receive(OWNER, paused());
    const received = await files.receive(
      OWNER,
      (async function* () {
        yield Buffer.from('not committed yet');
      })(),
    );
    assert.deepEqual((await runJson()).problems, []);
    send();
    await files.discard(OWNER, [received, await receiving]);
  });

  it('notes a blob without a row once it is older than any upload', async () => {
    const path = join(blobFolder, 'ab', 'upload_orphan');
    await mkdir(join(blobFolder, 'ab'), { recursive: true });
    await writeFile(path, 'bytes');
    assert.deepEqual((await runJson()).notes, []);
    const old = new Date(Date.now() - FILE_ORPHAN_AGE_MS - 60_000);
    await utimes(path, old, old);
    const { ok, notes } = await runJson();
    assert.ok(ok);
    assert.deepEqual(
      notes.map(({ subject, problem }) => [subject, problem]),
      [['blob upload_orphan', 'no row refers to it']],
    );
  });

  it('compares sums with rows, and names the statement that corrects them', async () => {
    const { sizeBytes } = await upload(Buffer.from('12345'));
    await store.transaction(async ({ fileTotals }) => {
      await fileTotals.lockUsage(OWNER);
      await fileTotals.addUsage(OWNER, { files: 2, bytes: 7 });
      await fileTotals.addToActiveCount(OWNER, 'batch', -1);
    });
    const { problems } = await runJson();
    assert.deepEqual(
      problems.map(({ area, subject, problem }) => [area, subject, problem]),
      [
        [
          'totals',
          'file_totals of cn-beijing/w',
          `it says 3 files, ${sizeBytes + 7} bytes, but there are 1 files, 5 bytes`,
        ],
        ['totals', 'file_counts of cn-beijing/w/batch', 'it says 0 files, but there are 1 files'],
      ],
    );
    assert.match(
      problems[0]?.action ?? '',
      /insert or replace into file_totals \(region, workspace, files, bytes\) values \('cn-beijing', 'w', 1, 5\)/,
    );
  });

  it('hashes the weights', async () => {
    const [good, bad] = [Buffer.from('good'), Buffer.from('bad')];
    const createFile = (name: string, bytes: Buffer) => ({
      name,
      sizeBytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      source: { type: 'packages', parts: [], sha256: '' } as const,
    });
    const task = 'vectors' as const;
    weights = [
      {
        id: 'vectors',
        licence: '',
        sources: [],
        contextTokensMax: 1,
        folder: { task, files: [createFile('a', good), createFile('b', good)] },
      },
    ];
    const weightsFolder = join(folder, 'models', 'vectors.onnx');
    await mkdir(weightsFolder, { recursive: true });
    await writeFile(join(weightsFolder, 'a'), good);
    await writeFile(join(weightsFolder, 'b'), bad);
    const { problems, checked, exitCode } = await runJson();
    assert.deepEqual([checked.weights_files, exitCode], [2, 1]);
    assert.deepEqual(
      problems.map(({ area, subject }) => [area, subject]),
      [['weights', join(weightsFolder, 'b')]],
    );
    assert.match(problems[0]?.action ?? '', /parley models rm vectors/);
    assert.ok((await runJson('--no-weights')).ok);
  });

  it('shows a bar on a terminal', async () => {
    await upload(Buffer.alloc(1000));
    let progress = '';
    const command = createCheckCommand({
      clock: { now: () => Date.now(), monotonic: () => (progress.length + 1) * 1_000 },
      stdout: { write: quiet },
      stderr: { isTTY: true, write: (text) => (progress += text) },
      setExitCode: quiet,
      open: async () => ({
        databaseFile: join(folder, 'parley.db'),
        modelsFolder: '',
        weights: [],
        weightsStore: { list: async () => [] },
        openBlobs: () => openDiskBlobStore({ folder: blobFolder }),
      }),
    });
    await command.parseAsync([], { from: 'user' });
    assert.match(progress, /\rchecking files \[\.{30}\] 0 % 0 B of 1\.0 kB/);
    assert.match(progress, /\rchecking files \[#{30}\] 100 % 1\.0 kB of 1\.0 kB/);
    assert.ok(progress.endsWith('\r\u001b[K'));
  });

  it('could not run while another process has the lock of the database', async () => {
    await store.close();
    const unlock = lockDatabaseFile(join(folder, 'parley.db'));
    await assert.rejects(run([]), (thrown) => {
      assert.ok(thrown instanceof ServiceError && thrown.kind === 'invalid-request');
      assert.match(thrown.message, /^The check could not run: .*parley\.db: database is locked$/);
      return true;
    });
    unlock();
    store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
  });

  it('prints why the blobs cannot be read, and what it found before', async () => {
    await store.transaction(({ fileTotals }) => fileTotals.lockUsage(OWNER));
    await store.transaction(({ fileTotals }) => fileTotals.addUsage(OWNER, { files: 2, bytes: 7 }));
    const cause = new Error('S3 list failed (no response): connect ECONNREFUSED');
    openBlobs = async () => ({
      ...(await openDiskBlobStore({ folder: blobFolder })),
      list() {
        throw new ServiceError('internal', INTERNAL_MESSAGE, { cause });
      },
    });
    await assert.rejects(run([]), (thrown) => {
      assert.ok(thrown instanceof ServiceError && thrown.kind === 'invalid-request');
      assert.match(
        thrown.message,
        /^The check could not run: S3 list failed .*ECONNREFUSED\nfound before: file_totals of .*: it says 2 files/,
      );
      return true;
    });
  });

  it('rejects as invalid, which exits with 2, when it could not run', async () => {
    await store.close();
    await rm(join(folder, 'parley.db'));
    await assert.rejects(run([]), (thrown) => {
      assert.ok(thrown instanceof ServiceError && thrown.kind === 'invalid-request');
      assert.match(thrown.message, /The check could not run: there is no database .*parley\.db/);
      return true;
    });
    store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'other.db') }) });
  });
});
