import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createCatalogue } from '../catalogue/catalogue.ts';
import { expandCatalogue } from '../catalogue/expand-catalogue.ts';
import { readShippedCatalogue } from '../catalogue/shipped.ts';
import { addFolderIndex } from '../weights/folder-index.ts';
import { createHubIndex } from '../weights/hub-index.ts';
import { FAKE_COMMIT, startFakeRepositories } from '../weights/__fixtures__/fake-hub-repositories.ts';
import { hashBytes } from '../weights/__fixtures__/fake-hub.ts';
import { createTemporaryFolder } from '../weights/__fixtures__/temporary-folder.ts';
import { createTestWeightsStore } from '../weights/__fixtures__/test-weights-store.ts';
import { createModelsCommand } from './models-command.ts';

const catalogue = createCatalogue(expandCatalogue(await readShippedCatalogue()));

const text = (label: string): string => `GGUF ${label}`;
const hash = (label: string): string => hashBytes(Buffer.from(text(label)));
const REPOSITORIES = {
  'maker/Small-GGUF': {
    downloads: 7_000,
    files: {
      'README.md': 'hello',
      'Small-Q4_K_M.gguf': text('q4'),
      'Small-Q8_0.gguf': text('q8'),
      'mmproj-F16.gguf': text('projector'),
    },
  },
  'maker/Large-GGUF': {
    files: { 'UD-Q4_K_M/Large-00001-of-00002.gguf': text('one'), 'UD-Q4_K_M/Large-00002-of-00002.gguf': text('two') },
    tags: ['license:mit'],
  },
  'maker/Text': { files: { 'README.md': 'no model' } },
};

interface Scenario {
  readonly memoryBytes?: number;
  readonly isHubReachable?: boolean;
  /** Paths of files in the operator's folder, with their contents. */
  readonly folderFiles?: Readonly<Record<string, string>>;
}

async function createScenario(
  t: TestContext,
  { memoryBytes = 64e9, isHubReachable = true, folderFiles = {} }: Scenario = {},
) {
  const hub = await startFakeRepositories(t, REPOSITORIES);
  const hubUrl = isHubReachable ? hub.url : undefined;
  const folder = await createTemporaryFolder(t);
  const extra = join(folder, 'extra');
  for (const [path, content] of Object.entries(folderFiles)) {
    await mkdir(dirname(join(extra, path)), { recursive: true });
    await writeFile(join(extra, path), content);
  }
  const weights = createTestWeightsStore(folder, { hubUrl, extraFolders: [extra] });
  const added: unknown[] = [];
  async function run(...args: readonly string[]) {
    let [output, errors] = ['', ''];
    const command = createModelsCommand({
      open: async () => ({
        catalogue,
        weights,
        hub: addFolderIndex(createHubIndex({ hubUrl, fetch }), [extra]),
        queryServers: async (entry) => ({ entry, isContextKnown: !entry.isContextGuessed }),
        detectToolCalls: async () => undefined,
        served: { contextTokens: 1_000, sequences: 1 },
        runtimes: { locate: async () => undefined },
        addToConfig: async (_section, name, value) => added.push([name, value]),
        reloadServer: () => true,
      }),
      stdout: { write: (part) => (output += part) },
      stderr: { write: (part) => (errors += part) },
      machine: async () => ({ memoryBytes, cores: 4, coreBytesPerSecond: 7e9, gpus: [] }),
    });
    await command.parseAsync([...args], { from: 'user' });
    return { output, errors };
  }
  return { run, added, hub, extra };
}

test('pull finds the file of a repository that fits, in all pages of the list, and verifies it', async (t) => {
  const { run, hub } = await createScenario(t);
  const { output, errors } = await run('pull', 'maker/Small-GGUF');
  assert.equal(await readFile(output.trim(), 'utf8'), text('q4'));
  assert.match(errors, /maker\/Small-GGUF\/Small-Q4_K_M\.gguf \(Q4_K_M\), 7 B, licence apache-2\.0/);
  assert.match(errors, /To serve it: parley models add NAME --hub maker\/Small-GGUF\n/);
  assert.doesNotMatch(errors, /WARNING/);
  assert.ok(hub.paths.includes(`/api/models/maker/Small-GGUF/tree/${FAKE_COMMIT}?recursive=true&cursor=2`));
  assert.ok(hub.paths.includes(`/maker/Small-GGUF/resolve/${FAKE_COMMIT}/Small-Q4_K_M.gguf`));
});

