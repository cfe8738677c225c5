import assert from 'node:assert/strict';
import { mkdir, open, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Weights, WeightsSource } from '../core/weights.ts';
import { hashBytes } from './__fixtures__/fake-hub.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createTestWeightsStore } from './__fixtures__/test-weights-store.ts';
import { hashFile } from './hash-file.ts';

/** Larger than all samples together, so that a byte between two of them can change. */
const CONTENT = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(6 * 1024 * 1024, 'x')]);
const UNSAMPLED_BYTE = 80 * 1024;

const HASHED: WeightsSource = {
  type: 'hub',
  repository: 'o/r',
  file: 'w.gguf',
  revision: 'main',
  sha256: hashBytes(CONTENT),
};
const createWeights = (...sources: readonly WeightsSource[]): Weights => ({
  id: 'w',
  licence: '',
  contextTokensMax: 1,
  sources,
});
const hash = async (path: string): Promise<string> => (await hashFile(path)).digest('hex');

async function createScenario(t: TestContext) {
  const root = await createTemporaryFolder(t);
  const store = createTestWeightsStore(root);
  await mkdir(store.folder);
  const path = join(store.folder, 'w.gguf');
  await writeFile(path, CONTENT);
  return { root, store, path };
}

/** Overwrites one byte between two samples, without a change of size and time. */
async function damage(path: string): Promise<void> {
  const { atime, mtime } = await stat(path);
  await utimes(path, atime, new Date(Math.floor(mtime.getTime())));
  const handle = await open(path, 'r+');
  await handle.write('!', UNSAMPLED_BYTE);
  await handle.close();
  await utimes(path, atime, new Date(Math.floor(mtime.getTime())));
}

/** Sets a time that a later call can restore exactly. */
const setTime = (path: string): Promise<void> => utimes(path, 1_000, 1_000);

test('finds a changed byte that no sample has, and refuses the weights from then on', async (t) => {
  const { root, store, path } = await createScenario(t);
  const weights = createWeights(HASHED);
  await setTime(path);
  assert.equal(await store.locate(weights), path);
  assert.deepEqual(await store.verify(weights, hash), { outcome: 'intact' });
  await damage(path);
  assert.equal(await store.locate(weights), path, 'the samples are the same');
  const verification = await store.verify(weights, hash);
  assert.ok(verification.outcome === 'damaged');
  assert.match(verification.refusal.problem, /^its content matches no known hash/);
  assert.deepEqual(await store.inspect(weights), verification.refusal);
  // A later start reads the damaged file completely.
  assert.equal((await createTestWeightsStore(root).inspect(weights)).state, 'refused');
  await writeFile(path, CONTENT);
  assert.equal(await store.locate(weights), path);
  assert.deepEqual(await store.verify(weights, hash), { outcome: 'intact' });
});

test('records samples for a file whose record has none', async (t) => {
  const { store, path } = await createScenario(t);
  const weights = createWeights(HASHED);
  await store.locate(weights);
  const { samplesSha256, ...earlier } = JSON.parse(await readFile(`${path}.json`, 'utf8'));
  await writeFile(`${path}.json`, JSON.stringify(earlier));
  await store.verify(weights, hash);
  assert.equal(JSON.parse(await readFile(`${path}.json`, 'utf8')).samplesSha256, samplesSha256);
});

test('reports a change of a file that nobody states the hash of, and keeps it in use', async (t) => {
  const { store, root } = await createScenario(t);
  const own = join(root, 'own.gguf');
  await writeFile(own, CONTENT);
  await setTime(own);
  const weights = createWeights({ type: 'file', path: own });
  assert.deepEqual(await store.verify(weights, hash), { outcome: 'intact' });
  const record = JSON.parse(await readFile(join(store.folder, 'w.gguf.json'), 'utf8'));
  assert.deepEqual([record.path, record.sha256, record.verified], [own, hashBytes(CONTENT), 'none']);
  await damage(own);
  assert.deepEqual(await store.verify(weights, hash), { outcome: 'changed', path: own });
  assert.equal(await store.locate(weights), own);
  assert.deepEqual(await store.verify(weights, hash), { outcome: 'intact' }, 'the new hash is recorded');
  // A new time says that somebody replaced the file.
  await writeFile(own, CONTENT);
  assert.deepEqual(await store.verify(weights, hash), { outcome: 'intact' });
});

test('has no result for a file that is written meanwhile, and for missing weights', async (t) => {
  const { store, path } = await createScenario(t);
  const weights = createWeights(HASHED);
  const writeMeanwhile = async (file: string): Promise<string> => {
    await writeFile(path, 'GGUF of another download');
    return await hash(file);
  };
  assert.deepEqual(await store.verify(weights, writeMeanwhile), { outcome: 'skipped' });
  assert.deepEqual(await store.verify({ ...weights, id: 'missing' }, hash), { outcome: 'skipped' });
});
