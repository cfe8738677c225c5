import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, beforeEach, afterEach, describe, it } from 'node:test';
import { Kysely, sql } from 'kysely';
import { ServiceError } from '../../core/error.ts';
import { STORE_BUSY_MS_MAX } from '../limits.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { createKyselyDialect, openConnection } from './sqlite.ts';

describe('a database that another process locks', () => {
  let folder = '';
  let files = 0;
  let other: DatabaseSync;
  let db: Kysely<{ t: { a: number } }>;
  let now = 0;
  /** Called at each pause, with the number of the pause. */
  let onPause = (_count: number): void => undefined;
  let pauses = 0;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-locks-'));
  });
  after(() => rm(folder, { recursive: true }));

  beforeEach(() => {
    const file = join(folder, `${(files += 1)}.db`);
    const database = openConnection(file);
    database.exec('pragma journal_mode = wal; create table t (a integer)');
    other = new DatabaseSync(file);
    now = 0;
    pauses = 0;
    onPause = () => undefined;
    db = new Kysely({
      dialect: createKyselyDialect({
        name: file,
        writer: new SqliteConnection(database),
        reader: new SqliteConnection(openConnection(file, { readOnly: true })),
        clock: { now: () => now, monotonic: () => now },
        async pause(ms) {
          now += ms;
          onPause((pauses += 1));
        },
      }),
    });
  });
  afterEach(async () => {
    other.close();
    await db.destroy();
  });

  const insert = (a: number) => db.insertInto('t').values({ a }).execute();
  const readAll = async () => (await db.selectFrom('t').select('a').orderBy('a').execute()).map(({ a }) => a);

  it('writes when the lock ends, and reads meanwhile', async () => {
    await insert(1);
    other.exec('begin exclusive');
    let readMeanwhile: Promise<readonly number[]> | undefined;
    onPause = (count) => {
      readMeanwhile ??= readAll();
      if (count === 10) other.exec('commit');
    };
    await insert(2);
    assert.deepEqual(await readMeanwhile, [1]);
    assert.deepEqual(await readAll(), [1, 2]);
    assert.equal(pauses, 10);
  });

  it('refuses writes and transactions after the time limit, at once while the lock lasts, and recovers', async () => {
    other.exec('begin exclusive');
    // Reads succeed meanwhile and say nothing about the lock.
    onPause = () => void readAll();
    const isBusy = (error: unknown) =>
      error instanceof ServiceError &&
      error.kind === 'overloaded' &&
      error.retryAfterSeconds === 1 &&
      /another process has kept the lock of .*\.db for 5 s/.test(String(error.cause));
    await assert.rejects(insert(1), isBusy);
    assert.ok(now >= STORE_BUSY_MS_MAX && now < STORE_BUSY_MS_MAX + 100, String(now));
    const pausesBefore = pauses;
    await assert.rejects(
      db.transaction().execute(async () => undefined),
      isBusy,
    );
    await assert.rejects(insert(1), isBusy);
    assert.equal(pauses, pausesBefore);
    // After a time without an attempt, the lock may be another one.
    now += 1_000;
    onPause = () => {
      if (other.isTransaction && now > STORE_BUSY_MS_MAX + 1_500) other.exec('rollback');
    };
    await insert(2);
    await db.transaction().execute((open) => sql`insert into t values (3)`.execute(open));
    assert.deepEqual(await readAll(), [2, 3]);
  });

  it('shows a read what was written before it, and nothing of an open transaction', async () => {
    const opened = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const transaction = db.transaction().execute(async (open) => {
      await open.insertInto('t').values({ a: 1 }).execute();
      opened.resolve();
      await finish.promise;
    });
    await opened.promise;
    assert.deepEqual(await readAll(), []);
    finish.resolve();
    await transaction;
    assert.deepEqual(await readAll(), [1]);
  });
});