test('pull takes the named quantization, and lists all when there is none of that name', async (t) => {
  const { run } = await createScenario(t);
  const { output } = await run('pull', 'maker/Small-GGUF:q8_0');
  assert.equal(await readFile(output.trim(), 'utf8'), text('q8'));
  await assert.rejects(run('pull', 'maker/Small-GGUF:Q2_K'), {
    kind: 'not-found',
    message: 'maker/Small-GGUF has no quantization Q2_K. It has: Q4_K_M (7 B), Q8_0 (7 B).',
  });
});

test('pull downloads all parts of a split model', async (t) => {
  const { run } = await createScenario(t);
  const first = (await run('pull', 'maker/Large-GGUF')).output.trim();
  assert.match(first, /-00001-of-00002\.gguf$/);
  assert.equal(await readFile(first.replace('-00001-of', '-00002-of'), 'utf8'), text('two'));
});

test('pull names what is wrong with a repository', async (t) => {
  const { run } = await createScenario(t, { memoryBytes: 1 });
  await assert.rejects(run('pull', 'maker/Small-GGUF'), /No file of .* fits this machine\. Name one/);
  await assert.rejects(run('pull', 'maker/Text'), /maker\/Text has no GGUF model/);
  await assert.rejects(run('pull', 'maker/None'), /no such public repository .* 404/);
});

test('add pins commit, hashes and licence of the file that it finds', async (t) => {
  const { run, added } = await createScenario(t);
  await run('add', 'small', '--hub', 'maker/Small-GGUF:Q4_K_M', '--context-tokens', '4096');
  await run('add', 'large', '--hub', 'maker/Large-GGUF');
  assert.deepEqual(added, [
    [
      'small',
      {
        hub: 'maker/Small-GGUF/Small-Q4_K_M.gguf',
        revision: FAKE_COMMIT,
        sha256: hash('q4'),
        licence: 'apache-2.0',
        contextTokens: 4096,
      },
    ],
    [
      'large',
      {
        hub: 'maker/Large-GGUF/UD-Q4_K_M/Large-00001-of-00002.gguf',
        revision: FAKE_COMMIT,
        sha256: [hash('one'), hash('two')],
        licence: 'mit',
      },
    ],
  ]);
});

test("without the hub, pull and add use repositories in the operator's folder", async (t) => {
  const file = 'maker/Small-GGUF/Small-Q8_0.gguf';
  const { run, added, extra } = await createScenario(t, { isHubReachable: false, folderFiles: { [file]: text('q8') } });
  const { output, errors } = await run('pull', 'maker/Small-GGUF');
  assert.equal(output.trim(), join(extra, file));
  assert.match(errors, /Small-Q8_0\.gguf \(Q8_0\)/);
  await run('add', 'small', '--hub', 'maker/Small-GGUF');
  assert.deepEqual(added, [['small', { hub: file }]]);
  await assert.rejects(run('pull', 'maker/Large-GGUF'), /The hub is switched off/);
});

test('add takes weights of the catalogue', async (t) => {
  const { run, added } = await createScenario(t);
  await run('add', 'qwen', '--weights', 'qwen3-8b');
  assert.deepEqual(added, [['qwen', { weights: 'qwen3-8b' }]]);
});

test('search finds weights of the catalogue and repositories of the hub', async (t) => {
  const { run } = await createScenario(t);
  const { output, errors } = await run('search', 'small');
  assert.match(output, /^mistral-small-3\.2-24b +14 GB +yes +Apache-2\.0$/m);
  assert.match(output, /^maker\/Small-GGUF +7000 +apache-2\.0$/m);
  assert.doesNotMatch(output, /Large/);
  assert.match(errors, /parley models pull NAME/);
  const { weights, repositories, problem } = JSON.parse((await run('search', 'maker', 'large', '--json')).output);
  assert.deepEqual(
    [weights, repositories, problem],
    [[], [{ name: 'maker/Large-GGUF', downloads: 0, licence: 'mit' }], null],
  );
});

test("search without the hub finds weights of the catalogue and repositories in the operator's folder", async (t) => {
  const folderFiles = { 'maker/Small-GGUF/Small-Q8_0.gguf': text('q8') };
  const { run } = await createScenario(t, { isHubReachable: false, folderFiles });
  assert.match((await run('search', 'SMALL')).output, /^maker\/Small-GGUF +- +-$/m);
  const { output, errors } = await run('search', 'qwen3-8b');
  assert.match(output, /^qwen3-8b +5\.0 GB +yes/m);
  assert.match(errors, /The hub was not searched: The hub is switched off/);
  assert.match((await run('search', 'nonsense')).errors, /^Nothing found\.\n/);
});
