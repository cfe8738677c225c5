import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { parse as parseYaml } from 'yaml';
import { type Parley, startParley } from './harness.ts';
import { findPageClient } from './page-clients.ts';
import { findPython } from './python.ts';

const FOLDER = new URL('../../docs/clients/', import.meta.url);

const INDEX = 'README.md';

const readPage = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');

const PAGES = readdirSync(FOLDER).filter((name) => name !== INDEX);

/** Returns the contents of a page's fenced blocks of a language. */
const readBlocks = (page: string, language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, block]) => block ?? '');

const DOCUMENTED_ADDRESS = 'http://127.0.0.1:8000';

/** Returns the paths of Parley's URLs on a page; a URL without a path gives an empty one. */
const readPaths = (page: string): ReadonlySet<string> =>
  new Set([...page.matchAll(/(?:http|ws):\/\/127\.0\.0\.1:8000([\w/-]*)/g)].map(([, path]) => path ?? ''));

const readModels = (page: string): ReadonlySet<string> =>
  new Set([...page.matchAll(/\b(?:svc-[a-z]+(?:-[a-z]+)*|qwen[\w.-]+)/g)].map(([name]) => name));

/** Pages whose client has a settings file, with the number of its blocks by language. */
const SETTINGS_FILES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'codex.md': { toml: 1 },
  'opencode.md': { json: 1 },
  'aider.md': { yaml: 1, json: 1 },
  'continue.md': { yaml: 1 },
  'litellm.md': { yaml: 1 },
};

describe('the pages of the clients', () => {
  let parley: Parley;
  before(async () => {
    const [config] = readBlocks(readPage(INDEX), 'yaml');
    assert.ok(config !== undefined);
    parley = await startParley({ engine: 'scripted', config });
  });
  after(() => parley?.stop());

  const authorization = () => ({ authorization: `Bearer ${parley.key}` });

  test('are all in the index', () => {
    const linked = [...readPage(INDEX).matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, name]) => name ?? '');
    assert.deepEqual(linked.toSorted(), PAGES.toSorted());
  });

  test('have aliases for other names, with which Parley answers', async () => {
    const response = await fetch(`${parley.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...authorization(), 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    assert.equal(response.status, 200, await response.text());
  });

  for (const name of [...PAGES, INDEX]) {
    test(`${name} names URLs that Parley serves`, async () => {
      const paths = readPaths(readPage(name));
      for (const path of paths) {
        const response = await fetch(parley.address + path);
        await response.body?.cancel();
        // An endpoint refuses GET with 405, and a WebSocket without a key with 401.
        assert.ok([200, 401, 405].includes(response.status), `${DOCUMENTED_ADDRESS}${path} gives ${response.status}`);
      }
    });

    test(`${name} names models that Parley has`, async () => {
      for (const model of readModels(readPage(name))) {
        const response = await fetch(`${parley.address}/v1/models/${model}`, { headers: authorization() });
        assert.equal(response.status, 200, `${model}: ${await response.text()}`);
      }
    });
  }

  for (const [name, blocks] of Object.entries(SETTINGS_FILES)) {
    const { path, skipReason } = findPython('openai');
    test(`${name} has settings files that can be parsed`, { skip: 'toml' in blocks && (skipReason ?? false) }, () => {
      for (const [language, count] of Object.entries(blocks)) {
        const contents = readBlocks(readPage(name), language);
        assert.equal(contents.length, count);
        for (const content of contents) assert.ok(parse(content, language, path) instanceof Object);
      }
    });
  }

  test('with settings files that can be parsed are all tested', () => {
    const pages = PAGES.filter((name) =>
      ['json', 'yaml', 'toml'].some((language) => readBlocks(readPage(name), language).length > 0),
    );
    assert.deepEqual(pages.toSorted(), Object.keys(SETTINGS_FILES).toSorted());
  });

  const { url: schemas, skipReason: schemasSkipReason } = findPageClient('@continuedev/config-yaml', 'dist/index.js');
  test("have settings of Continue that match Continue's own schema", { skip: schemasSkipReason ?? false }, async () => {
    const { configYamlSchema } = await import(schemas.href);
    const [settings = ''] = readBlocks(readPage('continue.md'), 'yaml');
    const { success, data, error } = configYamlSchema.safeParse(parseYaml(settings));
    assert.ok(success, String(error));
    // The schema drops keys that it does not know.
    assert.deepEqual(data, parseYaml(settings));
  });

  test('set one model and provider of opencode that its settings define', () => {
    const [settings = ''] = readBlocks(readPage('opencode.md'), 'json');
    const { model, small_model: small, provider } = JSON.parse(settings);
    for (const name of [model, small]) {
      const [providerName, modelName] = String(name).split('/');
      assert.ok(provider[providerName ?? ''].models[modelName ?? ''] instanceof Object, name);
    }
  });
});

/** Parses a settings file. TOML is parsed by Python's own parser. @throws if the content is not valid. */
function parse(content: string, language: string, python: string): unknown {
  if (language === 'json') return JSON.parse(content);
  if (language === 'yaml') return parseYaml(content);
  const code = 'import json, sys, tomllib; print(json.dumps(tomllib.load(sys.stdin.buffer)))';
  const { status, stdout, stderr } = spawnSync(python, ['-c', code], { input: content, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}
