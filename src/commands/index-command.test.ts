import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createExtract } from '../documents/extract.ts';
import { createQuickExtract } from '../documents/extract-quickly.ts';
import { createSearchIndexOperator } from '../resources/search-index/operator.ts';
import { createSearchIndex } from '../resources/search-index/search.ts';
import { sqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore, type Store } from '../store/store.ts';
import { indexCommand } from './index-command.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const clock = { now: () => NOW, monotonic: () => 0 };

describe('parley index', () => {
  let folder = '';
  /** The running server's connection; each command opens and closes one of its own. */
  let server: Store;
  let opened = 0;
  let output = '';
  let complaints = '';

  beforeEach(async () => {
    opened = 0;
    folder = await mkdtemp(join(tmpdir(), 'parley-index-command-'));
    server = await openStore({ dialect: sqliteDialect({ file: join(folder, 'parley.db') }) });
    await mkdir(join(folder, 'docs'));
    await writeFile(join(folder, 'docs', 'whale.md'), '---\ndate: 2026-06-30\n---\n# Whale\n\nThe whale sings.');
  });
  afterEach(async () => {
    assert.equal(opened, 0, 'a command has left the database open');
    await server.close();
    await rm(folder, { recursive: true });
  });

  async function run(...args: readonly string[]): Promise<string> {
    output = '';
    complaints = '';
    const command = indexCommand({
      stdout: { write: (text) => void (output += text) },
      stderr: { write: (text) => void (complaints += text) },
      untilStopped: (_, work) => work(new AbortController().signal),
      open: async () => {
        const store = await openStore({ dialect: sqliteDialect({ file: join(folder, 'parley.db') }) });
        opened += 1;
        return {
          operator: createSearchIndexOperator({ store, clock, extract: createQuickExtract(createExtract()) }),
          search: createSearchIndex({ store, clock, log: { warn: () => undefined } }),
          async close() {
            opened -= 1;
            await store.close();
          },
        };
      },
    });
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    for (const sub of command.commands) sub.copyInheritedSettings(command);
    await command.parseAsync(args, { from: 'user' });
    return output;
  }
  const add = () => run('add', join(folder, 'docs'));

  it('says what was read, what was not, and what has changed since', async () => {
    await writeFile(join(folder, 'docs', 'broken\n.pdf'), 'no pdf');
    await writeFile(join(folder, 'docs', 'x.bin'), '');
    assert.equal(await add(), 'docs: 1 added, 1 not read; passed over: 1 of other kinds\n');
    assert.match(complaints, /^parley: broken\ufffd\.pdf: The file is named \.pdf and is none\.\n$/);
    await unlink(join(folder, 'docs', 'broken\n.pdf'));
    await writeFile(join(folder, 'docs', 'frog.md'), 'A frog.');
    const report = JSON.parse(await run('refresh', 'docs', '--json'));
    assert.deepEqual([report.name, report.added, report.unchanged, report.failed], ['docs', 1, 1, 0]);
    await unlink(join(folder, 'docs', 'frog.md'));
    assert.equal(await add(), 'docs: 1 unchanged, 1 removed; passed over: 1 of other kinds\n');
  });

  it('lists collections, and forgets one', async () => {
    await add();
    assert.match(await run('list'), /^NAME +DOCUMENTS .*\ndocs +1 +1 +0 +all +2026-07-01T12:00:00\.000Z +\S+docs\n$/);
    const [listed] = JSON.parse(await run('list', '--json'));
    assert.deepEqual([listed.name, listed.documents, listed.workspace, listed.domain], ['docs', 1, null, null]);
    assert.equal(await run('remove', 'docs'), 'docs: 1 documents forgotten\n');
    assert.equal(await run('list', '--json'), '[]\n');
    await assert.rejects(run('remove', 'docs'), /no collection docs/);
  });

  it('shows what a model would be given, and nothing that a terminal obeys', async () => {
    await add();
    assert.equal(
      await run('search', 'singing', 'whales'),
      '[1] Whale\n    parley-index:docs/whale.md  docs  2026-06-30\n    ---\n    date: 2026-06-30\n    ---\n    # Whale\n    The whale sings.\n',
    );
    assert.equal(await run('search', 'frog'), 'nothing found\n');
    assert.equal(await run('search', 'whale', '--site', 'example.com'), 'nothing found\n');
    assert.equal(JSON.parse(await run('search', 'whale', '--days', '7', '--json')).results[0].title, 'Whale');
    await assert.rejects(run('search', 'whale', '--limit', '0'), /whole number from 1 to 50/);
  });

  it('finds for a workspace what was added for it, and what has a domain on demand', async () => {
    await run('add', join(folder, 'docs'), '--name', 'team', '--workspace', 'team-7');
    assert.equal(await run('search', 'whale'), 'nothing found\n');
    assert.match(await run('search', 'whale', '--workspace', 'team-7'), /parley-index:team\/whale\.md/);
    await run('add', join(folder, 'docs'), '--name', 'sea', '--domain', 'nature');
    assert.equal(await run('search', 'whale'), 'nothing found\n');
    assert.match(await run('search', 'whale', '--domains'), /^\(nature\)\n {4}Whale\n/);
  });

  it('fails where nothing could be read', async () => {
    await assert.rejects(run('add', 'https://a.test/'), /Nothing of a\.test could be read/);
    assert.match(complaints, /Addresses cannot be read here/);
  });

  it('shows how far it is on a terminal', async () => {
    const command = indexCommand({
      stdout: { write: () => undefined },
      stderr: { isTTY: true, columns: 40, rows: 5, write: (text) => void (complaints += text) },
      untilStopped: (_, work) => work(new AbortController().signal),
      open: async () => ({
        operator: createSearchIndexOperator({ store: server, clock, extract: createQuickExtract(createExtract()) }),
        search: createSearchIndex({ store: server, clock, log: { warn: () => undefined } }),
        close: async () => undefined,
      }),
    });
    complaints = '';
    await command.parseAsync(['add', join(folder, 'docs')], { from: 'user' });
    assert.equal(complaints, '\u001b[J1 read: whale.md\n\u001b[1A\u001b[J');
  });
});
