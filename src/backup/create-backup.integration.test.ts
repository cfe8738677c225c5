import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openDiskBlobStore } from '../blobs/disk-blob-store.ts';
import { systemClock } from '../lib/clock.ts';
import { isFileLocked } from '../lib/file-lock.ts';
import type { StoredBlobHashes } from '../store/blob-hashes.ts';
import type { ReferencedBlob } from '../store/referenced-blobs.ts';
import type { SnapshotSource } from '../store/snapshots/snapshot.ts';
import { getBackupLockPath } from './backup-lock.ts';
import { openBackupTarget, openExistingTarget, type BackupTarget } from './backup-target.ts';
import { createBackup } from './create-backup.ts';
import { listDataFiles, type LeftOutFile } from './data-files.ts';
import { BACKUP_FILE_BYTES_MAX } from './limits.ts';
import { markDamage } from './mark-damage.ts';
import { removeOldBackups } from './remove-old-backups.ts';
import { findBackup, prepareRestoreFolder, restoreBackup, verifyBackup, type ObjectDamage } from './restore-backup.ts';

const NEVER = new AbortController().signal;

const toStream = async function* (text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
};

async function createService(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-create-backup-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const data = join(folder, 'data');
  mkdirSync(data);
  writeFileSync(join(data, 'download-secret'), 'secret', { mode: 0o600 });
  const blobs = await openDiskBlobStore({ folder: join(data, 'blobs') });
  const referenced: ReferencedBlob[] = [];
  const hashes = new Map<string, StoredBlobHashes>();
  const put = async (name: string, text: string): Promise<void> => {
    const { sizeBytes, md5 } = await blobs.put(name, toStream(text));
    referenced.push({ name, sizeBytes, md5, isRequired: true });
  };
  const source: SnapshotSource = {
    kind: 'sqlite',
    getSizeBytes: () => Promise.resolve(8),
    async write(file) {
      writeFileSync(file, 'database');
      assert.equal(isFileLocked(getBackupLockPath(data)), true);
      return { migrations: ['0001-keys'], blobs: [...referenced] };
    },
    openHashes: async () => ({ find: async (blob) => hashes.get(blob), close: async () => undefined }),
  };
  /** Stores a text or a received part, of which the database has hashes of blocks and no MD5. */
  const putHashed = async (name: string, text: string): Promise<void> => {
    const { sizeBytes, blockHashes } = await blobs.put(name, toStream(text));
    hashes.set(name, { sizeBytes, hashes: blockHashes });
    referenced.push({ name, sizeBytes, md5: undefined, isRequired: true });
  };
  const openTarget = async (): Promise<BackupTarget> =>
    await openBackupTarget({
      blobs: await openDiskBlobStore({ folder: join(folder, 'target') }),
      label: 'target',
      secret: undefined,
    });
  const run = async (target: BackupTarget, options: Partial<Parameters<typeof createBackup>[0]> = {}) =>
    await createBackup({
      dataFolder: data,
      source,
      databasePath: 'parley.db',
      blobs,
      listFiles: () => listDataFiles(data, { configFile: undefined, excluded: new Set() }),
      target,
      workFolder: join(folder, 'work'),
      version: '1.0.0',
      clock: systemClock,
      signal: NEVER,
      ...options,
    });
  let lastDamage: readonly ObjectDamage[] = [];
  const restore = async (target: BackupTarget, id?: string, allowDamaged = false) => {
    const to = mkdtempSync(join(folder, 'restored-'));
    const manifest = await findBackup(target, id);
    await prepareRestoreFolder(to, manifest);
    lastDamage = await restoreBackup(target, manifest, {
      allowDamaged,
      folder: to,
      blobs: await openDiskBlobStore({ folder: join(to, 'blobs') }),
      checkDatabase: () => Promise.resolve(),
      relocateFiles: () => Promise.resolve(),
      signal: NEVER,
    });
    return to;
  };
  const getBlobPath = (name: string): string => {
    const entry = readdirSync(join(data, 'blobs'), { recursive: true, withFileTypes: true }).find(
      (each) => each.name === name,
    );
    return entry ? join(entry.parentPath, entry.name) : assert.fail(name);
  };
  return {
    folder,
    data,
    blobs,
    referenced,
    put,
    putHashed,
    openTarget,
    run,
    restore,
    getDamage: () => lastDamage,
    getBlobPath,
  };
}

