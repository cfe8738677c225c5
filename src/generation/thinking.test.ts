import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelEntry } from '../catalogue/model.ts';
import type { PromptSegment } from '../core/prompt.ts';
import type { ThinkingOptions } from '../core/request.ts';
import type { LoadedModel } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { closeUnwantedThought, planThinking } from './thinking.ts';

const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runner: { type: 'weights', weights: 'w', family: 'template' },
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
const NATIVE: ModelEntry = { ...ENTRY, abilities: { ...ENTRY.abilities, thinking: 'native' } };

const ENGINE = createScriptedEngine({ script: () => [] });
const MODEL: LoadedModel = { contextTokens: 4096, vocabularySize: 10, specialTokens: [], bosToken: '', eosToken: '' };

const PROMPT = [
  { text: '<|im_start|>', special: true },
  { text: 'assistant\n', special: false },
];

const plan = (
  request: { thinking?: ThinkingOptions },
  {
    entry = ENTRY,
    engine = ENGINE,
    model = MODEL,
    prompt = PROMPT,
  }: Partial<{
    entry: ModelEntry;
    engine: Parameters<typeof planThinking>[2];
    model: LoadedModel;
    prompt: readonly PromptSegment[];
  }> = {},
) => planThinking(request, entry, engine, { model, prompt });

const budget = (thinking: ThinkingOptions, model = MODEL): number | undefined =>
  plan({ thinking }, { model })?.phase.until?.tokens;

const getText = (segments: readonly PromptSegment[] | undefined): string | undefined =>
  segments?.map(({ text }) => text).join('');

describe('planThinking', () => {
  it('lowers a budget above the maximum of the model or half of its context, and says so', () => {
    const isClamped = (budgetTokens: number, model = MODEL) =>
      plan({ thinking: { budgetTokens } }, { model })?.isBudgetClamped;
    assert.deepEqual([budget({ budgetTokens: 5_000 }), isClamped(5_000)], [1_000, true]);
    assert.deepEqual([budget({ budgetTokens: 1_000 }), isClamped(1_000)], [1_000, false]);
    const small = { ...MODEL, contextTokens: 100 };
    assert.deepEqual([budget({ budgetTokens: 60 }, small), isClamped(60, small)], [50, true]);
  });

  it("sets the budget by the caller, else by effort, else by the model's maximum, and leaves room for an answer", () => {
    assert.equal(budget({}), 1000);
    assert.equal(budget({ effort: 'high' }), 500);
    assert.equal(budget({ effort: 'max' }), 1000);
    assert.equal(budget({ effort: 'max', budgetTokens: 7 }), 7);
    assert.equal(budget({}, { ...MODEL, contextTokens: 600 }), 300);
  });

  it('opens the thought after the prompt and closes it however it ends', () => {
    const thought = plan({ thinking: {} });
    assert.equal(getText(thought?.opening), '<think>\n');
    assert.equal(thought?.phase.until?.text, '</think>');
    assert.equal(getText(thought.phase.appendOnEnd), '\n</think>\n\n');
    assert.equal(thought.phase.nextPhase, 1);
    assert.ok(thought.opening.every(({ special }) => !special));
  });

  it('uses special tokens as marks for a model that was trained to think', () => {
    const model = { ...MODEL, specialTokens: ['<think>', '</think>'] };
    const thought = plan({ thinking: {} }, { model });
    assert.deepEqual(thought?.opening[0], { text: '<think>', special: true });
    assert.deepEqual(thought?.phase.appendOnEnd?.[1], { text: '</think>', special: true });
  });

  it("uses the marks of the model's own template", () => {
    const model = { ...MODEL, chatTemplate: '{{ "[THINK]" }}' };
    assert.equal(getText(plan({ thinking: {} }, { model, entry: NATIVE })?.opening), '[THINK]\n');
    assert.equal(getText(plan({ thinking: {} }, { model })?.opening), '<think>\n', 'a model that is led to think');
  });

  it('does not open a thought that the template has opened', () => {
    const prompt = [...PROMPT, { text: '<think>', special: true }, { text: '\n', special: false }];
    assert.deepEqual(plan({ thinking: {} }, { prompt, entry: NATIVE })?.opening, []);
  });

  it('leaves closing an unrequested thought to closeUnwantedThought', () => {
    const prompt = [...PROMPT, { text: '<think>\n', special: false }];
    assert.equal(getText(closeUnwantedThought(prompt, NATIVE, MODEL)), '\n</think>\n\n');
    assert.deepEqual(closeUnwantedThought(PROMPT, NATIVE, MODEL), []);
    assert.deepEqual(
      closeUnwantedThought(prompt, ENTRY, MODEL),
      [],
      'a caller’s own text in a prompt of a model without marks',
    );
  });

  it('returns undefined when no thought is requested or the model or engine cannot think', () => {
    const { thinking: _, ...abilities } = ENTRY.abilities;
    assert.equal(plan({}), undefined);
    assert.equal(plan({ thinking: {} }, { entry: { ...ENTRY, abilities } }), undefined);
    const engine = { capabilities: { ...ENGINE.capabilities, phases: false } };
    assert.equal(plan({ thinking: {} }, { engine }), undefined);
  });
});
