import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Weights, WeightsSource } from '../core/weights.ts';
import { hashBytes } from './__fixtures__/fake-hub.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { locateWeights, type LocateDeps } from './locate-weights.ts';
import { readWeightsFileRecord } from './weights-file-record.ts';

const CONTENT = Buffer.from('GGUF and so on');
const PACKAGES: WeightsSource = {
  type: 'packages',
  sha256: hashBytes(CONTENT),
  parts: [{ package: 'p', version: '1', member: 'p/Model.Q4_1.gguf' }],
};
const HUB: WeightsSource = { type: 'hub', repository: 'o/r', file: 'q4/hub-name.gguf', revision: 'main' };
const createWeights = (...sources: readonly WeightsSource[]): Weights => ({
  id: 'w',
  licence: '',
  contextTokensMax: 1,
  sources,
});

interface LocateScenario extends LocateDeps {
  readonly extra: string;
  readonly warnings: string[];
}

async function createScenario(t: TestContext): Promise<LocateScenario> {
  const root = await createTemporaryFolder(t);
  const [folder, extra] = [join(root, 'models'), join(root, 'extra')];
  await mkdir(folder);
  await mkdir(extra);
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (message: string) => void warnings.push(message) };
  return { folder, extra, extraFolders: [extra, join(root, 'none-such')], log, warnings };
}

test('finds nothing in empty folders', async (t) => {
  assert.equal(await locateWeights(createWeights(PACKAGES, HUB), await createScenario(t)), undefined);
});

test('verifies a file that was put there by hand once, then trusts its size and time', async (t) => {
  const scenario = await createScenario(t);
  const path = join(scenario.folder, 'w.gguf');
  await writeFile(path, CONTENT);
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), path);
  // Same size and time with other bytes: the file is not read again.
  const { atime, mtime } = await stat(path);
  await utimes(path, atime, new Date(Math.floor(mtime.getTime() / 1000) * 1000));
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), path);
  const old = await stat(path);
  await writeFile(path, CONTENT.toString().toLowerCase());
  await utimes(path, old.atime, old.mtime);
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), path);
  // Another time: the file is read again and rejected.
  await utimes(path, old.atime, new Date(1_000_000));
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), undefined);
  assert.match(scenario.warnings[0] ?? '', /weights file ignored/);
});

test("searches the operator's folders by id and by source names, without writing to them", async (t) => {
  for (const name of ['w.gguf', 'Model.Q4_1.gguf', 'hub-name.gguf']) {
    const scenario = await createScenario(t);
    const path = join(scenario.extra, name);
    await writeFile(path, CONTENT);
    assert.equal(await locateWeights(createWeights(HUB, PACKAGES), scenario), path);
    const record: unknown = JSON.parse(await readFile(join(scenario.folder, 'w.gguf.json'), 'utf8'));
    assert.ok(typeof record === 'object' && record && 'verified' in record && record.verified === 'catalogue');
    assert.deepEqual(scenario.warnings, []);
  }
});

test("uses a file without a matching hash only if a source's hash is unknown, with a warning", async (t) => {
  const scenario = await createScenario(t);
  const path = join(scenario.folder, 'w.gguf');
  await writeFile(path, 'GGUF of somebody else');
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), undefined);
  assert.equal(await locateWeights(createWeights(PACKAGES, HUB), scenario), path);
  assert.match(scenario.warnings.at(-1) ?? '', /without verification/);
  await writeFile(path, 'no model file at all');
  assert.equal(await locateWeights(createWeights(PACKAGES, HUB), scenario), undefined);
});

test('ignores a damaged record', async (t) => {
  const scenario = await createScenario(t);
  await writeFile(join(scenario.folder, 'w.gguf'), CONTENT);
  for (const text of ['', '{', '{"path":3}', 'null']) {
    await writeFile(join(scenario.folder, 'w.gguf.json'), text);
    assert.equal(await locateWeights(createWeights(PACKAGES), scenario), join(scenario.folder, 'w.gguf'));
  }
});

test("uses the operator's file without verification", async (t) => {
  const scenario = await createScenario(t);
  const path = join(scenario.extra, 'own.gguf');
  const weights = createWeights({ type: 'file', path });
  assert.equal(await locateWeights(weights, scenario), undefined);
  await writeFile(path, 'anything');
  assert.equal(await locateWeights(weights, scenario), path);
});

test('finds weights before the models folder exists, and records their verification', async (t) => {
  const scenario = await createScenario(t);
  await rm(scenario.folder, { recursive: true });
  await writeFile(join(scenario.extra, 'w.gguf'), CONTENT);
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), join(scenario.extra, 'w.gguf'));
  assert.deepEqual(scenario.warnings, []);
  assert.equal((await readWeightsFileRecord(join(scenario.folder, 'w.gguf.json')))?.verified, 'catalogue');
});
