import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Weights } from '../core/weights.ts';
import { startFakeRepositories } from './__fixtures__/fake-hub-repositories.ts';
import { hashBytes } from './__fixtures__/fake-hub.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createTestWeightsStore } from './__fixtures__/test-weights-store.ts';

const FILES = { 'q4/m-00001-of-00002.gguf': 'GGUF first', 'q4/m-00002-of-00002.gguf': 'GGUF second' };
const hashes = Object.values(FILES).map((text) => hashBytes(Buffer.from(text)));
const createWeights = (partHashes: readonly string[] = hashes): Weights => ({
  id: 'm',
  licence: 'free',
  contextTokensMax: 1,
  sources: [{ type: 'hub', repository: 'o/r', file: 'q4/m-00001-of-00002.gguf', revision: 'main', partHashes }],
});

test('downloads each part of a split file under the name that the engine expects, and verifies it', async (t) => {
  const hub = await startFakeRepositories(t, { 'o/r': { files: FILES } });
  const store = createTestWeightsStore(await createTemporaryFolder(t), { hubUrl: hub.url });
  assert.equal(await store.locate(createWeights()), undefined);
  const path = await store.pull(createWeights());
  assert.equal(path, join(store.folder, 'm-00001-of-00002.gguf'));
  assert.equal(await store.locate(createWeights()), path);
  assert.deepEqual(
    (await store.list()).map(({ sha256, verified }) => [sha256, verified]),
    hashes.map((hash) => [hash, 'catalogue']),
  );
  assert.deepEqual(await store.prune([createWeights()]), []);
  assert.equal((await store.prune([])).length, 4);
});

test('keeps the verified parts when one has unexpected content, and downloads only the others again', async (t) => {
  const hub = await startFakeRepositories(t, { 'o/r': { files: FILES } });
  const store = createTestWeightsStore(await createTemporaryFolder(t), { hubUrl: hub.url });
  await assert.rejects(store.pull(createWeights([hashes[0] ?? '', '0'.repeat(64)])), /announces another file/);
  const before = hub.paths.length;
  await store.pull(createWeights());
  assert.deepEqual(
    hub.paths.slice(before).filter((path) => path.includes('resolve')),
    ['/o/r/resolve/main/q4/m-00002-of-00002.gguf'],
  );
  assert.equal(await store.remove('m'), true);
  assert.deepEqual(await readdir(store.folder), []);
  assert.equal(await store.remove('m'), false);
});

test("finds all parts in one of the operator's folders, and none when one is missing", async (t) => {
  const folder = await createTemporaryFolder(t);
  const extra = join(folder, 'extra');
  await mkdir(extra);
  const store = createTestWeightsStore(folder, { extraFolders: [extra] });
  await writeFile(join(extra, 'm-00001-of-00002.gguf'), 'GGUF first');
  assert.equal(await store.locate(createWeights()), undefined);
  await writeFile(join(extra, 'm-00002-of-00002.gguf'), 'GGUF second');
  assert.equal(await store.locate(createWeights()), join(extra, 'm-00001-of-00002.gguf'));
});

test('finds a split file that the operator names by its first part only when all parts are there', async (t) => {
  const folder = await createTemporaryFolder(t);
  const path = join(folder, 'm-00001-of-00002.gguf');
  const weights: Weights = { id: 'x', licence: '', contextTokensMax: 1, sources: [{ type: 'file', path }] };
  const store = createTestWeightsStore(folder);
  await writeFile(path, 'GGUF first');
  await assert.rejects(store.pull(weights), { kind: 'not-found' });
  await writeFile(join(folder, 'm-00002-of-00002.gguf'), 'GGUF second');
  assert.equal(await store.pull(weights), path);
});
