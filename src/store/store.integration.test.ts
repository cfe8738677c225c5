import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { Kysely, sql } from 'kysely';
import { ServiceError } from '../core/error.ts';
import type { KeyRecord } from '../core/key.ts';
import { SqliteConnection } from './dialects/sqlite-connection.ts';
import { createKyselyDialect, createSqliteDialect } from './dialects/sqlite.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import { openStore } from './store.ts';

const record = (id: string): KeyRecord => ({
  id,
  region: 'cn-beijing',
  workspace: 'primary',
  name: 'n'.repeat(60),
  hint: 'wxyz',
  createdAt: 1,
  expiresAt: undefined,
  revokedAt: undefined,
  usedAt: undefined,
});

describe('openStore on SQLite', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-store-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('creates the folder and files with access for the owner only', async () => {
    const data = join(folder, 'new', 'data');
    const store = await openStore({ dialect: createSqliteDialect({ file: join(data, 'parley.db') }) });
    await store.keys.insert({ record: record('key_1'), hash: 'h' });
    assert.equal((await stat(data)).mode & 0o777, 0o700);
    for (const name of ['parley.db', 'parley.db-wal', 'parley.db-shm']) {
      assert.equal((await stat(join(data, name))).mode & 0o777, 0o600, name);
    }
    await store.close();
  });

  it('reopens an existing database and migrates it once', async () => {
    const dialect = createSqliteDialect({ file: join(folder, 'again.db') });
    const first = await openStore({ dialect });
    await first.keys.insert({ record: record('key_1'), hash: 'h' });
    await first.close();
    const second = await openStore({ dialect });
    assert.deepEqual(await second.keys.find('key_1'), record('key_1'));
    await second.close();
  });

  it('uses WAL mode, syncs every commit and never waits inside SQLite', async () => {
    const dialect = createSqliteDialect({ file: join(folder, 'modes.db') });
    const db = new Kysely<unknown>({ dialect: await dialect.open() });
    const pragma = async (name: string) => {
      const { rows } = await sql`pragma ${sql.raw(name)}`.execute(db);
      return Object.values(Object(rows[0]))[0];
    };
    assert.equal(await pragma('journal_mode'), 'wal');
    assert.equal(await pragma('synchronous'), 2);
    assert.equal(await pragma('busy_timeout'), 0);
    assert.equal(await pragma('foreign_keys'), 1);
    await db.destroy();
  });

  it('acknowledges nothing once its folder was removed', async () => {
    const data = join(folder, 'removed');
    const store = await openStore({ dialect: createSqliteDialect({ file: join(data, 'parley.db') }) });
    await store.keys.insert({ record: record('key_1'), hash: 'h' });
    await rm(data, { recursive: true });
    const isRemoved = (error: unknown) =>
      error instanceof ServiceError && error.kind === 'overloaded' && /was removed while/.test(String(error.cause));
    await assert.rejects(store.keys.insert({ record: record('key_2'), hash: 'h2' }), isRemoved);
    await assert.rejects(
      store.transaction(async () => undefined),
      isRemoved,
    );
    await store.close();
  });

  it('rejects a database of a newer version and names the unknown migration', async () => {
    const file = join(folder, 'newer.db');
    const dialect = createSqliteDialect({ file });
    await (await openStore({ dialect })).close();
    const database = new DatabaseSync(file);
    database.exec("insert into migrations values ('0999-future', 1)");
    database.close();
    const last = MIGRATIONS.at(-1)?.name;
    const message = new RegExp(`newer version of Parley \\(it has 0999-future; .* up to ${last}\\)`);
    await assert.rejects(openStore({ dialect }), message);
  });

  it('names the file if it is not a database', async () => {
    const file = join(folder, 'text.db');
    await writeFile(file, 'This is a letter to a friend, not a database at all. '.repeat(40));
    await assert.rejects(
      openStore({ dialect: createSqliteDialect({ file }) }),
      (error) =>
        error instanceof ServiceError &&
        error.message.includes(file) &&
        error.message.includes('not a database') &&
        error.cause instanceof Error,
    );
  });

  it('reports a full disk as overloaded with its cause, and recovers once there is space', async () => {
    const database = new DatabaseSync(':memory:');
    const dialect = createKyselyDialect({ name: 'memory', writer: new SqliteConnection(database) });
    const store = await openStore({
      dialect: { ...createSqliteDialect({ file: ':memory:' }), open: async () => dialect },
    });
    database.exec('pragma max_page_count = 12');
    const fill = store.transaction(async ({ keys }) => {
      for (let index = 0; index < 1000; index++) {
        await keys.insert({ record: record(`key_${index}`), hash: `hash ${index}` });
      }
    });
    await assert.rejects(
      fill,
      (error) =>
        error instanceof ServiceError &&
        error.kind === 'overloaded' &&
        /full/.test(String(Object(error.cause).message)),
    );
    database.exec('pragma max_page_count = 100000');
    assert.deepEqual(await store.keys.list({ limit: 1 }), []);
    await store.keys.insert({ record: record('key_after'), hash: 'after' });
    await store.close();
  });
});
