import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore } from '../store/store.ts';
import { buildStorageReport } from './storage-report.ts';

test('the storage report is about the disk with the smaller free share, and names its folder', async (t) => {
  const store = await openStore({ dialect: createSqliteDialect({ file: ':memory:' }) });
  t.after(() => store.close());
  const spaces: Readonly<Record<string, number>> = { '/data': 50, '/database': 2 };
  const build = (folders: readonly [string, string]) =>
    buildStorageReport({
      store,
      getDatabaseProblem: () => undefined,
      folders,
      freeShareMin: 0.05,
      readSpace: async (folder) => ({ totalBytes: 100, freeBytes: spaces[folder] ?? 0 }),
    });
  for (const folders of [
    ['/data', '/database'],
    ['/database', '/data'],
  ] as const) {
    const { state, reason, disk } = await build(folders);
    assert.deepEqual([state, disk?.freeBytes], ['degraded', 2]);
    assert.match(reason ?? '', /^2\.0 % of the disk of \/database is free/);
  }
  assert.deepEqual((await build(['/data', '/data'])).state, 'ok');
});
