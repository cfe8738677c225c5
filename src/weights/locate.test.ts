import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import type { Weights, WeightsSource } from '../core/weights.ts';
import { sha256Of } from './__fixtures__/fake-hub.ts';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import type { LocateNeeds } from './locate.ts';
import { readFileRecord } from './file-record.ts';
import { locateWeights } from './locate.ts';

const CONTENT = Buffer.from('GGUF and so on');
const PACKAGES: WeightsSource = {
  type: 'packages',
  sha256: sha256Of(CONTENT),
  parts: [{ package: 'p', version: '1', member: 'p/Model.Q4_1.gguf' }],
};
const HUB: WeightsSource = { type: 'hub', repository: 'o/r', file: 'q4/hub-name.gguf', revision: 'main' };
const weightsOf = (...sources: readonly WeightsSource[]): Weights => ({
  id: 'w',
  licence: '',
  contextTokensMax: 1,
  sources,
});

interface Scene extends LocateNeeds {
  readonly extra: string;
  readonly warnings: string[];
}

async function scene(t: TestContext): Promise<Scene> {
  const root = await temporaryFolder(t);
  const [folder, extra] = [join(root, 'models'), join(root, 'extra')];
  await mkdir(folder);
  await mkdir(extra);
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (message: string) => void warnings.push(message) };
  return { folder, extra, extraFolders: [extra, join(root, 'none-such')], log, warnings };
}

test('nothing is found where nothing is', async (t) => {
  assert.equal(await locateWeights(weightsOf(PACKAGES, HUB), await scene(t)), undefined);
});

test('a file that somebody put there is verified once, then believed by size and time', async (t) => {
  const at = await scene(t);
  const path = join(at.folder, 'w.gguf');
  await writeFile(path, CONTENT);
  assert.equal(await locateWeights(weightsOf(PACKAGES), at), path);
  // Same size and time, other bytes: it is not read again.
  const { atime, mtime } = await stat(path);
  await utimes(path, atime, new Date(Math.floor(mtime.getTime() / 1000) * 1000));
  assert.equal(await locateWeights(weightsOf(PACKAGES), at), path);
  const old = await stat(path);
  await writeFile(path, CONTENT.toString().toLowerCase());
  await utimes(path, old.atime, old.mtime);
  assert.equal(await locateWeights(weightsOf(PACKAGES), at), path);
  // Another time: it is read, and is not what it should be.
  await utimes(path, old.atime, new Date(1_000_000));
  assert.equal(await locateWeights(weightsOf(PACKAGES), at), undefined);
  assert.match(at.warnings[0] ?? '', /other content and is not used/);
});

test("the operator's folders are looked in by our name and by the sources' names, and not written to", async (t) => {
  for (const name of ['w.gguf', 'Model.Q4_1.gguf', 'hub-name.gguf']) {
    const at = await scene(t);
    const path = join(at.extra, name);
    await writeFile(path, CONTENT);
    assert.equal(await locateWeights(weightsOf(HUB, PACKAGES), at), path);
    const record: unknown = JSON.parse(await readFile(join(at.folder, 'w.gguf.json'), 'utf8'));
    assert.ok(typeof record === 'object' && record && 'verified' in record && record.verified === 'catalogue');
    assert.deepEqual(at.warnings, []);
  }
});

test('a file that fits no hash is used only where a hash is not known, and with a warning', async (t) => {
  const at = await scene(t);
  const path = join(at.folder, 'w.gguf');
  await writeFile(path, 'GGUF of somebody else');
  assert.equal(await locateWeights(weightsOf(PACKAGES), at), undefined);
  assert.equal(await locateWeights(weightsOf(PACKAGES, HUB), at), path);
  assert.match(at.warnings.at(-1) ?? '', /could not be verified/);
  await writeFile(path, 'no model file at all');
  assert.equal(await locateWeights(weightsOf(PACKAGES, HUB), at), undefined);
});

test('a damaged record is no harm', async (t) => {
  const at = await scene(t);
  await writeFile(join(at.folder, 'w.gguf'), CONTENT);
  for (const text of ['', '{', '{"path":3}', 'null']) {
    await writeFile(join(at.folder, 'w.gguf.json'), text);
    assert.equal(await locateWeights(weightsOf(PACKAGES), at), join(at.folder, 'w.gguf'));
  }
});

test("an operator's own file is taken as it is", async (t) => {
  const at = await scene(t);
  const path = join(at.extra, 'own.gguf');
  const weights = weightsOf({ type: 'file', path });
  assert.equal(await locateWeights(weights, at), undefined);
  await writeFile(path, 'anything');
  assert.equal(await locateWeights(weights, at), path);
});

test('weights are found where our folder does not exist yet, and their check is recorded', async (t) => {
  const at = await scene(t);
  await rm(at.folder, { recursive: true });
  await writeFile(join(at.extra, 'w.gguf'), CONTENT);
  assert.equal(await locateWeights(weightsOf(PACKAGES), at), join(at.extra, 'w.gguf'));
  assert.deepEqual(at.warnings, []);
  assert.equal((await readFileRecord(join(at.folder, 'w.gguf.json')))?.verified, 'catalogue');
});
