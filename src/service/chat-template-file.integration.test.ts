import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { expandCatalogue } from '../catalogue/expand-catalogue.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { findTemplateFile, readTemplateFile } from './chat-template-file.ts';

function createFolder(t: TestContext, ...names: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-template-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of names) writeFileSync(join(folder, name), `template of ${name}`);
  return folder;
}

const createEntry = (record: Record<string, unknown>) => {
  const [entry] = expandCatalogue(parseCatalogueAdditions({ models: { m: record } })).entries;
  assert.ok(entry);
  return entry;
};

test('finds the template next to a model file, and next to the parts of a split one', (t) => {
  const folder = createFolder(t, 'a.jinja', 'b.jinja');
  const entry = createEntry({ path: join(folder, 'a.gguf') });
  assert.equal(findTemplateFile(entry, join(folder, 'a.gguf')), join(folder, 'a.jinja'));
  assert.equal(findTemplateFile(entry, join(folder, 'b-00001-of-00002.gguf')), join(folder, 'b.jinja'));
  assert.equal(findTemplateFile(entry, join(folder, 'c.gguf')), undefined);
  assert.equal(findTemplateFile(entry, undefined), undefined);
});

test('prefers the template that the configuration names', async (t) => {
  const folder = createFolder(t, 'a.jinja', 'mine.jinja');
  const chatTemplate = join(folder, 'mine.jinja');
  for (const record of [
    { path: join(folder, 'a.gguf'), chatTemplate },
    { path: join(folder, 'a.gguf'), command: 'llama-server', input: 'prompt', chatTemplate },
  ]) {
    const entry = createEntry(record);
    const file = findTemplateFile(entry, join(folder, 'a.gguf'));
    assert.equal(file, chatTemplate);
    assert.equal(await readTemplateFile(entry, file), 'template of mine.jinja');
  }
});

test('names the entry and the file that cannot be read', async () => {
  const entry = createEntry({ path: '/m.gguf', chatTemplate: '/nonexistent/t.jinja' });
  await assert.rejects(readTemplateFile(entry, '/nonexistent/t.jinja'), {
    kind: 'unsupported',
    message: 'models.m.chatTemplate: cannot read the file /nonexistent/t.jinja.',
  });
});
