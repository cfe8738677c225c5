import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Weights } from '../core/weights.ts';
import { sha256Of } from './__fixtures__/fake-hub.ts';
import type { FakePython } from './__fixtures__/fake-python.ts';
import { createFakePython } from './__fixtures__/fake-python.ts';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import type { TestStore } from './__fixtures__/test-store.ts';
import { createTestStore } from './__fixtures__/test-store.ts';
import { statOf } from './file-system.ts';
import { unpackMember } from './wheel.ts';

/** Twelve parts: `part10` must not come before `part2`. */
const PARTS = Array.from({ length: 12 }, (_, at) => ({ package: `w-part${at + 1}`, version: '1.0', member: 'm' }));
const contentOf = (at: number): string => `content of part ${at + 1};`.repeat(1_000);
const WHOLE = Buffer.from(PARTS.map((_, at) => contentOf(at)).join(''));

const weightsOf = (sha256: string = sha256Of(WHOLE)): Weights => ({
  id: 'w',
  sizeBytes: WHOLE.length,
  licence: 'free',
  contextTokensMax: 1,
  sources: [{ type: 'packages', sha256, parts: PARTS }],
});

async function scene(t: TestContext): Promise<{ python: FakePython; store: TestStore; parts: string }> {
  const folder = await temporaryFolder(t);
  const wheels = Object.fromEntries(PARTS.map((part, at) => [part.package, contentOf(at)]));
  const python = await createFakePython(join(folder, 'python'), wheels);
  const store = createTestStore(folder, { python: python.command });
  return { python, store, parts: join(store.folder, 'w.parts') };
}

test('parts are joined in their order, verified, and leave nothing behind', async (t) => {
  const { python, store } = await scene(t);
  const path = await store.pull(weightsOf());
  assert.deepEqual(await readFile(path), WHOLE);
  assert.deepEqual((await readdir(store.folder)).toSorted(), ['w.gguf', 'w.gguf.json']);
  assert.equal((await python.asked()).length, 12);
  assert.equal((await store.list())[0]?.verified, 'catalogue');
  const last = store.progress.at(-1);
  assert.deepEqual([last?.source, last?.donePart, last?.parts, last?.doneBytes], ['packages', 12, 12, WHOLE.length]);
});

test('parts that are finished are not downloaded again', async (t) => {
  const { python, store, parts } = await scene(t);
  await rm(join(python.folder, 'w-part7.whl'));
  await assert.rejects(store.pull(weightsOf()), {
    kind: 'upstream-failed',
    message: /pip could not download w-part7==1\.0: ERROR: No matching distribution/,
  });
  const kept = (await readdir(parts)).filter((name) => name !== 'of.txt');
  assert.ok(kept.length > 0 && kept.every((name) => /^\d+$/.test(name)), String(kept));

  await rm(join(python.folder, 'asked.txt'));
  await writeFile(join(python.folder, 'w-part7.whl'), contentOf(6));
  assert.deepEqual(await readFile(await store.pull(weightsOf())), WHOLE);
  assert.equal((await python.asked()).length, 12 - kept.length);
});

test('parts of another joined file are not used', async (t) => {
  const { python, store } = await scene(t);
  await rm(join(python.folder, 'w-part12.whl'));
  await assert.rejects(store.pull(weightsOf('0'.repeat(64))));
  await writeFile(join(python.folder, 'w-part12.whl'), contentOf(11));
  await rm(join(python.folder, 'asked.txt'));
  await store.pull(weightsOf());
  assert.equal((await python.asked()).length, 12);
});

test('a joined file of another content is deleted and refused', async (t) => {
  const { store } = await scene(t);
  await assert.rejects(
    store.pull(weightsOf('0'.repeat(64))),
    /another content than the catalogue says .*they were deleted/,
  );
  assert.deepEqual(await readdir(store.folder), []);
});

test('an abort ends the downloads that are running', async (t) => {
  const { python, store, parts } = await scene(t);
  await writeFile(join(python.folder, 'hang'), '');
  const stop = new AbortController();
  const pull = store.pull(weightsOf(), { signal: stop.signal });
  const refused = assert.rejects(pull, /stopped/);
  while (!(await statOf(join(python.folder, 'hanging')))) await nextTurn();
  stop.abort(new Error('stopped'));
  await refused;
  assert.deepEqual(await readdir(parts), ['of.txt']);
});

test('a machine without Python is told so', async (t) => {
  const store = createTestStore(await temporaryFolder(t), { python: 'no-such-python' });
  await assert.rejects(store.pull(weightsOf()), { kind: 'upstream-failed', message: /Python was not found/ });
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

test(
  'a member of a real archive is unpacked, and a damaged archive is refused',
  { skip: !hasPython && 'no python3' },
  async (t) => {
    const folder = await temporaryFolder(t);
    const wheel = join(folder, 'a.whl');
    const target = join(folder, 'part');
    await writeFile(join(folder, 'member.bin'), WHOLE);
    assert.equal(spawnSync('python3', ['-m', 'zipfile', '-c', wheel, 'member.bin'], { cwd: folder }).status, 0);
    const needs = { python: 'python3', environment: { PATH: process.env['PATH'] }, signal: t.signal };
    await unpackMember({ wheel, member: 'member.bin', target }, needs);
    assert.deepEqual(await readFile(target), WHOLE);
    await assert.rejects(
      unpackMember({ wheel, member: 'other.bin', target }, needs),
      /other\.bin could not be unpacked: KeyError/,
    );
    const bytes = await readFile(wheel);
    bytes.fill(0, 60, 90);
    await writeFile(wheel, bytes);
    await assert.rejects(unpackMember({ wheel, member: 'member.bin', target }, needs), /could not be unpacked/);
  },
);
