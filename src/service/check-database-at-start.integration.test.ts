import assert from 'node:assert/strict';
import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../test/until.ts';
import { createDatabaseFile, createDatabaseLog } from '../store/__fixtures__/create-database-file.ts';
import { lockDatabaseFile } from '../store/__fixtures__/lock-database-file.ts';
import { checkDatabaseAtStart } from './check-database-at-start.ts';

const PAGE_BYTES = 4096;

describe('check of the database at the start', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-start-check-'));
  });
  after(() => rm(folder, { recursive: true }));

  let files = 0;
  const createDatabase = (): string => createDatabaseFile(join(folder, `${(files += 1)}.db`));
  const putJunk = async (file: string): Promise<void> => {
    const handle = await open(file, 'r+');
    await handle.write(Buffer.alloc(PAGE_BYTES, 0x5a), 0, PAGE_BYTES, 5 * PAGE_BYTES);
    await handle.close();
  };
  const check = async (file: string, bytesMax?: number) => {
    const refusals: string[] = [];
    const logged: string[] = [];
    const log = {
      info: (message: string) => void logged.push(message),
      warn: (message: string, fields?: Readonly<Record<string, unknown>>) =>
        void logged.push(`${message}: ${String(fields?.['error'])}`),
    };
    const health = { refuse: (problem: string) => void refusals.push(problem) };
    await checkDatabaseAtStart({ file, health, log, ...(bytesMax !== undefined && { bytesMax }) });
    return { refusals, logged };
  };

  it('accepts an intact database, and none', async () => {
    assert.deepEqual(await check(createDatabase()), { refusals: [], logged: [] });
    assert.deepEqual(await check(join(folder, 'none.db')), { refusals: [], logged: [] });
  });

  it('refuses junk pages, with the file, the damage and what to do', async () => {
    const file = createDatabase();
    await putJunk(file);
    await assert.rejects(check(file), (thrown: Error) => {
      for (const fact of [
        file,
        'malformed',
        'Restore a backup',
        '`parley check`',
        'store.startCheck',
        'PARLEY_STORE_START_CHECK=false',
      ])
        assert.ok(thrown.message.includes(fact), `${fact} is missing in: ${thrown.message}`);
      return true;
    });
  });

  it('refuses requests later when a large database has junk pages', async () => {
    const file = createDatabase();
    await putJunk(file);
    const { refusals } = await check(file, 1);
    await until('the check has ended', { timeoutMs: 60_000 }, async () => (refusals.length > 0 ? true : undefined));
    assert.ok(refusals[0]?.includes(file));
  });

  it('logs that a large database is intact', async () => {
    const { refusals, logged } = await check(createDatabase(), 1);
    await until('the check has ended', { timeoutMs: 60_000 }, async () => (logged.length > 0 ? true : undefined));
    assert.deepEqual([refusals, logged], [[], ['database check passed']]);
  });

  it('starts when another process has the lock or the file cannot be read, and logs why', async () => {
    const locked = createDatabase();
    const unlock = lockDatabaseFile(locked);
    const unreadable = join(folder, 'unreadable.db');
    await mkdir(join(unreadable, 'content'), { recursive: true });
    for (const [file, error] of [
      [locked, 'database is locked'],
      [unreadable, 'disk I/O error'],
    ] as const)
      assert.deepEqual(await check(file), { refusals: [], logged: [`database check could not run: ${error}`] });
    const { refusals, logged } = await check(locked, 1);
    await until('the check has ended', { timeoutMs: 60_000 }, async () => (logged.length > 0 ? true : undefined));
    assert.deepEqual([refusals, logged], [[], ['database check could not run: database is locked']]);
    unlock();
  });

  it('refuses a damaged log, also of a large database, and keeps one copy of it', async () => {
    const file = join(folder, 'log.db');
    const wal = await createDatabaseLog(file);
    wal[32 + 3 * (PAGE_BYTES + 24) + 100] = 0xff;
    await writeFile(`${file}-wal`, wal);
    for (const bytesMax of [1, undefined])
      await assert.rejects(check(file, bytesMax), /A copy of the log is .*-wal\.damaged-\d+/);
    const copies = (await readdir(folder)).filter((name) => name.includes('damaged'));
    assert.equal(copies.length, 1);
    assert.ok(wal.equals(await readFile(join(folder, copies[0] ?? ''))));
    assert.ok(wal.equals(await readFile(`${file}-wal`)), 'the check changes nothing');
  });
});
