import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { expandCatalogue } from '../catalogue/expand-catalogue.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { createGgufHead } from '../weights/__fixtures__/test-gguf-head.ts';
import { detectToolCallsOfFile } from './detect-loaded-model-info.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-tool-calls-'));
after(() => rmSync(folder, { recursive: true }));

const TOOLS = '{% if tools %}{{ tools | tojson }}{% endif %}';
const TURNS = '{% for m in messages %}<{{ m.role }}>{{ m.content or "" }}';
const CALLS = '{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}';
const NATIVE = `${TOOLS}${TURNS}${CALLS}{% endfor %}`;
const UNKNOWN = `${TOOLS}${TURNS}{% for c in m.tool_calls or [] %}{{ c.function.name | upper }}{% endfor %}{% endfor %}`;

const createEntry = (record: Record<string, unknown>) => {
  const [entry] = expandCatalogue(parseCatalogueAdditions({ models: { m: record } })).entries;
  assert.ok(entry);
  return entry;
};

async function detect(
  metadata: Readonly<Record<string, string>>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string | undefined> {
  const path = join(folder, 'model.gguf');
  writeFileSync(path, createGgufHead({ 'general.architecture': 'qwen2', ...metadata }));
  return await detectToolCallsOfFile(createEntry({ path, ...more }), path);
}

test('detects how the model of a file writes tool calls by its templates', async () => {
  assert.equal(await detect({ 'tokenizer.chat_template': NATIVE }), 'native');
  assert.equal(await detect({ 'tokenizer.chat_template': `${TURNS}{% endfor %}` }), 'described');
  assert.equal(await detect({}), 'described');
  assert.equal(await detect({ 'tokenizer.chat_template': UNKNOWN }), 'unknown');
  const long = `{# ${'long '.repeat(10_000)} #}${UNKNOWN}`;
  assert.equal(await detect({ 'tokenizer.chat_template': long }), 'unknown');
  const named = { 'tokenizer.chat_template': TURNS, 'tokenizer.chat_template.tool_use': NATIVE };
  assert.equal(await detect(named), 'native');
});

test("detects it by the operator's template, which replaces those of the file", async () => {
  const chatTemplate = join(folder, 'mine.jinja');
  writeFileSync(chatTemplate, UNKNOWN);
  assert.equal(await detect({ 'tokenizer.chat_template': NATIVE }, { chatTemplate }), 'unknown');
});

test('leaves it open without a file, for a broken template and for a server that parses calls itself', async () => {
  assert.equal(await detectToolCallsOfFile(createEntry({ path: '/m.gguf' }), undefined), undefined);
  assert.equal(await detect({ 'tokenizer.chat_template': '{% if tools %}' }), undefined);
  const command = { command: 'llama-server', input: 'chat' };
  assert.equal(await detect({ 'tokenizer.chat_template': UNKNOWN }, command), undefined);
});
