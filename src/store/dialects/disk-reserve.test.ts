import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { DISK_CHECK_INTERVAL_MS, DISK_RESERVE_BYTES_MAX } from '../limits.ts';
import { createDiskReserve } from './disk-reserve.ts';

const MIB = 1024 * 1024;

describe('disk reserve', () => {
  let folder = '';
  let file = '';
  let now = 0;
  let freeBytes = 0;
  let totalBytes = 0;
  const create = () =>
    createDiskReserve({
      folder,
      file,
      clock: { now: () => now, monotonic: () => now },
      readSpace: async () => ({ totalBytes, freeBytes }),
    });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-reserve-'));
    file = join(folder, 'parley.db-reserve');
    totalBytes = 100 * MIB;
    freeBytes = 50 * MIB;
  });
  afterEach(() => rm(folder, { recursive: true }));

  const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  const nothing = () => Promise.resolve();

  it('takes a share of a small disk and at most its limit of a large one', async () => {
    const reserve = create();
    await reserve.open(nothing);
    const { size, blocks, mode, ino } = await stat(file);
    assert.deepEqual([size, mode & 0o777], [5 * MIB, 0o600]);
    assert.ok(blocks * 512 >= size, 'the file system really holds the space');
    await reserve.requireSpace();
    assert.equal((await stat(file)).ino, ino);
    totalBytes = 1000 * MIB;
    await reserve.open(nothing);
    assert.equal((await stat(file)).size, DISK_RESERVE_BYTES_MAX);
    assert.deepEqual(await readdir(folder), ['parley.db-reserve']);
  });

  it('is released for a removal, keeps the rest, refuses growth, and is complete again when the disk has room', async () => {
    const reserve = create();
    await reserve.open(nothing);
    freeBytes = 0;
    await reserve.requireSpace();
    let calls = 0;
    const remove = async (): Promise<string> => {
      calls += 1;
      await reserve.requireSpace();
      if (existsSync(file)) throw full;
      freeBytes = 4 * MIB;
      return 'removed';
    };
    assert.deepEqual([await reserve.use(remove), calls], ['removed', 2]);
    assert.equal((await stat(file)).size, 4 * MIB);
    freeBytes = 9 * MIB;
    const isFull = (error: unknown) =>
      error instanceof ServiceError && error.kind === 'overloaded' && String(error.cause).includes(`'${folder}'`);
    await assert.rejects(reserve.requireSpace(), isFull);
    freeBytes = 10 * MIB;
    await assert.rejects(reserve.requireSpace(), isFull, 'the result is valid for a while');
    now += DISK_CHECK_INTERVAL_MS;
    await reserve.requireSpace();
    assert.equal((await stat(file)).size, 5 * MIB);
  });

  it('fails a removal that needs more, and one without a reserve at once', async () => {
    const reserve = create();
    await reserve.open(nothing);
    let calls = 0;
    const fail = () => {
      calls += 1;
      freeBytes = 0;
      return Promise.reject(full);
    };
    await assert.rejects(reserve.use(fail), full);
    assert.deepEqual([calls, existsSync(file)], [2, false]);
    await assert.rejects(reserve.use(fail), full);
    assert.equal(calls, 3);
  });

  it('is released while a database is opened on a full disk', async () => {
    const reserve = create();
    await reserve.open(nothing);
    freeBytes = 4096;
    await reserve.open(async () => {
      assert.ok(!existsSync(file));
      freeBytes = 3 * MIB;
    });
    assert.equal((await stat(file)).size, 3 * MIB);
  });
});
