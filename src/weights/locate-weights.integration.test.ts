import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Weights, WeightsSource } from '../core/weights.ts';
import { hashBytes } from './__fixtures__/fake-hub.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { locateWeights as inspectWeights, type LocateDeps } from './locate-weights.ts';
import { readWeightsFileRecord } from './weights-file-record.ts';
import { createContentResults } from './weights-status.ts';

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
  const extraFolders = [extra, join(root, 'none-such')];
  return { folder, extra, extraFolders, log, warnings, results: createContentResults() };
}

/** Returns the path of present weights, else undefined. */
async function locateWeights(weights: Weights, deps: LocateDeps): Promise<string | undefined> {
  const status = await inspectWeights(weights, deps);
  return status.state === 'present' ? status.path : undefined;
}

test('finds nothing in empty folders', async (t) => {
  assert.equal(await locateWeights(createWeights(PACKAGES, HUB), await createScenario(t)), undefined);
});

test('verifies a file that was put there by hand once, then compares its size, time and samples', async (t) => {
  const scenario = await createScenario(t);
  const path = join(scenario.folder, 'w.gguf');
  await writeFile(path, CONTENT);
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), path);
  const { atime, mtime } = await stat(path);
  await utimes(path, atime, new Date(Math.floor(mtime.getTime() / 1000) * 1000));
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), path);
  // Same size and time with other bytes: the samples differ, and the file is read again.
  const old = await stat(path);
  await writeFile(path, CONTENT.toString().toLowerCase());
  await utimes(path, old.atime, old.mtime);
  assert.deepEqual(await inspectWeights(createWeights(PACKAGES), scenario), {
    state: 'refused',
    path,
    problem: `its content matches no known hash (sha256 ${hashBytes(Buffer.from(CONTENT.toString().toLowerCase()))})`,
  });
  assert.deepEqual(scenario.warnings, [
    'weights file changed without a change of its size and time',
    'weights file refused: its content matches no known hash',
  ]);
  // The same version is not read again, and the original content is accepted again.
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), undefined);
  assert.equal(scenario.warnings.length, 2);
  await writeFile(path, CONTENT);
  assert.equal(await locateWeights(createWeights(PACKAGES), scenario), path);
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

test('refuses a file that matches no known hash, also if a source has none', async (t) => {
  const scenario = await createScenario(t);
  await writeFile(join(scenario.folder, 'w.gguf'), 'GGUF of somebody else');
  for (const weights of [createWeights(PACKAGES), createWeights(PACKAGES, HUB)])
    assert.equal((await inspectWeights(weights, scenario)).state, 'refused');
});

test('uses a file without any known hash with a warning, if it is a GGUF file', async (t) => {
  const scenario = await createScenario(t);
  const path = join(scenario.folder, 'w.gguf');
  await writeFile(path, 'GGUF of somebody else');
  assert.equal(await locateWeights(createWeights(HUB), scenario), path);
  assert.match(scenario.warnings.at(-1) ?? '', /without verification/);
  await writeFile(path, 'no model file at all');
  assert.deepEqual(await inspectWeights(createWeights(HUB), scenario), {
    state: 'refused',
    path,
    problem: 'it is no GGUF file',
  });
});

test('refuses a file that an earlier version accepted without a matching hash', async (t) => {
  const scenario = await createScenario(t);
  const path = join(scenario.folder, 'w.gguf');
  await writeFile(path, 'GGUF of somebody else');
  await locateWeights(createWeights(HUB), scenario);
  await utimes(path, 1, 1);
  assert.equal(await locateWeights(createWeights(HUB, PACKAGES), scenario), undefined);
});

test('keeps the hash that the hub announced, and refuses other content', async (t) => {
  const scenario = await createScenario(t);
  const path = join(scenario.folder, 'w.gguf');
  await writeFile(path, CONTENT);
  const { size: sizeBytes, mtimeMs } = await stat(path);
  const record = { path, sizeBytes, mtimeMs, sha256: hashBytes(CONTENT), source: 'hub o/r', verified: 'announced' };
  await writeFile(`${path}.json`, JSON.stringify(record));
  assert.equal(await locateWeights(createWeights(HUB), scenario), path, 'a record without samples');
  await writeFile(path, 'GGUF and other');
  assert.equal((await inspectWeights(createWeights(HUB), scenario)).state, 'refused');
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
