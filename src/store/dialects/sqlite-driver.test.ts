import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { Kysely, sql } from 'kysely';
import { SqliteConnection } from './sqlite-connection.ts';
import { createKyselyDialect } from './sqlite.ts';

const WRITES = 20;

const openMemory = () => {
  const database = new DatabaseSync(':memory:');
  const dialect = createKyselyDialect({ name: 'memory', writer: new SqliteConnection(database) });
  return { database, db: new Kysely<Record<never, never>>({ dialect }) };
};

it('lets the event loop turn between writes that wait, and not between reads', async () => {
  const { db } = openMemory();
  await sql`create table t (a integer)`.execute(db);
  let turns = 0;
  let isCounting = true;
  const count = (): void => {
    turns += 1;
    if (isCounting) setImmediate(count);
  };
  const countTurns = async (query: ReturnType<typeof sql>): Promise<number> => {
    const before = turns;
    await Promise.all(Array.from({ length: WRITES }, () => query.execute(db)));
    return turns - before;
  };
  setImmediate(count);
  assert.ok((await countTurns(sql`insert into t values (1)`)) >= WRITES - 1);
  assert.ok((await countTurns(sql`insert into t values (1) returning a`)) >= WRITES - 1);
  const transactions = Array.from({ length: WRITES }, () =>
    db.transaction().execute((open) => sql`delete from t`.execute(open)),
  );
  const before = turns;
  await Promise.all(transactions);
  assert.ok(turns - before >= WRITES - 2);
  assert.ok((await countTurns(sql`select a from t`)) <= 2);
  isCounting = false;
  await db.destroy();
});

it('starts every transaction as a writer, and does not roll back what SQLite rolled back', async () => {
  const { database, db } = openMemory();
  await sql`create table t (a integer)`.execute(db);
  const failure = new Error('as if the disk was full');
  await assert.rejects(
    db.transaction().execute(async (open) => {
      await sql`insert into t values (1)`.execute(open);
      database.exec('rollback');
      throw failure;
    }),
    failure,
  );
  await db.transaction().execute((open) => sql`insert into t values (2)`.execute(open));
  assert.deepEqual((await sql`select a from t`.execute(db)).rows.length, 1);
  await db.destroy();
});
