import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openDiskBlobStore } from '../blobs/disk-blob-store.ts';
import { loadConfig } from '../config/load-config.ts';
import { openDatabase } from '../service/open-components.ts';
import { lockDataFolder } from '../service/lock-data-folder.ts';
import type { DiskUsage } from '../service/read-disk-usage.ts';
import { createDiskCommand } from './disk-command.ts';
import { createMigrateCommand } from './migrate-command.ts';

async function createService(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const data = mkdtempSync(join(tmpdir(), 'parley-disk-'));
  t.after(() => rmSync(data, { recursive: true }));
  const load = () => loadConfig({ env: { PARLEY_DATA: data, ...env } });
  const store = await openDatabase(load().config);
  await store.transaction(({ fileTotals }) =>
    fileTotals
      .lockUsage({ region: 'cn-beijing', workspace: 'team-a' })
      .then(() => fileTotals.addUsage({ region: 'cn-beijing', workspace: 'team-a' }, { files: 2, bytes: 12 })),
  );
  await store.close();
  const exitCodes: number[] = [];
  const run = async (args: readonly string[], isServerRunning = false): Promise<string> => {
    let output = '';
    const stdout = { write: (text: string) => (output += text) };
    const setExitCode = (code: number) => void exitCodes.push(code);
    const deps = { load, env, stdout, setExitCode, isServerRunning: () => Promise.resolve(isServerRunning) };
    const command = args[0] === 'migrate' ? createMigrateCommand(deps) : createDiskCommand(deps);
    await command.exitOverride().parseAsync(args.slice(1), { from: 'user' });
    return output;
  };
  return { data, run, exitCodes };
}

describe('parley disk', () => {
  it('shows database, blobs by kind, workspaces and folders', async (t) => {
    const { data, run } = await createService(t);
    const blobs = await openDiskBlobStore({ folder: join(data, 'blobs') });
    const put = (name: string, text: string) =>
      blobs.put(
        name,
        (async function* () {
          yield Buffer.from(text);
        })(),
      );
    await put('upload_1', '12345');
    await put('upload_2', '1234567');
    await put('text_1', '1');
    mkdirSync(join(data, 'models'));
    writeFileSync(join(data, 'models', 'a.gguf'), Buffer.alloc(100_000, 'x'));
    const usage = JSON.parse(await run(['disk', '--json'])) as DiskUsage;
    assert.deepEqual(usage.blobs, { files: { count: 2, bytes: 12 }, 'extracted texts': { count: 1, bytes: 1 } });
    assert.deepEqual(usage.workspaces, [{ region: 'cn-beijing', workspace: 'team-a', count: 2, bytes: 12 }]);
    assert.ok((usage.folders?.['models']?.bytes ?? 0) >= 100_000);
    assert.ok(usage.database?.tables.some(({ table }) => table === 'files') && usage.database.givesBackSpace);
    const text = await run(['disk']);
    for (const part of [/^files +2 +12 B/m, /cn-beijing\/team-a/, /^models /m, /free of/]) assert.match(text, part);
  });

  it('shows the other areas when the bucket cannot be reached, and names the failed one', async (t) => {
    const { run, exitCodes } = await createService(t, {
      PARLEY_BLOBS_URL: 's3://bucket?endpoint=http://127.0.0.1:1',
      AWS_REGION: 'x',
      AWS_ACCESS_KEY_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'x',
    });
    const text = await run(['disk']);
    for (const part of [/^file +- /m, /cn-beijing\/team-a/, /free of/, /^Cannot read blobs: .*ECONNREFUSED/m])
      assert.match(text, part);
    assert.deepEqual(exitCodes, [1]);
  });

  it('compacts the database of a stopped service only', async (t) => {
    const { data, run } = await createService(t);
    await assert.rejects(run(['disk', '--compact'], true), /Stop it, then compact/);
    const lock = lockDataFolder(data);
    await assert.rejects(run(['disk', '--compact']), /Another service uses the data folder/);
    lock.release();
    assert.match(await run(['disk', '--compact']), /^unused +- +0 B/m);
  });
});

describe('parley migrate', () => {
  it('says that a current database is up to date, with and without --dry-run', async (t) => {
    const { data, run } = await createService(t);
    assert.match(await run(['migrate', '--dry-run']), /the database is up to date\nwould copy the database first: no/);
    rmSync(data, { recursive: true });
    assert.match(await run(['migrate', '--dry-run']), /would apply/);
    assert.ok(!existsSync(data), 'a dry run creates no folder');
    await run(['migrate']);
    assert.equal(await run(['migrate']), 'the database is up to date\n');
    assert.deepEqual(JSON.parse(await run(['migrate', '--json'])), { applied: [], backup: null });
  });
});
