import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { checkDatabase, type DatabaseCheckPart } from './check-database.ts';
import { scanWal } from './scan-wal.ts';

const PAGE_BYTES = 4096;
const FRAME_BYTES = PAGE_BYTES + 24;
const COMMITS = 100;

/** Program that commits rows and is killed, so that nothing copies its log into the database. */
const KILLED_PROGRAM = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(process.argv[1]);
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 0');
  database.exec('create table rows (id integer primary key, text text not null); create index texts on rows (text)');
  const insert = database.prepare('insert into rows (text) values (?)');
  for (let count = 0; count < ${COMMITS}; count += 1) insert.run('x'.repeat(3000) + count);
  if (process.argv[2] === 'checkpoint') database.exec('pragma wal_checkpoint(truncate)');
  process.kill(process.pid, 'SIGKILL');
`;

/** Program that commits as fast as it can, and copies the log into the database again and again. */
const WRITING_PROGRAM = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(process.argv[1], { timeout: 60_000 });
  database.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 20');
  database.exec('create table rows (id integer primary key, text text not null)');
  const insert = database.prepare('insert into rows (text) values (?)');
  for (let count = 0; count < 3000; count += 1) {
    insert.run('x'.repeat(3000) + count);
    if (count === 0) console.log('ready');
  }
  database.close();
`;

