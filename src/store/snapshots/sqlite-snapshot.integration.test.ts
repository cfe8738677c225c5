import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { createSqliteDialect } from '../dialects/sqlite.ts';
import { openStore } from '../store.ts';
import { createSqliteSnapshotSource, readSnapshot } from './sqlite-snapshot.ts';

const createFolder = (t: TestContext): string => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-snapshot-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
};

/** Adds a row and counts it, in one transaction, all the time. */
const WRITER = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(process.argv[1], { timeout: 5000 });
  const write = () => {
    database.exec('begin immediate; insert into rows values (randomblob(2000)); update count set rows = rows + 1; commit');
    setImmediate(write);
  };
  write();
  process.stdout.write('started');
`;

describe('snapshot of a SQLite database', () => {
  it('has the block hashes of blobs, and none for a database from before them', async (t) => {
    const folder = createFolder(t);
    const [file, old, copy] = ['a.db', 'old.db', 'copy.db'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const store = await openStore({ dialect: createSqliteDialect({ file }) });
    const record = { sizeBytes: 5, hashes: Buffer.alloc(32, 7) };
    await store.blobHashes.put('text_1', record);
    await store.close();
    const source = createSqliteSnapshotSource({ file });
    await source.write(copy);
    const hashes = await source.openHashes(copy);
    const found = (await hashes.find('text_1')) ?? assert.fail();
    assert.deepEqual([found.sizeBytes, Buffer.from(found.hashes)], [record.sizeBytes, record.hashes]);
    assert.equal(await hashes.find('text_2'), undefined);
    await hashes.close();
    new DatabaseSync(old).close();
    const none = await source.openHashes(old);
    assert.equal(await none.find('text_1'), undefined);
    await none.close();
  });

  it('ends and is consistent although another process writes all the time', async (t) => {
    const folder = createFolder(t);
    const file = join(folder, 'a.db');
    await (await openStore({ dialect: createSqliteDialect({ file }) })).close();
    const database = new DatabaseSync(file);
    // Several steps of the copy.
    database.exec(`create table rows (x); create table count (rows); insert into rows
      with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 8000) select randomblob(2000) from numbers;
      insert into count values (8000)`);
    database.close();
    const writer = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', WRITER, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => writer.kill('SIGKILL'));
    await once(writer.stdout, 'data');
    const copy = join(folder, 'copy.db');
    let steps = 0;
    const { migrations, blobs } = await createSqliteSnapshotSource({ file }).write(copy, {
      onProgress: () => (steps += 1),
    });
    assert.equal(writer.exitCode, null);
    assert.ok(steps > 2 && migrations.includes('0001-keys'));
    assert.deepEqual(blobs, []);
    const copied = new DatabaseSync(copy);
    const counts = copied
      .prepare('select (select count(*) from rows) as found, (select rows from count) as counted')
      .get();
    copied.close();
    assert.ok(
      counts && Number(counts['found']) >= 8000 && counts['found'] === counts['counted'],
      JSON.stringify(counts),
    );
  });

  it('refuses a corrupt database', async (t) => {
    const file = join(createFolder(t), 'a.db');
    await (await openStore({ dialect: createSqliteDialect({ file }) })).close();
    const handle = openSync(file, 'r+');
    writeSync(handle, Buffer.alloc(4096, 'junk'), 0, 4096, 3 * 4096);
    await assert.rejects(readSnapshot(file), /corrupt|malformed/);
  });

  it('stops between two steps when it is aborted', async (t) => {
    const folder = createFolder(t);
    const file = join(folder, 'a.db');
    await (await openStore({ dialect: createSqliteDialect({ file }) })).close();
    const signal = AbortSignal.abort(new Error('stopped'));
    await assert.rejects(createSqliteSnapshotSource({ file }).write(join(folder, 'b.db'), { signal }), /stopped/);
  });
});
