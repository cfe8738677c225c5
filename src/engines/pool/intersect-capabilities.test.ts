import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineCapabilities } from '../engine.ts';
import { MODEL } from './__fixtures__/fake-engine.ts';
import { intersectCapabilities, mergeModels } from './intersect-capabilities.ts';

const STRONG: EngineCapabilities = {
  input: 'prompt',
  logprobs: true,
  promptLogprobs: true,
  grammar: true,
  phases: true,
  cache: true,
  choicesMax: 4,
  thinking: 'budget',
  forwardableFields: ['a', 'b'],
};

describe('intersectCapabilities', () => {
  it('returns the capabilities of a single member, and those that all members share', () => {
    assert.equal(intersectCapabilities([STRONG]), STRONG);
    assert.deepEqual(intersectCapabilities([STRONG, STRONG]), STRONG);
  });

  const cases: readonly {
    readonly capability: string;
    readonly weaker: Partial<EngineCapabilities>;
    readonly expected: object;
  }[] = [
    { capability: 'log probabilities', weaker: { logprobs: 'free' }, expected: { ...STRONG, logprobs: 'free' } },
    { capability: 'no log probabilities', weaker: { logprobs: false }, expected: { ...STRONG, logprobs: false } },
    { capability: 'grammars', weaker: { grammar: false }, expected: { ...STRONG, grammar: false } },
    {
      capability: 'phases and caches',
      weaker: { phases: false, cache: false },
      expected: { ...STRONG, phases: false, cache: false },
    },
    { capability: 'choices', weaker: { choicesMax: 1 }, expected: { ...STRONG, choicesMax: 1 } },
    { capability: 'thinking', weaker: { thinking: 'switch' }, expected: { ...STRONG, thinking: 'switch' } },
    {
      capability: 'ignored sampling options',
      weaker: { ignoredSampling: ['seed'] },
      expected: { ...STRONG, ignoredSampling: ['seed'] },
    },
    {
      capability: 'forwarded fields',
      weaker: { forwardableFields: ['b', 'c'] },
      expected: { ...STRONG, forwardableFields: ['b'] },
    },
  ];
  for (const { capability, weaker, expected } of cases) {
    it(`takes the weakest of ${capability}`, () => {
      assert.deepEqual(intersectCapabilities([STRONG, { ...STRONG, ...weaker }]), expected);
      assert.deepEqual(intersectCapabilities([{ ...STRONG, ...weaker }, STRONG]), expected);
    });
  }

  it('omits thinking and forwarded fields if one member lacks them', () => {
    const { thinking: _, forwardableFields: __, ...mute } = STRONG;
    assert.deepEqual(intersectCapabilities([mute, STRONG]), mute);
    assert.deepEqual(intersectCapabilities([STRONG, mute]), mute);
  });
});

describe('mergeModels', () => {
  it('takes the smallest context, and the abilities that no member denies', () => {
    assert.deepEqual(
      mergeModels([
        { ...MODEL, chatTemplate: 'first', abilities: { thinking: 'native', tools: true } },
        { ...MODEL, contextTokens: 2048, abilities: { thinking: 'prompted', tools: false, vision: true } },
        { ...MODEL, contextTokens: 8192, chatTemplate: 'third' },
      ]),
      {
        ...MODEL,
        contextTokens: 2048,
        chatTemplate: 'first',
        abilities: { thinking: 'prompted', tools: false, vision: true },
      },
    );
  });
});