describe('check of a database file', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-check-'));
    await runKilled(join(folder, 'log.db'), 'none');
    await runKilled(join(folder, 'pages.db'), 'checkpoint');
  });
  after(() => rm(folder, { recursive: true }));

  const runKilled = async (file: string, mode: string): Promise<void> => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', KILLED_PROGRAM, file, mode]);
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
    assert.equal(signal, 'SIGKILL');
  };

  let copies = 0;
  /** Copies a database with its log. The shared-memory file of the killed process is left out, as after a power failure. */
  const copy = async (name: string): Promise<string> => {
    const file = join(folder, `copy-${(copies += 1)}.db`);
    await cp(join(folder, name), file);
    await cp(join(folder, `${name}-wal`), `${file}-wal`);
    return file;
  };
  const change = async (file: string, edit: (bytes: Buffer) => Buffer): Promise<string> => {
    await writeFile(file, edit(await readFile(file)));
    return file;
  };
  const flip = (at: number) => (bytes: Buffer) => {
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    return bytes;
  };
  const check = async (file: string, parts: readonly DatabaseCheckPart[]) =>
    (await checkCompletely(file, parts)).map(({ part, detail }) => ({ part, detail }));
  const checkCompletely = async (file: string, parts: readonly DatabaseCheckPart[]) => {
    const { problems, failure } = await checkDatabase({ file, parts });
    assert.equal(failure, undefined);
    return problems;
  };
  const countRows = (file: string): number => {
    const database = new DatabaseSync(file, { readOnly: true });
    const row = database.prepare('select count(*) as count from rows').get();
    database.close();
    return Number(row?.['count']);
  };

  it('finds nothing in the files of a killed process, and changes nothing', async () => {
    for (const name of ['log.db', 'pages.db']) {
      const file = await copy(name);
      const [database, wal] = [await readFile(file), await readFile(`${file}-wal`)];
      assert.deepEqual(await check(file, ['wal', 'full', 'foreign-keys']), []);
      assert.ok(database.equals(await readFile(file)));
      assert.ok(wal.equals(await readFile(`${file}-wal`)));
      assert.equal(countRows(file), COMMITS);
    }
    assert.ok(scanWal(join(folder, 'log.db-wal')).commits >= COMMITS);
  });

  it('finds nothing where there is no database yet', async () => {
    assert.deepEqual(await check(join(folder, 'none.db'), ['wal', 'quick']), []);
  });

  for (const [name, at] of [
    ['page', 32 + 10 * FRAME_BYTES + 24 + 50],
    ['checksum', 32 + 10 * FRAME_BYTES + 17],
    ['salt', 32 + 10 * FRAME_BYTES + 9],
    ['page number', 32 + 10 * FRAME_BYTES + 3],
  ] as const) {
    it(`finds a flipped bit in the ${name} of a frame, after which SQLite drops acknowledged commits`, async () => {
      const file = await copy('log.db');
      await change(`${file}-wal`, flip(at));
      const [problem, ...others] = await check(file, ['wal']);
      assert.deepEqual(others, []);
      assert.match(problem?.detail ?? '', /wrong bytes at 41232; SQLite would drop them and \d\d+ intact commits/);
      // The log is damaged but what is left of the database is not: only the scan can find it.
      assert.deepEqual(await check(file, ['full']), []);
      assert.ok(countRows(file) < COMMITS / 2);
    });
  }

  it('finds a log without its header, which SQLite ignores as a whole', async () => {
    const file = await copy('log.db');
    await change(`${file}-wal`, (bytes) => bytes.fill(0, 0, 32));
    assert.match((await check(file, ['wal']))[0]?.detail ?? '', /wrong bytes at 0; .* 10\d intact commits/);
  });

  it('takes every cut of the log, and a bad frame within the last transaction, for the end after a power failure', async () => {
    const { size } = await stat(join(folder, 'log.db-wal'));
    for (const end of [0, 10, 32, 40, 32 + FRAME_BYTES, size - 1, size - FRAME_BYTES, size - 5000]) {
      const file = await copy('log.db');
      await truncate(`${file}-wal`, end);
      assert.deepEqual(await check(file, ['wal']), [], `cut at ${end}`);
    }
    const file = await copy('log.db');
    await change(`${file}-wal`, flip(size - 100));
    assert.deepEqual(await check(file, ['wal', 'full']), []);
  });

  it('takes the frames of an earlier log for what they are', async () => {
    const file = join(folder, 'restarted.db');
    const database = new DatabaseSync(file);
    database.exec('pragma journal_mode = wal; create table rows (text)');
    for (let count = 0; count < 20; count += 1) database.exec("insert into rows values ('text')");
    database.exec('pragma wal_checkpoint(restart)');
    database.exec("insert into rows values ('text')");
    assert.deepEqual(await check(file, ['wal', 'full']), []);
    database.close();
  });

  it('finds nothing while another process writes and resets the log', async () => {
    const file = join(folder, 'written.db');
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', WRITING_PROGRAM, file]);
    const exit = once(child, 'exit');
    await once(child.stdout, 'data');
    let checks = 0;
    while (child.exitCode === null) {
      assert.deepEqual(await check(file, ['wal', 'quick']), []);
      checks += 1;
    }
    assert.deepEqual(await exit, [0, null]);
    assert.ok(checks > 1, `${checks} checks`);
  });

  it('finds junk in pages', async () => {
    const file = await copy('pages.db');
    await change(file, (bytes) => bytes.fill(0x5a, 3 * PAGE_BYTES, 6 * PAGE_BYTES));
    const problems = await check(file, ['wal', 'quick']);
    assert.ok(problems.length > 0 && problems.every(({ part }) => part === 'quick'), JSON.stringify(problems));
  });

  it('finds a missing end and a zeroed header', async () => {
    const cut = await copy('pages.db');
    await truncate(cut, 10 * PAGE_BYTES);
    assert.match((await check(cut, ['quick']))[0]?.detail ?? '', /malformed|page/);
    const zeroed = await change(await copy('pages.db'), (bytes) => bytes.fill(0, 0, 100));
    assert.match((await check(zeroed, ['quick']))[0]?.detail ?? '', /not a database/);
  });

  it('says that it could not run while another process has the lock, and finds no damage', async () => {
    const file = join(folder, 'locked.db');
    const database = new DatabaseSync(file);
    database.exec('create table rows (text); begin exclusive');
    assert.deepEqual(await checkDatabase({ file, parts: ['wal', 'quick', 'foreign-keys'] }), {
      problems: [],
      failure: 'database is locked',
    });
    database.close();
  });

  it('says that it could not run when the file cannot be read, and keeps what it found before', async () => {
    const file = await copy('log.db');
    await change(`${file}-wal`, flip(32 + 10 * FRAME_BYTES + 24 + 50));
    await rm(file);
    await mkdir(join(file, 'content'), { recursive: true });
    const { problems, failure } = await checkDatabase({ file, parts: ['wal', 'full'] });
    assert.deepEqual(
      problems.map(({ part }) => part),
      ['wal'],
    );
    assert.equal(failure, 'disk I/O error');
  });

  it('finds an index that differs from its table with the full check only', async () => {
    const file = join(folder, 'index.db');
    const database = new DatabaseSync(file);
    database.exec('create table rows (text text not null); create index texts on rows (text)');
    for (const text of ['text-1', 'text-2', 'text-3']) database.prepare('insert into rows values (?)').run(text);
    const root = Number(
      database.prepare("select rootpage from sqlite_schema where name = 'texts'").get()?.['rootpage'],
    );
    database.close();
    await change(file, (bytes) => {
      const page = bytes.subarray((root - 1) * PAGE_BYTES, root * PAGE_BYTES);
      page.write('text-9', page.indexOf('text-3'));
      return bytes;
    });
    assert.deepEqual(await check(file, ['quick']), []);
    assert.match((await check(file, ['full']))[0]?.detail ?? '', /missing from index texts/);
  });

  it('finds a reference to a missing row', async () => {
    const file = join(folder, 'references.db');
    const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
    database.exec('create table a (id integer primary key); create table b (a integer references a (id))');
    database.exec('insert into b values (7)');
    database.close();
    assert.deepEqual(await check(file, ['foreign-keys']), [
      { part: 'foreign-keys', detail: 'row 1 of b refers to a missing row of a' },
    ]);
  });
});
