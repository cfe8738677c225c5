import assert from 'node:assert/strict';
import { readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import type { FolderFile, Weights } from '../core/weights.ts';
import { createFakePython } from './__fixtures__/fake-python.ts';
import { sha256Of } from './__fixtures__/fake-hub.ts';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createTestStore } from './__fixtures__/test-store.ts';
import { tinyWhisper, writeCt2 } from './conversion/__fixtures__/tiny-whisper.ts';
import { convertWhisper } from './conversion/convert-whisper.ts';

const CONFIG = JSON.stringify({ alignment_heads: [[0, 1]] });
const MODEL = writeCt2(tinyWhisper()).toString('latin1');
const NAMES = ['encoder.onnx', 'encoder.onnx_data', 'decoder.onnx', 'decoder.onnx_data'];

const source = (name: string, content: string, member = 'm') => ({
  type: 'packages' as const,
  sha256: sha256Of(Buffer.from(content, 'latin1')),
  parts: [{ package: name, version: '1.0', member }],
});

const file = (name: string, from: string, content: string) => {
  const of = source(from, content, name);
  return { name, sizeBytes: content.length, sha256: of.sha256, source: of };
};

async function scene(t: TestContext, made?: readonly FolderFile[]) {
  const folder = await temporaryFolder(t);
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
        file('config.json', 'config', CONFIG),
        file('a.json', 'text', 'a tokenizer'),
        file('b.json', 'text', 'a tokenizer'),
      ],
      conversion: {
        layout: 'ct2-whisper',
        sizeBytes: MODEL.length,
        source: source('model', MODEL),
        files: made ?? (await converted(t)),
      },
    },
  };
  const store = createTestStore(folder, { python: python.command });
  return { folder, python, store, weights, home: join(store.folder, 'w.onnx') };
}

/** What the conversion gives, by the conversion itself. */
async function converted(t: TestContext): Promise<readonly FolderFile[]> {
  const folder = await temporaryFolder(t);
  const [modelFile, configFile] = [join(folder, 'model.bin'), join(folder, 'config.json')];
  await writeFile(modelFile, Buffer.from(MODEL, 'latin1'));
  await writeFile(configFile, CONFIG);
  convertWhisper({ modelFile, configFile, folder }, () => undefined);
  return await Promise.all(
    NAMES.map(async (name) => {
      const bytes = await readFile(join(folder, name));
      return { name, sizeBytes: bytes.length, sha256: sha256Of(bytes) };
    }),
  );
}

test('a folder of weights comes, is converted, and leaves nothing else behind', async (t) => {
  const { python, store, weights, home } = await scene(t);
  assert.equal(await store.locate(weights), undefined);
  assert.equal(await store.pull(weights), home);
  assert.deepEqual((await readdir(home)).toSorted(), ['a.json', 'b.json', 'config.json', ...NAMES].toSorted());
  assert.deepEqual((await readdir(store.folder)).toSorted(), ['w.onnx', 'w.onnx.json']);
  assert.deepEqual(
    await python.asked(),
    ['config==1.0', 'model==1.0', 'text==1.0'],
    'a package of two files comes once',
  );
  assert.equal(store.progress.at(-1)?.source, 'conversion');
  assert.equal(store.progress.at(-1)?.doneBytes, store.progress.at(-1)?.totalBytes);
  const [stored] = await store.list();
  assert.deepEqual([stored?.id, stored?.path, stored?.verified], ['w', home, 'catalogue']);
  assert.match(stored?.source ?? '', /^packages model==1\.0, config==1\.0, text==1\.0, converted from ct2-whisper$/);
  assert.equal(await store.pull(weights), home);
  assert.equal((await python.asked()).length, 3);
});

test('a conversion that gives other bytes is not kept', async (t) => {
  const wrong = (await converted(t)).map((each) => ({
    ...each,
    sha256: each.name === 'decoder.onnx' ? '0'.repeat(64) : each.sha256,
  }));
  const { store, weights } = await scene(t, wrong);
  await assert.rejects(store.pull(weights), { kind: 'upstream-failed', message: /gave another decoder\.onnx/ });
  assert.equal(await store.locate(weights), undefined);
  assert.deepEqual(await readdir(store.folder), []);
});

test('what an interrupted pull has finished is not downloaded again', async (t) => {
  const { python, store, weights, home } = await scene(t);
  await rename(join(python.folder, 'text.whl'), join(python.folder, 'text.away'));
  await assert.rejects(store.pull(weights), { kind: 'upstream-failed', message: /could not download text==1\.0/ });
  assert.equal(await store.locate(weights), undefined);
  assert.deepEqual(
    (await store.stray([weights])).map(({ path, why }) => [path.endsWith('w.work'), why]),
    [[true, 'unfinished']],
  );
  await rename(join(python.folder, 'text.away'), join(python.folder, 'text.whl'));
  await rm(join(python.folder, 'asked.txt'));
  await rm(join(store.folder, 'w.work', 'wheels'), { recursive: true });
  assert.equal(await store.pull(weights), home);
  assert.deepEqual(await python.asked(), ['text==1.0']);
});

test('files that have changed are not used, and those of PARLEY_MODELS are, when they are right', async (t) => {
  const { folder, python, store, weights, home } = await scene(t);
  await store.pull(weights);
  const extra = join(folder, 'extra');
  await rename(store.folder, extra);
  const reader = createTestStore(join(folder, 'reader'), { extraFolders: [extra], python: python.command });
  assert.equal(await reader.locate(weights), join(extra, 'w.onnx'));
  await writeFile(join(extra, 'w.onnx', 'a.json'), 'A TOKENIZER');
  assert.equal(await reader.locate(weights), undefined);
  assert.match(reader.logged.join(), /other content and is not used/);
  await writeFile(join(extra, 'w.onnx', 'a.json'), 'a tokenizer');
  assert.equal(await reader.locate(weights), join(extra, 'w.onnx'));
  await rm(join(extra, 'w.onnx', 'b.json'));
  assert.equal(await reader.locate(weights), undefined);
  await rename(extra, store.folder);
  assert.equal(await store.pull(weights), home, 'ours is made anew');
  assert.ok((await stat(join(home, 'b.json'))).isFile());
});

test('a folder of weights is removed whole, and is stray when nothing names it', async (t) => {
  const { store, weights } = await scene(t);
  await store.pull(weights);
  assert.deepEqual(await store.stray([weights]), []);
  assert.deepEqual(
    (await store.stray([])).map(({ why }) => why),
    ['unnamed', 'unnamed'],
  );
  assert.equal(await store.remove('w'), true);
  assert.deepEqual(await readdir(store.folder), []);
  assert.equal(await store.remove('w'), false);
});
