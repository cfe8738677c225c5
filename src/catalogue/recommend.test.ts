import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandCatalogue } from './expand-catalogue.ts';
import { recommendWeights, type MachineResources, type ServedContext } from './recommend.ts';
import { readShippedCatalogue } from './shipped.ts';

const { weights } = expandCatalogue(await readShippedCatalogue());

const SERVED = { contextTokens: 8_192, sequences: 4 };

function recommend(machine: Partial<MachineResources> & { memoryGB?: number }, served: ServedContext = SERVED) {
  const { memoryGB = 16, ...resources } = machine;
  return recommendWeights(
    weights,
    { memoryBytes: memoryGB * 1e9, cores: 8, coreBytesPerSecond: 7e9, gpus: [], ...resources },
    served,
  );
}

const findBest = (...args: Parameters<typeof recommend>): string | undefined =>
  recommend(...args).find(({ isRecommended }) => isRecommended)?.weights.id;

const createGpus = (...memoryGiB: readonly number[]) =>
  memoryGiB.map((gb) => ({ name: 'gpu', memoryBytes: gb * 2 ** 30 }));

test('recommends the largest weights that fit a machine without a GPU and are fast enough', () => {
  assert.equal(
    findBest({ memoryGB: 24, cores: 2 }),
    'granite-4.0-h-tiny',
    'speed decides: a seventh of its weights is active',
  );
  assert.equal(findBest({ memoryGB: 16, cores: 8 }), 'granite-4.0-h-tiny', 'a laptop');
  assert.equal(findBest({ memoryGB: 0.5, cores: 1 }), 'smollm2-135m-instruct-q4_1', 'next to nothing');
});

test('considers the speed of the cores: a mixture of experts reads a part of its weights for each token', () => {
  assert.equal(findBest({ memoryGB: 128, coreBytesPerSecond: 1e9 }), 'qwen2.5-coder-0.5b-instruct-q4_k_m');
  assert.equal(findBest({ memoryGB: 128, coreBytesPerSecond: 10e9 }), 'qwen3-30b-a3b-instruct-2507');
});

test('considers the memory of all GPUs: with 24 GiB a 30B model fits', () => {
  assert.equal(findBest({ memoryGB: 16, cores: 2, gpus: createGpus(24) }), 'granite-4.0-h-small');
  assert.equal(findBest({ gpus: createGpus(8) }), 'qwen3.5-9b');
  assert.equal(findBest({ gpus: createGpus(24, 24, 24) }), 'gpt-oss-120b');
  const advice = recommend({ gpus: createGpus(24) });
  assert.equal(advice.find((one) => one.weights.id === 'qwen3-14b')?.device, 'gpu');
});

test('considers the context to be served', () => {
  assert.equal(findBest({ memoryGB: 2, cores: 16 }), 'smollm2-135m-instruct-q4_1');
  assert.equal(
    findBest({ memoryGB: 2, cores: 16 }, { contextTokens: 2_048, sequences: 4 }),
    'qwen2.5-coder-0.5b-instruct-q4_k_m',
  );
  assert.equal(findBest({ gpus: createGpus(24) }, { contextTokens: 131_072, sequences: 1 }), 'granite-4.0-h-small');
});

test('recommends weights that call tools before larger ones that do not', () => {
  const [one, other] = ['small', 'large'].map((id, at) => ({
    id,
    licence: '',
    contextTokensMax: 8_192,
    sources: [],
    sizeBytes: (at + 1) * 1e8,
  }));
  assert.ok(one && other);
  const machine = { memoryBytes: 8e9, cores: 8, coreBytesPerSecond: 7e9, gpus: [] };
  const [first] = recommendWeights([{ ...one, hasTools: true }, other], machine, SERVED).filter(
    ({ isRecommended }) => isRecommended,
  );
  assert.equal(first?.weights.id, 'small');
});

test('omits weights of unknown size', () => {
  const unknown = { id: 'x', licence: '', contextTokensMax: 1, sources: [] };
  const machine = { memoryBytes: 1e9, cores: 1, coreBytesPerSecond: 7e9, gpus: [] };
  assert.deepEqual(recommendWeights([unknown], machine, SERVED), []);
});
