import assert from 'node:assert/strict';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { createDatabaseFile } from './__fixtures__/create-database-file.ts';
import { createDatabaseDamagedError, findDatabaseDamage } from './database-damage.ts';

describe('damage of a database', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-damage-'));
  });
  after(() => rm(folder, { recursive: true }));

  const catchError = (work: () => unknown): unknown => {
    try {
      work();
    } catch (error) {
      return error;
    }
    return assert.fail('no error');
  };

  it('is what SQLite reports for a file that is no database', async () => {
    const file = join(folder, 'junk.db');
    await writeFile(file, 'junk'.repeat(2000));
    const error = catchError(() => new DatabaseSync(file).prepare('select * from sqlite_schema').all());
    assert.equal(findDatabaseDamage(error)?.type, 'corrupt');
  });

  it('is what SQLite reports for a missing end', async () => {
    const file = createDatabaseFile(join(folder, 'cut.db'));
    await truncate(file, 10 * 4096);
    const error = catchError(() => new DatabaseSync(file).prepare('select sum(length(text)) from rows').all());
    assert.equal(findDatabaseDamage(error)?.type, 'corrupt');
  });

  it('is an error of the disk, but none of locks, shared memory, a full disk or SQL', () => {
    const find = (errcode: number) => findDatabaseDamage(Object.assign(new Error('x'), { errcode }))?.type;
    // SQLITE_IOERR_READ, SQLITE_IOERR_FSYNC, SQLITE_IOERR_CORRUPTFS
    assert.deepEqual([266, 1034, 8458].map(find), ['disk-error', 'disk-error', 'disk-error']);
    // SQLITE_BUSY, SQLITE_FULL, SQLITE_IOERR_LOCK, SQLITE_IOERR_SHMSIZE
    assert.deepEqual([5, 13, 3850, 4874].map(find), [undefined, undefined, undefined, undefined]);
    assert.equal(findDatabaseDamage(catchError(() => new DatabaseSync(':memory:').exec('nonsense'))), undefined);
  });

  it('tells callers nothing about the file', () => {
    const error = createDatabaseDamagedError({ type: 'corrupt', error: new Error('/data/parley.db is malformed') });
    assert.ok(!error.message.includes('parley.db'));
    assert.equal(error.kind, 'internal');
  });
});
