import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineCapabilities } from '../engine.ts';
import { MODEL } from './__fixtures__/fake-engine.ts';
import { weakestCapabilities, weakestModel } from './weakest.ts';

const STRONG: EngineCapabilities = {
  input: 'prompt',
  logprobs: true,
  grammar: true,
  phases: true,
  cache: true,
  choicesMax: 4,
  thinking: 'budget',
  forwards: ['a', 'b'],
};

describe('what all members of a pool can do', () => {
  it('is what one can where it is alone, and where the others can it too', () => {
    assert.equal(weakestCapabilities([STRONG]), STRONG);
    assert.deepEqual(weakestCapabilities([STRONG, STRONG]), STRONG);
  });

  const cases: readonly { readonly of: string; readonly weak: Partial<EngineCapabilities>; readonly found: object }[] =
    [
      { of: 'log probabilities', weak: { logprobs: 'free' }, found: { ...STRONG, logprobs: 'free' } },
      { of: 'no log probabilities', weak: { logprobs: false }, found: { ...STRONG, logprobs: false } },
      { of: 'grammars', weak: { grammar: false }, found: { ...STRONG, grammar: false } },
      {
        of: 'phases and caches',
        weak: { phases: false, cache: false },
        found: { ...STRONG, phases: false, cache: false },
      },
      { of: 'choices', weak: { choicesMax: 1 }, found: { ...STRONG, choicesMax: 1 } },
      { of: 'thinking', weak: { thinking: 'switch' }, found: { ...STRONG, thinking: 'switch' } },
      { of: 'unheard wishes', weak: { unheardSampling: ['seed'] }, found: { ...STRONG, unheardSampling: ['seed'] } },
      { of: 'forwarded fields', weak: { forwards: ['b', 'c'] }, found: { ...STRONG, forwards: ['b'] } },
    ];
  for (const { of, weak, found } of cases) {
    it(`is the least of ${of}`, () => {
      assert.deepEqual(weakestCapabilities([STRONG, { ...STRONG, ...weak }]), found);
      assert.deepEqual(weakestCapabilities([{ ...STRONG, ...weak }, STRONG]), found);
    });
  }

  it('is nothing of thinking and forwarding where one cannot be told', () => {
    const { thinking: _, forwards: __, ...mute } = STRONG;
    assert.deepEqual(weakestCapabilities([mute, STRONG]), mute);
    assert.deepEqual(weakestCapabilities([STRONG, mute]), mute);
  });
});

describe('the model that members have in common', () => {
  it('has the smallest context, and what no member denies', () => {
    assert.deepEqual(
      weakestModel([
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
