import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { openDiskBlobStore } from './disk-blob-store.ts';

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('bytes');
}

describe('disk blob store', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-disk-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('creates files and folders for the process owner only and spreads blobs over folders', async () => {
    const storeFolder = join(folder, 'owned');
    const store = await openDiskBlobStore({ folder: storeFolder });
    for (let number = 0; number < 20; number += 1) await store.put(`file-0190000000-${number}`, bytes());
    const folders = (await readdir(storeFolder)).filter((name) => name !== 'incoming');
    assert.ok(folders.length > 10, `${folders.length} folders`);
    for (const entry of await readdir(storeFolder, { recursive: true, withFileTypes: true })) {
      const { mode } = await stat(join(entry.parentPath, entry.name));
      assert.equal(mode & 0o777, entry.isDirectory() ? 0o700 : 0o600, entry.name);
    }
  });

  it('ignores other files of its folder', async () => {
    const storeFolder = join(folder, 'shared');
    const store = await openDiskBlobStore({ folder: storeFolder });
    await store.put('file-1', bytes());
    await writeFile(join(storeFolder, 'README.md'), 'not a blob');
    const names: string[] = [];
    for await (const { name } of store.list()) names.push(name);
    assert.deepEqual(names, ['file-1']);
    assert.equal(await store.removeStaleUploads(Date.now() + 60_000), 0);
    assert.ok((await readdir(storeFolder)).includes('README.md'));
  });

  it('throws an internal error without a path when the disk fails', async () => {
    const storeFolder = join(folder, 'a-file');
    await writeFile(storeFolder, '');
    await assert.rejects(openDiskBlobStore({ folder: storeFolder }), (thrown) => {
      assert.ok(thrown instanceof ServiceError);
      assert.equal(thrown.kind, 'internal');
      assert.ok(!thrown.message.includes('a-file'));
      return true;
    });
    const removed = join(folder, 'removed');
    const store = await openDiskBlobStore({ folder: removed });
    await rm(removed, { recursive: true });
    await assert.rejects(store.put('file-1', bytes()), /internal error/);
  });
});
