import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { readMigrationState } from '../../src/store/pending-migrations.ts';
import { backUpBeforeMigration, planMigration } from '../../src/service/back-up-before-migration.ts';
import { MIGRATION_BACKUPS_MAX } from '../../src/service/limits.ts';
import { openDatabase, openMigratedDatabase } from '../../src/service/open-components.ts';

/** Schema and data of the first release, which had only keys. Never changes. */
const RELEASED_0001 = `
  create table "migrations" ("name" text primary key, "applied_at" bigint not null);
  create table "keys" ("id" text primary key, "hash" text not null unique, "hint" text not null, "region" text not null,
    "workspace" text not null, "name" text not null, "created_at" bigint not null, "expires_at" bigint, "revoked_at" bigint);
  insert into migrations values ('0001-keys', 1790000000000);
  insert into keys values ('key_old', 'hash-old', 'wxyz', 'cn-beijing', 'primary', 'first', 1790000000123, null, null);
`;

function createService(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const data = mkdtempSync(join(tmpdir(), 'parley-migrate-'));
  t.after(() => rmSync(data, { recursive: true }));
  const { config } = loadConfig({ env: { PARLEY_DATA: data, ...env } });
  const file = join(data, 'parley.db');
  const writeOldDatabase = (): void => {
    const database = new DatabaseSync(file);
    database.exec(RELEASED_0001);
    database.close();
  };
  const listCopies = (): readonly string[] => {
    try {
      return readdirSync(join(data, 'backups')).toSorted();
    } catch {
      return [];
    }
  };
  return { data, config, file, writeOldDatabase, listCopies };
}

describe('copy of the database before a migration', () => {
  it('has the old database, from which the new version migrates again', async (t) => {
    const { data, config, file, writeOldDatabase, listCopies } = createService(t);
    writeOldDatabase();
    const store = await openDatabase(config);
    assert.equal((await store.keys.find('key_old'))?.name, 'first');
    await store.close();
    assert.deepEqual(readMigrationState(file).pending, []);
    const [copy = ''] = listCopies();
    assert.match(copy, /^before-0002-conversations-.*\.db$/);
    assert.deepEqual(readMigrationState(join(data, 'backups', copy)).applied, ['0001-keys']);
    // Going back: the copy replaces the database.
    rmSync(file);
    const old = new DatabaseSync(join(data, 'backups', copy));
    assert.equal(old.prepare('select count(*) as keys from keys').get()?.['keys'], 1);
    old.close();
    await (await openDatabase(config)).close();
    assert.equal(listCopies().length, 1, 'a new or current database is not copied');
  });

  it('keeps the newest copies only', async (t) => {
    const { config, file, writeOldDatabase, listCopies } = createService(t);
    writeOldDatabase();
    const names: string[] = [];
    for (let at = 0; at < MIGRATION_BACKUPS_MAX + 2; at += 1) {
      const copy = await backUpBeforeMigration(config, {
        clock: { now: () => Date.UTC(2026, 1, at + 1), monotonic: () => 0 },
      });
      names.push(copy?.split('/').at(-1) ?? assert.fail());
    }
    assert.deepEqual(listCopies(), names.slice(-MIGRATION_BACKUPS_MAX));
    assert.equal(readMigrationState(file).applied.length, 1);
  });

  it('keeps the copy just made beside those of later migrations, and by time even if the clock is behind', async (t) => {
    const { data, config, writeOldDatabase, listCopies } = createService(t);
    writeOldDatabase();
    const folder = join(data, 'backups');
    mkdirSync(folder);
    const later = [1, 2, 3].map((day) => `before-0018-later-2026010${day}T000000000Z.db`);
    for (const name of later) writeFileSync(join(folder, name), '');
    const clock = { now: () => Date.UTC(2026, 1, 1), monotonic: () => 0 };
    const copy = (await backUpBeforeMigration(config, { clock })) ?? assert.fail();
    assert.deepEqual(listCopies(), [basename(copy), ...later.slice(1)].toSorted());
    const earlier = { now: () => Date.UTC(2025, 1, 1), monotonic: () => 0 };
    const second = (await backUpBeforeMigration(config, { clock: earlier })) ?? assert.fail();
    assert.deepEqual(listCopies(), [basename(second), basename(copy), later[2] ?? ''].toSorted());
  });

  it('is not made when the setting is off, nor by the command that only shows what would be done', async (t) => {
    const { config, file, writeOldDatabase, listCopies } = createService(t, {
      PARLEY_STORE_BACKUP_BEFORE_MIGRATION: 'false',
    });
    writeOldDatabase();
    const plan = await planMigration(config);
    assert.deepEqual([plan.makesBackup, plan.applied, plan.pending[0]], [false, ['0001-keys'], '0002-conversations']);
    assert.equal(await backUpBeforeMigration(config), undefined);
    assert.equal(readMigrationState(file).applied.length, 1);
    await (await openMigratedDatabase(config)).close();
    assert.deepEqual([listCopies(), (await planMigration(config)).pending], [[], []]);
  });

  it('refuses the migration when the disk has no room for it, and changes nothing', async (t) => {
    const { config, file, writeOldDatabase, listCopies } = createService(t);
    writeOldDatabase();
    const plan: typeof planMigration = async (...args) => ({ ...(await planMigration(...args)), freeBytes: 100_000 });
    await assert.rejects(backUpBeforeMigration(config, { plan }), /that needs \d+ free bytes .* 100000 are free/);
    assert.deepEqual([listCopies(), readMigrationState(file).applied], [[], ['0001-keys']]);
  });

  it('refuses a database of a newer version before anything is copied', async (t) => {
    const { config, file, writeOldDatabase, listCopies } = createService(t);
    writeOldDatabase();
    const database = new DatabaseSync(file);
    database.exec(`insert into migrations values ('9999-future', 1)`);
    database.close();
    await assert.rejects(planMigration(config), /written by a newer version/);
    await assert.rejects(openDatabase(config), /written by a newer version/);
    assert.deepEqual(listCopies(), []);
  });
});
