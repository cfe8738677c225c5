import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { Kysely, sql } from 'kysely';
import { createSqliteDialect } from '../dialects/sqlite.ts';
import { STORE_FREE_SHARE_MAX, STORE_WAL_BYTES_KEPT } from '../limits.ts';
import { openStore } from '../store.ts';
import { createSqliteMaintenance } from './sqlite-maintenance.ts';

const createFile = (t: TestContext): string => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-maintenance-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'a.db');
};

/** Fills a table and deletes most of its rows. */
function fillAndDelete(file: string): void {
  const database = new DatabaseSync(file);
  database.exec(`create table filler (x); insert into filler
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 3000) select randomblob(3000) from numbers;
    delete from filler where rowid % 10 <> 0; pragma wal_checkpoint(truncate)`);
  database.close();
}

describe('maintenance of a SQLite database', () => {
  it('gives the space of deleted rows of a new database back in small steps, but for a reserve', async (t) => {
    const file = createFile(t);
    const store = await openStore({ dialect: createSqliteDialect({ file }) });
    t.after(() => store.close());
    fillAndDelete(file);
    const maintenance = createSqliteMaintenance({ file });
    const before = await maintenance.readUsage();
    assert.ok(before.givesBackSpace && before.freeBytes > 5_000_000);
    let steps = 1;
    while (await maintenance.reclaimStep()) steps += 1;
    const after = await maintenance.readUsage();
    assert.ok(steps > 3);
    assert.ok(after.freeBytes <= after.fileBytes * STORE_FREE_SHARE_MAX, JSON.stringify(after));
    assert.equal(await maintenance.reclaimStep(), false);
  });

  it('leaves an old database as it is until it is compacted, and gives space back from then on', async (t) => {
    const file = createFile(t);
    new DatabaseSync(file).exec('pragma journal_mode = wal; create table old (x)');
    fillAndDelete(file);
    const maintenance = createSqliteMaintenance({ file });
    const size = statSync(file).size;
    assert.equal(await maintenance.reclaimStep(), false);
    assert.deepEqual([(await maintenance.readUsage()).givesBackSpace, statSync(file).size], [false, size]);
    await maintenance.compact();
    const usage = await maintenance.readUsage();
    assert.ok(usage.givesBackSpace && usage.fileBytes < size / 5 && usage.freeBytes === 0, JSON.stringify(usage));
  });

  it('lets another writer go first instead of waiting', async (t) => {
    const file = createFile(t);
    await (await openStore({ dialect: createSqliteDialect({ file }) })).close();
    fillAndDelete(file);
    const writer = new DatabaseSync(file);
    t.after(() => writer.close());
    writer.exec('begin immediate');
    assert.equal(await createSqliteMaintenance({ file }).reclaimStep(), true);
    writer.exec('rollback');
  });

  it('measures tables with their indexes and rows, and a full-text index as one table', async (t) => {
    const file = createFile(t);
    await (await openStore({ dialect: createSqliteDialect({ file }) })).close();
    const { tables, fileBytes } = await createSqliteMaintenance({ file }).readUsage();
    const sum = tables.reduce((bytes, { tableBytes, indexBytes }) => bytes + tableBytes + indexBytes, 0);
    assert.ok(sum > 0 && sum <= fileBytes);
    const found = new Map(tables.map((usage) => [usage.table, usage]));
    assert.equal(found.get('index_terms')?.rows, 0);
    assert.ok((found.get('batches')?.indexBytes ?? 0) > 0);
    assert.deepEqual(
      [...found.keys()].filter((name) => name.startsWith('index_terms_')),
      [],
    );
  });

  it('limits the write-ahead log that stays after a checkpoint', async (t) => {
    const dialect = await createSqliteDialect({ file: createFile(t) }).open();
    const db = new Kysely<Record<never, never>>({ dialect });
    t.after(() => db.destroy());
    const { rows } = await sql<{ journal_size_limit: number }>`pragma journal_size_limit`.execute(db);
    assert.equal(rows[0]?.journal_size_limit, STORE_WAL_BYTES_KEPT);
  });
});
