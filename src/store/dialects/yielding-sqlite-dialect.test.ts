import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { Kysely, sql } from 'kysely';
import { createSqliteAdapter } from './sqlite-adapter.ts';
import { YieldingSqliteDialect } from './yielding-sqlite-dialect.ts';

const WRITES = 20;

it('lets the event loop turn between writes that wait, and not between reads', async () => {
  const dialect = new YieldingSqliteDialect(createSqliteAdapter(new DatabaseSync(':memory:')));
  const db = new Kysely<Record<never, never>>({ dialect });
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
