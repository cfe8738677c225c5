import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { openDisk } from './disk.ts';

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('bytes');
}

describe('blobs on disk', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-disk-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('are for their owner alone, spread over folders', async () => {
    const place = join(folder, 'owned');
    const store = await openDisk({ folder: place });
    for (let number = 0; number < 20; number += 1) await store.put(`file-0190000000-${number}`, bytes());
    const folders = (await readdir(place)).filter((name) => name !== 'incoming');
    assert.ok(folders.length > 10, `${folders.length} folders`);
    for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
      const { mode } = await stat(join(entry.parentPath, entry.name));
      assert.equal(mode & 0o777, entry.isDirectory() ? 0o700 : 0o600, entry.name);
    }
  });

  it('share their folder with what is not theirs, and leave it alone', async () => {
    const place = join(folder, 'shared');
    const store = await openDisk({ folder: place });
    await store.put('file-1', bytes());
    await writeFile(join(place, 'README.md'), 'not ours');
    const found: string[] = [];
    for await (const { name } of store.list()) found.push(name);
    assert.deepEqual(found, ['file-1']);
    assert.equal(await store.sweep(Date.now() + 60_000), 0);
    assert.ok((await readdir(place)).includes('README.md'));
  });

  it('fail as an internal error that names no path, where the disk does', async () => {
    const place = join(folder, 'a-file');
    await writeFile(place, '');
    await assert.rejects(openDisk({ folder: place }), (thrown) => {
      assert.ok(thrown instanceof ServiceError);
      assert.equal(thrown.kind, 'internal');
      assert.ok(!thrown.message.includes('a-file'));
      return true;
    });
    const gone = join(folder, 'gone');
    const store = await openDisk({ folder: gone });
    await rm(gone, { recursive: true });
    await assert.rejects(store.put('file-1', bytes()), /internal error/);
  });
});
