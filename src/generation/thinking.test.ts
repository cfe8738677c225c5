import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelEntry } from '../catalogue/model.ts';
import type { ThinkingWish } from '../core/request.ts';
import type { LoadedModel } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { planThinking } from './thinking.ts';

const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runs: { type: 'weights', weights: 'w', family: 'template' },
  contextTokens: 4096,
  abilities: {
    thinking: 'prompted',
    tools: false,
    vision: false,
    audio: false,
    logprobs: true,
    fillInTheMiddle: false,
  },
  interfaces: ['chat'],
  sampling: {},
  maxThinkingTokens: 1000,
  created: 0,
};
const ENGINE = createScriptedEngine({ script: () => [] });
const MODEL: LoadedModel = { contextTokens: 4096, vocabularySize: 10, specialTokens: [], bosToken: '', eosToken: '' };

const budget = (thinking: ThinkingWish, model = MODEL): number | undefined =>
  planThinking({ thinking }, ENTRY, ENGINE, model)?.phases[0]?.until?.tokens;

describe('a thought', () => {
  it('is as long as the caller says, else by effort, else the model’s maximum, and leaves room for an answer', () => {
    assert.equal(budget({}), 1000);
    assert.equal(budget({ effort: 'high' }), 500);
    assert.equal(budget({ effort: 'max' }), 1000);
    assert.equal(budget({ effort: 'max', budgetTokens: 7 }), 7);
    assert.equal(budget({}, { ...MODEL, contextTokens: 600 }), 300);
  });

  it('is opened behind the prompt and closed alike however it ends', () => {
    const plan = planThinking({ thinking: {} }, ENTRY, ENGINE, MODEL);
    assert.equal(plan?.opening.map(({ text }) => text).join(''), '<think>\n');
    assert.equal(plan?.phases[0]?.until?.text, '</think>');
    assert.equal(plan?.phases[0]?.thenAppend?.map(({ text }) => text).join(''), '\n</think>\n\n');
    assert.deepEqual(plan?.phases[1], {});
    assert.ok(plan?.opening.every(({ special }) => !special));
  });

  it('has marks of the vocabulary where the model was trained to think', () => {
    const plan = planThinking({ thinking: {} }, ENTRY, ENGINE, { ...MODEL, specialTokens: ['<think>', '</think>'] });
    assert.deepEqual(plan?.opening[0], { text: '<think>', special: true });
    assert.deepEqual(plan?.phases[0]?.thenAppend?.[1], { text: '</think>', special: true });
  });

  it('is not planned for whom it is not asked, or who cannot', () => {
    const { thinking: _, ...abilities } = ENTRY.abilities;
    assert.equal(planThinking({}, ENTRY, ENGINE, MODEL), undefined);
    assert.equal(planThinking({ thinking: {} }, { ...ENTRY, abilities }, ENGINE, MODEL), undefined);
    const engine = { capabilities: { ...ENGINE.capabilities, phases: false } };
    assert.equal(planThinking({ thinking: {} }, ENTRY, engine, MODEL), undefined);
  });
});
