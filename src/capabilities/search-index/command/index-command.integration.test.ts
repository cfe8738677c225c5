import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createDocumentExtractor } from '../../../documents/document-extractor.ts';
import { createInlineExtractor } from '../../../documents/inline-extractor.ts';
import { createSearchIndexOperator } from '../operator.ts';
import { createSearchIndex } from '../search.ts';
import type { EmbedTexts } from '../search-index.ts';
import { createSqliteDialect } from '../../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../../store/store.ts';
import { createIndexCommand } from './index-command.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const clock = { now: () => NOW, monotonic: () => 0 };

describe('parley index', () => {
  let embed: EmbedTexts | undefined;
  let folder = '';
  /** Connection of the running server. Each command opens and closes a connection of its own. */
  let server: Store;
  let opened = 0;
  let output = '';
  let complaints = '';

  beforeEach(async () => {
    embed = undefined;
    opened = 0;
    folder = await mkdtemp(join(tmpdir(), 'parley-index-command-'));
    server = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
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
    const command = createIndexCommand({
      stdout: { write: (text) => void (output += text) },
      stderr: { write: (text) => void (complaints += text) },
      runUntilStopped: (_, work) => work(new AbortController().signal),
      open: async () => {
        const store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
        opened += 1;
        return {
          regions: ['cn-beijing'],
          operator: createSearchIndexOperator({
            store,
            clock,
            embed,
            extract: createInlineExtractor(createDocumentExtractor()),
          }),
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
  const findDocument = async (): Promise<number> => {
    const [document] = await server.indexDocuments.listWithoutVectors('docs', { model: 'small', after: 0, limit: 1 });
    return document?.id ?? 0;
  };

  it('reports added, failed and changed documents', async () => {
    await writeFile(join(folder, 'docs', 'broken\n.pdf'), 'no pdf');
    await writeFile(join(folder, 'docs', 'x.bin'), '');
    assert.equal(await add(), 'docs: 1 added, 1 failed; skipped: 1 of unsupported types\n');
    assert.match(complaints, /^parley: broken\ufffd\.pdf: The file is named \.pdf, but does not have this format\.\n$/);
    await unlink(join(folder, 'docs', 'broken\n.pdf'));
    await writeFile(join(folder, 'docs', 'frog.md'), 'A frog.');
    const report = JSON.parse(await run('refresh', 'docs', '--json'));
    assert.deepEqual([report.name, report.added, report.unchanged, report.failed], ['docs', 1, 1, 0]);
    await unlink(join(folder, 'docs', 'frog.md'));
    assert.equal(await add(), 'docs: 1 unchanged, 1 removed; skipped: 1 of unsupported types\n');
  });

  it('lists and removes collections', async () => {
    await add();
    assert.match(
      await run('list'),
      /^NAME +DOCUMENTS .*\ndocs +1 +1 +0 +all +all +2026-07-01T12:00:00\.000Z +\S+docs\n$/,
    );
    const [listed] = JSON.parse(await run('list', '--json'));
    assert.deepEqual([listed.name, listed.documents, listed.workspace, listed.domain], ['docs', 1, null, null]);
    assert.equal(await run('remove', 'docs'), 'docs: 1 documents removed\n');
    assert.equal(await run('list', '--json'), '[]\n');
    await assert.rejects(run('remove', 'docs'), /Collection docs not found/);
  });

  it('prints search results without control characters', async () => {
    await add();
    assert.equal(
      await run('search', 'singing', 'whales'),
      '[1] Whale\n    parley-index:docs/whale.md  docs  2026-06-30\n    ---\n    date: 2026-06-30\n    ---\n    # Whale\n    The whale sings.\n',
    );
    assert.equal(await run('search', 'frog'), 'no documents found\n');
    assert.equal(await run('search', 'whale', '--site', 'example.com'), 'no documents found\n');
    assert.equal(JSON.parse(await run('search', 'whale', '--days', '7', '--json')).results[0].title, 'Whale');
    await assert.rejects(run('search', 'whale', '--limit', '0'), /whole number from 1 to 50/);
  });

  it('searches the collections of a workspace, and those with a domain on request', async () => {
    await run('add', join(folder, 'docs'), '--name', 'team', '--workspace', 'team-7');
    assert.equal(await run('search', 'whale'), 'no documents found\n');
    assert.match(await run('search', 'whale', '--workspace', 'team-7'), /parley-index:team\/whale\.md/);
    const abroad = await run('search', 'whale', '--workspace', 'team-7', '--region', 'us-east-1');
    assert.equal(abroad, 'no documents found\n');
    assert.match(await run('list'), /team-7 +cn-beijing/);
    await assert.rejects(run('search', 'whale', '--region', 'mars'), /cn-beijing, .* got "mars"/);
    await run('add', join(folder, 'docs'), '--name', 'sea', '--domain', 'nature');
    assert.equal(await run('search', 'whale'), 'no documents found\n');
    assert.match(await run('search', 'whale', '--domains'), /^\(nature\)\n {4}Whale\n/);
  });

  it('leaves vectors to a running service on request, and shows how many documents have some', async () => {
    await writeFile(join(folder, 'docs', 'frog.md'), 'A frog.');
    let calls = 0;
    embed = async (texts) => {
      calls++;
      return { model: 'small', vectors: texts.map(() => Float32Array.of(1, 0)) };
    };
    assert.equal(await run('add', join(folder, 'docs'), '--background'), 'docs: 2 added\n');
    assert.equal(calls, 0);
    await server.indexDocuments.setVectors(await findDocument(), {
      model: 'small',
      dimensions: 2,
      vectors: Uint8Array.of(127, 0),
    });
    assert.match(await run('list'), /^docs +2 +2 +1 of 2 /m);
    assert.equal(await run('refresh', 'docs'), 'docs: 2 unchanged, 1 with new vectors\n');
    assert.match(await run('list'), /^docs +2 +2 +2 /m);
  });

  it('fails if no document could be read', async () => {
    await assert.rejects(run('add', 'https://a.test/'), /None of the documents of a\.test could be read/);
    assert.match(complaints, /URLs cannot be read/);
  });

  it('shows the progress on a terminal', async () => {
    const command = createIndexCommand({
      stdout: { write: () => undefined },
      stderr: { isTTY: true, columns: 40, rows: 5, write: (text) => void (complaints += text) },
      runUntilStopped: (_, work) => work(new AbortController().signal),
      open: async () => ({
        regions: [],
        operator: createSearchIndexOperator({
          store: server,
          clock,
          extract: createInlineExtractor(createDocumentExtractor()),
        }),
        search: createSearchIndex({ store: server, clock, log: { warn: () => undefined } }),
        close: async () => undefined,
      }),
    });
    complaints = '';
    await command.parseAsync(['add', join(folder, 'docs')], { from: 'user' });
    assert.equal(complaints, '\u001b[J1 read: whale.md\n\u001b[1A\u001b[J');
  });
});
