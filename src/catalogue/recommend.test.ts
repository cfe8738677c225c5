import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandCatalogue } from './expand-catalogue.ts';
import { recommendWeights } from './recommend.ts';
import { readShippedCatalogue } from './shipped.ts';

const { weights } = expandCatalogue(await readShippedCatalogue());

const MACHINES: readonly [what: string, memoryGB: number, cores: number, id: string][] = [
  ['two cores with plenty of memory: speed decides', 24, 2, 'qwen2.5-coder-0.5b-instruct-q4_k_m'],
  ['a laptop', 16, 8, 'qwen2.5-coder-1.5b-instruct-q4_k_m'],
  ['many cores, little memory', 2, 16, 'qwen2.5-coder-0.5b-instruct-q4_k_m'],
  ['next to nothing', 0.5, 1, 'smollm2-135m-instruct-q4_1'],
];

test('recommends the largest weights that fit and are fast enough', () => {
  for (const [machine, memoryGB, cores, id] of MACHINES) {
    const advice = recommendWeights(weights, { memoryBytes: memoryGB * 1e9, cores });
    assert.deepEqual(
      advice.filter((one) => one.isRecommended).map((one) => one.weights.id),
      [id],
      machine,
    );
  }
});

test('omits weights of unknown size', () => {
  const unknown = { id: 'x', licence: '', contextTokensMax: 1, sources: [] };
  assert.deepEqual(recommendWeights([unknown], { memoryBytes: 1e9, cores: 1 }), []);
});