describe('backup', () => {
  it('restores database, secrets and contents, and leaves neither lock nor copy behind', async (t) => {
    const { folder, data, put, openTarget, run, restore } = await createService(t);
    await put('upload_1', 'one');
    const target = await openTarget();
    await run(target);
    assert.deepEqual([existsSync(getBackupLockPath(data)), readdirSync(join(folder, 'work'))], [false, []]);
    const to = await restore(target);
    assert.equal(readFileSync(join(to, 'parley.db'), 'utf8'), 'database');
    assert.equal(readFileSync(join(to, 'download-secret'), 'utf8'), 'secret');
    const restored = await openDiskBlobStore({ folder: join(to, 'blobs') });
    assert.equal(String((await (await restored.read('upload_1')).toArray())[0]), 'one');
  });

  it('completes without a damaged or missing blob, and names both', async (t) => {
    const { put, openTarget, run, restore, getBlobPath, referenced } = await createService(t);
    for (const name of ['upload_1', 'upload_2', 'upload_3']) await put(name, name);
    writeFileSync(getBlobPath('upload_1'), 'changed!');
    rmSync(getBlobPath('upload_2'));
    referenced.push({ name: 'audio_1', sizeBytes: 1, md5: undefined, isRequired: false });
    const target = await openTarget();
    const { manifest } = await run(target);
    assert.deepEqual(
      manifest.problems.map(({ blob, problem }) => [blob, problem.split(':')[0]]),
      [
        ['upload_1', 'damaged'],
        ['upload_2', 'missing'],
      ],
    );
    assert.deepEqual(
      manifest.blobs.map(({ name }) => name),
      ['upload_3'],
    );
    assert.ok(!(await target.listObjects()).has('upload_1'));
    await restore(target);
  });

  it('names a damaged or missing text or part by its block hashes, although it has no MD5', async (t) => {
    const { putHashed, openTarget, run, getBlobPath } = await createService(t);
    for (const name of ['text_1', 'part_1', 'text_2']) await putHashed(name, name);
    writeFileSync(getBlobPath('text_1'), 'Text_1');
    rmSync(getBlobPath('part_1'));
    const target = await openTarget();
    const { manifest } = await run(target);
    assert.deepEqual(
      manifest.problems.map(({ blob, problem }) => [blob, problem.split(' has ')[0]]),
      [
        ['text_1', 'damaged: the block at 0'],
        ['part_1', 'missing'],
      ],
    );
    assert.deepEqual(
      manifest.blobs.map(({ name }) => name),
      ['text_2'],
    );
    assert.ok(!(await target.listObjects()).has('text_1'));
  });

  it('copies what is there no second time, and again what an interrupted backup damaged', async (t) => {
    const { put, openTarget, run } = await createService(t);
    await put('upload_1', 'one');
    const target = await openTarget();
    await run(target);
    await put('upload_2', 'two');
    await put('upload_3', 'three');
    // As interrupted backups leave them.
    await target.write('upload_2', toStream('two'));
    await target.write('upload_3', toStream('thref'));
    const { copied } = await run(target);
    assert.deepEqual(copied, { count: 1, bytes: 5 });
    const manifest = await findBackup(target, undefined);
    assert.deepEqual(await verifyBackup(target, manifest, { signal: NEVER }), []);
  });

  it('copies a blob again that was marked as damaged, which repairs the older backups', async (t) => {
    const { put, referenced, openTarget, run, restore } = await createService(t);
    for (const name of ['upload_1', 'upload_2']) await put(name, name);
    // Texts and parts of uploads have no MD5.
    referenced[0] = { name: 'upload_1', sizeBytes: 8, md5: undefined, isRequired: true };
    const target = await openTarget();
    const { manifest: first } = await run(target);
    await target.write('upload_1', toStream('Upload_1'));
    const damage = await verifyBackup(target, first, { signal: NEVER });
    assert.deepEqual(damage, [{ name: 'upload_1', problem: 'its SHA-256 differs' }]);
    assert.deepEqual(await markDamage(target, first, damage), ['upload_1']);
    assert.equal((await removeOldBackups(target, 1)).objects, 0, 'the mark stays');
    assert.deepEqual((await run(target)).copied, { count: 1, bytes: 8 });
    assert.deepEqual(await verifyBackup(target, first, { signal: NEVER }), []);
    await restore(target, first.id);
    assert.deepEqual((await run(target)).copied, { count: 0, bytes: 0 }, 'the mark is removed');
  });

  it('marks no database and no file, of which each backup has its own', async (t) => {
    const { openTarget, run } = await createService(t);
    const target = await openTarget();
    const { manifest } = await run(target);
    const damage = [manifest.database, ...manifest.files].map(({ name }) => ({ name, problem: 'is missing' }));
    assert.deepEqual(await markDamage(target, manifest, damage), []);
  });

  it('restores everything but damaged contents and files on demand, and never a damaged database', async (t) => {
    const { put, openTarget, run, restore, getDamage } = await createService(t);
    for (const name of ['upload_1', 'upload_2', 'upload_3']) await put(name, name);
    const target = await openTarget();
    const { manifest } = await run(target);
    await target.write('upload_1', toStream('Upload_1'));
    await target.remove('upload_2');
    const secret = manifest.files[0]?.name ?? assert.fail();
    await target.write(secret, toStream('secreT'));
    await assert.rejects(restore(target), /3 of its objects are unusable/);
    const to = await restore(target, undefined, true);
    assert.deepEqual(
      getDamage().map(({ name }) => name),
      ['upload_1', 'upload_2', secret],
    );
    const names = readdirSync(to, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    assert.deepEqual(names.map(({ name }) => name).toSorted(), ['parley.db', 'upload_3']);
    await target.write(manifest.database.name, toStream('Database'));
    await assert.rejects(restore(target, undefined, true), /4 of its objects are unusable/);
  });

  it('removes the copy of the database that a killed backup has left, and no other file', async (t) => {
    const { folder, openTarget, run } = await createService(t);
    const work = join(folder, 'work');
    mkdirSync(work);
    for (const name of ['20260102T030405006Z-abcdef.db', 'before-0002-conversations-20260102T030405006Z.db'])
      writeFileSync(join(work, name), '');
    await run(await openTarget());
    assert.deepEqual(readdirSync(work), ['before-0002-conversations-20260102T030405006Z.db']);
  });

  it('is one at a time', async (t) => {
    const { openTarget, run, data, blobs } = await createService(t);
    const target = await openTarget();
    let second: unknown;
    await run(target, {
      async listFiles() {
        second = await run(target).catch((thrown: unknown) => thrown);
        return [];
      },
    });
    assert.match(String(second), /Another backup is running/);
    assert.equal(isFileLocked(getBackupLockPath(data)), false);
    await blobs.close();
  });

  it('does not exist after a failure or an abort, and ends the lock', async (t) => {
    const { openTarget, run, data } = await createService(t);
    const target = await openTarget();
    const stop = new AbortController();
    const listFiles = () => {
      stop.abort(new Error('stopped'));
      return Promise.resolve([]);
    };
    await assert.rejects(run(target, { signal: stop.signal, listFiles }), /stopped/);
    await assert.rejects(run(target, { listFiles: () => Promise.reject(new Error('broken')) }), /broken/);
    assert.equal(isFileLocked(getBackupLockPath(data)), false);
    await assert.rejects(findBackup(target, undefined), /no complete backup/);
  });

  it('keeps the newest backups with all their objects, and removes everything else', async (t) => {
    const { put, referenced, openTarget, run, restore } = await createService(t);
    const target = await openTarget();
    await put('upload_1', 'one');
    await put('upload_2', 'two');
    const first = await run(target);
    referenced.shift();
    const second = await run(target);
    await target.write('upload_of_an_interrupted_backup', toStream('x'));
    assert.deepEqual((await removeOldBackups(target, 2)).backups, []);
    const removed = await removeOldBackups(target, 1);
    assert.deepEqual(removed.backups, [first.manifest.id]);
    const names = [...(await target.listObjects()).keys()];
    assert.deepEqual(
      names.filter((name) => name.startsWith('upload')),
      ['upload_2'],
    );
    await restore(target, second.manifest.id);
    await assert.rejects(restore(target, first.manifest.id), /There is no backup/);
  });

  it('continues behind a damaged manifest, names it, and keeps every content that it may need', async (t) => {
    const { put, referenced, openTarget, run, restore } = await createService(t);
    const target = await openTarget();
    await put('upload_1', 'one');
    await put('upload_2', 'two');
    const { manifest: first } = await run(target);
    referenced.shift();
    const { manifest: second } = await run(target);
    await target.write(`manifest_${second.id}`, toStream('{'));
    const unreadable: string[] = [];
    const third = await run(target, { onUnreadable: (id) => unreadable.push(id) });
    assert.deepEqual([third.copied.count, unreadable], [0, [second.id]]);
    await assert.rejects(findBackup(target, second.id), /name one with --at/);
    const removed = await removeOldBackups(target, 1);
    assert.deepEqual([removed.backups, removed.unreadable], [[first.id], [second.id]]);
    const names = [...(await target.listObjects()).keys()];
    for (const name of ['upload_1', 'upload_2', second.database.name, `manifest_${second.id}`])
      assert.ok(names.includes(name), name);
    assert.ok(!names.some((name) => name.includes(first.id)), 'database and files of the removed backup');
    await target.remove(`manifest_${second.id}`);
    await removeOldBackups(target, 1);
    assert.ok(!(await target.listObjects()).has('upload_1'));
    await restore(target, third.manifest.id);
    await assert.rejects(restore(target, first.id), /There is no backup/);
  });

  it('refuses a target with other content, and one without backups', async (t) => {
    const { folder } = await createService(t);
    const blobs = await openDiskBlobStore({ folder: join(folder, 'other') });
    const options = { blobs, label: 'other', secret: undefined };
    await assert.rejects(openExistingTarget(options), /There are no backups in other/);
    await blobs.put('upload_1', toStream('x'));
    await assert.rejects(openBackupTarget(options), /other is not empty/);
  });

  it('is restored to an empty location only, and a failed restore leaves nothing there', async (t) => {
    const { folder, put, openTarget, run } = await createService(t);
    await put('upload_1', 'one');
    await put('upload_2', 'two');
    const target = await openTarget();
    const { manifest } = await run(target);
    const blobs = await openDiskBlobStore({ folder: join(folder, 'bucket') });
    const listNames = async () => (await Array.fromAsync(blobs.list())).map(({ name }) => name);
    const restoreTo = async (location: typeof blobs, relocateFiles: () => Promise<void>) => {
      const to = mkdtempSync(join(folder, 'restored-'));
      const options = { folder: to, blobs: location, relocateFiles, checkDatabase: () => Promise.resolve() };
      const error: unknown = await restoreBackup(target, manifest, { ...options, signal: NEVER }).catch(
        (thrown: unknown) => thrown,
      );
      return { error: String(error), names: readdirSync(to) };
    };
    let copied: readonly string[] = [];
    const fail = async () => {
      copied = (await listNames()).toSorted();
      throw new Error('no configuration');
    };
    assert.deepEqual(await restoreTo(blobs, fail), { error: 'Error: no configuration', names: [] });
    assert.deepEqual([copied, await listNames()], [['upload_1', 'upload_2'], []]);

    const undeletable = { ...blobs, delete: () => Promise.reject(new Error('denied')) };
    assert.match((await restoreTo(undeletable, fail)).error, /2 objects of this restore could not be removed/);
    for (const name of await listNames()) await blobs.delete(name);

    await blobs.put('upload_of_another_service', toStream('x'));
    const refused = await restoreTo(blobs, () => Promise.resolve());
    assert.match(refused.error, /not empty: it has upload_of_another_service/);
    assert.deepEqual([refused.names, await listNames()], [[], ['upload_of_another_service']]);
  });

  it('has every small file of the data folder, whatever its name, and no lock, log or state of a process', async (t) => {
    const { data, folder } = await createService(t);
    const config = join(folder, 'elsewhere.yaml');
    for (const name of [
      'future-secret',
      'parley.db',
      'parley.db-wal',
      'parley.db-reserve',
      'backup.lock',
      'server.json',
      'service.lock',
      'x.tmp',
    ])
      writeFileSync(join(data, name), '');
    writeFileSync(config, '');
    const leftOut: LeftOutFile[] = [];
    const files = await listDataFiles(data, {
      configFile: config,
      excluded: new Set([join(data, 'parley.db'), getBackupLockPath(data)]),
      onLeftOut: (file) => leftOut.push(file),
    });
    assert.deepEqual(
      files.map(({ path }) => path),
      ['download-secret', 'future-secret', 'parley.yaml'],
    );
    assert.deepEqual(leftOut, [{ path: 'x.tmp', sizeBytes: 0, reason: 'lock, log or unfinished file by its name' }]);
  });

  it('follows links to secrets, and reports what is left out', async (t) => {
    const { data, folder, openTarget, run, restore } = await createService(t);
    // As Kubernetes mounts a secret.
    mkdirSync(join(data, '..2026_11_27'));
    writeFileSync(join(data, '..2026_11_27', 'operator-token'), 'token', { mode: 0o640 });
    symlinkSync('..2026_11_27', join(data, '..data'));
    symlinkSync('..data/operator-token', join(data, 'operator-token'));
    symlinkSync('missing', join(data, 'callback-secret'));
    writeFileSync(join(folder, 'large'), '');
    truncateSync(join(folder, 'large'), BACKUP_FILE_BYTES_MAX + 1);
    symlinkSync(join(folder, 'large'), join(data, 'large'));
    const leftOut: LeftOutFile[] = [];
    const target = await openTarget();
    await run(target, {
      listFiles: () =>
        listDataFiles(data, {
          configFile: undefined,
          excluded: new Set([getBackupLockPath(data)]),
          onLeftOut: (file) => leftOut.push(file),
        }),
    });
    const to = await restore(target);
    assert.equal(readFileSync(join(to, 'operator-token'), 'utf8'), 'token');
    assert.equal(lstatSync(join(to, 'operator-token')).isSymbolicLink(), false);
    assert.deepEqual(
      leftOut.map(({ path, reason }) => `${path}: ${reason}`).toSorted((a, b) => (a < b ? -1 : 1)),
      ['..data: link to a folder', 'callback-secret: link to nothing', 'large: larger than 16777216 bytes'],
    );
    assert.equal(leftOut.find(({ path }) => path === 'large')?.sizeBytes, BACKUP_FILE_BYTES_MAX + 1);
  });

  it('has the configuration that the service uses, and no other', async (t) => {
    const { data, folder } = await createService(t);
    const [unused, elsewhere, inside] = [join(data, 'parley.yaml'), join(folder, 'used.yaml'), join(data, 'used.yaml')];
    for (const file of [unused, elsewhere, inside]) writeFileSync(file, '');
    const list = async (configFile: string) => {
      const leftOut: string[] = [];
      const files = await listDataFiles(data, {
        configFile,
        excluded: new Set(),
        onLeftOut: ({ path, reason }) => leftOut.push(`${path}: ${reason}`),
      });
      return { files: files.map(({ path, source }) => [path, source]), leftOut };
    };
    const secret = ['download-secret', join(data, 'download-secret')];
    for (const used of [elsewhere, inside])
      assert.deepEqual(await list(used), {
        files: [secret, ['parley.yaml', used], ...(used === inside ? [] : [['used.yaml', inside]])],
        leftOut: [`parley.yaml: not the configuration that is used: ${used}`],
      });
    const { files, leftOut } = await list(unused);
    assert.deepEqual([files, leftOut], [[secret, ['parley.yaml', unused], ['used.yaml', inside]], []]);
  });
});
