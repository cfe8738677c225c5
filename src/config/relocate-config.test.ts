import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { loadConfig } from './load-config.ts';
import { relocateConfig } from './relocate-config.ts';

const LOCAL = { databasePath: 'parley.db', blobsUrl: undefined };

function createFolder(t: TestContext, text?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-relocate-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'parley.yaml');
  if (text !== undefined) writeFileSync(file, text, { mode: 0o640 });
  const load = () => loadConfig({ flags: { config: file }, env: { PARLEY_DATA: folder } }).config;
  return { folder, file, load, read: () => readFileSync(file, 'utf8') };
}

describe('relocateConfig', () => {
  it('replaces the database, bucket and data folder of the other service, and keeps the rest', async (t) => {
    const { folder, file, load, read } = createFolder(
      t,
      '# mine\nport: 9000 # public\ndata: /srv/live\nstore:\n  url: sqlite:/srv/live.db\n  startCheck: false # slow\nblobs:\n  url: s3://live/blobs\n',
    );
    const changes = await relocateConfig(folder, LOCAL);
    assert.deepEqual(changes, [
      { setting: 'data', before: '/srv/live', after: '.' },
      { setting: 'store.url', before: 'sqlite:/srv/live.db', after: undefined },
      { setting: 'blobs.url', before: 's3://live/blobs', after: undefined },
    ]);
    assert.equal(read(), '# mine\nport: 9000 # public\ndata: .\nstore:\n  startCheck: false # slow\nblobs: {}\n');
    const config = load();
    assert.deepEqual(
      [config.data, config.store.url, config.blobs.url, config.port, config.store.startCheck],
      [folder, `sqlite:${join(folder, 'parley.db')}`, undefined, 9000, false],
    );
    assert.equal(statSync(file).mode & 0o777, 0o640);
  });

  it('names the new bucket and the path of the database, also in a file that must be created', async (t) => {
    const locations = { databasePath: 'db/service.db', blobsUrl: 's3://new/blobs' };
    for (const text of [
      undefined,
      'store:\nblobs: # none\n',
      'store:\n  url: sqlite:/srv/db/service.db\nblobs: {url: s3://live}\n',
    ]) {
      const { folder, load } = createFolder(t, text);
      await relocateConfig(folder, locations);
      const { store, blobs } = load();
      assert.deepEqual([store.url, blobs.url], [`sqlite:${join(folder, 'db/service.db')}`, 's3://new/blobs']);
    }
  });

  it('changes no file that names the restored data already', async (t) => {
    for (const text of ['port:   9000\n', 'store: {url:  "sqlite:./parley.db"}\n', '']) {
      const { folder, read } = createFolder(t, text);
      assert.deepEqual(await relocateConfig(folder, LOCAL), []);
      assert.equal(read(), text);
    }
    const { folder, file } = createFolder(t);
    assert.deepEqual(await relocateConfig(folder, LOCAL), []);
    assert.equal(existsSync(file), false);
  });

  it('finds settings behind aliases, and refuses an invalid file', async (t) => {
    const aliases = createFolder(
      t,
      'files: &x {}\nlog: *x\nstore: {url: &u "sqlite:/live.db"}\nblobs: {url: s3://live}\n',
    );
    await relocateConfig(aliases.folder, LOCAL);
    assert.deepEqual(
      [aliases.load().store.url, aliases.load().blobs.url],
      [`sqlite:${aliases.folder}/parley.db`, undefined],
    );
    const section = createFolder(t, 'aliases: {a: &b {url: s3://live}}\nblobs: *b\n');
    await relocateConfig(section.folder, LOCAL);
    assert.equal(section.read().includes('blobs: {}'), true, section.read());
    assert.match(section.read(), /a:\n\s+url: s3:\/\/live/);
    const invalid = createFolder(t, 'blobs: {url: "s3://live\n');
    await assert.rejects(relocateConfig(invalid.folder, LOCAL), /parley.yaml is invalid/);
  });
});
