import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelEntry } from '../catalogue/model.ts';
import type { GenerationPhase, PromptSegment } from '../core/prompt.ts';
import type { ThinkingOptions } from '../core/request.ts';
import type { LoadedModel } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { planThinking, type PlanThinkingOptions } from './thinking.ts';
import { USUAL_THOUGHTS, type ThoughtFormat } from './thoughts/thought-format.ts';

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

const SHOWN: ThoughtFormat = { ...USUAL_THOUGHTS, isShown: true };
const NO_FORM: PlanThinkingOptions['answer'] = { opening: [], phases: [] };

const plan = (
  request: { thinking?: ThinkingOptions },
  {
    entry = ENTRY,
    engine = ENGINE,
    ...options
  }: Partial<PlanThinkingOptions & { entry: ModelEntry; engine: Parameters<typeof planThinking>[2] }> = {},
) => planThinking(request, entry, engine, { model: MODEL, prompt: PROMPT, format: SHOWN, answer: NO_FORM, ...options });

const budget = (thinking: ThinkingOptions, model = MODEL): number | undefined =>
  plan({ thinking }, { model }).phases[0]?.until?.tokens;

const getText = (segments: readonly PromptSegment[] | undefined): string | undefined =>
  segments?.map(({ text }) => text).join('');

describe('planThinking', () => {
  it('lowers a budget above the maximum of the model or half of its context, and says so', () => {
    const isClamped = (budgetTokens: number, model = MODEL) =>
      plan({ thinking: { budgetTokens } }, { model }).isBudgetClamped;
    assert.deepEqual([budget({ budgetTokens: 5_000 }), isClamped(5_000)], [1_000, true]);
    assert.deepEqual([budget({ budgetTokens: 1_000 }), isClamped(1_000)], [1_000, false]);
    const small = { ...MODEL, contextTokens: 100 };
    assert.deepEqual([budget({ budgetTokens: 60 }, small), isClamped(60, small)], [50, true]);
  });

  it("sets the budget by the caller, else by effort, else by the model's maximum, and leaves room for an answer", () => {
    assert.equal(budget({}), 1000);
    for (const effort of ['minimal', 'low', 'medium', 'high'] as const) assert.equal(budget({ effort }), 500);
    for (const effort of ['xhigh', 'max'] as const) assert.equal(budget({ effort }), 1000);
    assert.equal(budget({ effort: 'max', budgetTokens: 7 }), 7);
    assert.equal(budget({}, { ...MODEL, contextTokens: 600 }), 300);
  });

  it('opens the thought of a model that is led to think, and closes it however it ends', () => {
    const { appended, phases, keepsThoughts } = plan({ thinking: {} });
    assert.equal(getText(appended), '<think>\n');
    const [thought, answer] = phases;
    assert.equal(thought?.until?.text, '</think>');
    assert.equal(getText(thought.appendOnEnd), '\n</think>\n\n');
    assert.deepEqual([thought.nextPhase, answer?.kind, keepsThoughts], [1, 'answer', true]);
    assert.ok(appended.every(({ special }) => !special));
  });

  it('uses special tokens as marks, and has their text output', () => {
    const model = { ...MODEL, specialTokens: ['<think>', '</think>', '<other>'] };
    const { appended, phases, markers } = plan({ thinking: {} }, { model });
    assert.deepEqual(appended[0], { text: '<think>', special: true });
    assert.deepEqual(phases[0]?.appendOnEnd?.[1], { text: '</think>', special: true });
    assert.deepEqual(markers, ['<think>', '</think>']);
  });

  it('leaves it to a model that was trained to think whether it opens a thought', () => {
    const format = { ...SHOWN, open: '[THINK]', close: '[/THINK]', closing: '[/THINK]' };
    const call: GenerationPhase = { kind: 'call', nextPhase: 0 };
    const answer = { opening: [], phases: [{ kind: 'answer' as const, triggers: [{ pattern: 'x', phase: 1 }] }, call] };
    const { appended, phases } = plan({ thinking: {} }, { entry: NATIVE, format, answer });
    assert.deepEqual(appended, []);
    const [start, thought, ...rest] = phases;
    assert.deepEqual(
      start?.triggers?.map(({ phase }) => phase),
      [1, 3],
    );
    assert.match(' [THINK]', new RegExp(start.triggers[0]?.pattern ?? '', 'u'));
    assert.deepEqual([thought?.kind, thought?.until?.text, thought?.nextPhase], ['thought', '[/THINK]', 2]);
    assert.deepEqual(
      rest.map(({ triggers, nextPhase }) => [triggers?.[0]?.phase, nextPhase]),
      [
        [3, undefined],
        [undefined, 2],
      ],
    );
    assert.deepEqual(plan({ thinking: {} }, { entry: NATIVE }).phases.at(-1), { kind: 'answer' });
  });

  it('opens the thought of a trained model where the template shows no marks or the answer has a fixed form', () => {
    const form: GenerationPhase = { kind: 'answer', grammar: { type: 'text', text: '{}' } };
    const fixed: readonly Partial<PlanThinkingOptions>[] = [
      { format: USUAL_THOUGHTS },
      { answer: { opening: [], phases: [form] } },
      { answer: { opening: [{ text: '<call>', special: false }], phases: [] } },
    ];
    for (const options of fixed) {
      const { appended, phases } = plan({ thinking: {} }, { entry: NATIVE, ...options });
      assert.equal(getText(appended), '<think>\n');
      assert.equal(getText(phases[0]?.appendOnEnd), `\n</think>\n\n${getText(options.answer?.opening) ?? ''}`);
    }
  });

  it('does not open a thought that the template has opened', () => {
    const prompt = [...PROMPT, { text: '<think>', special: true }, { text: '\n', special: false }];
    const { appended, phases } = plan({ thinking: {} }, { prompt, entry: NATIVE });
    assert.deepEqual([appended, phases[0]?.kind], [[], 'thought']);
  });

  it('leaves a thought open that the template opens without a request, drops it, and limits it where phases can', () => {
    const prompt = [...PROMPT, { text: '<think>\n', special: false }];
    const limited = plan({}, { prompt, entry: NATIVE });
    assert.deepEqual([limited.appended, limited.keepsThoughts, limited.isOpened], [[], false, true]);
    assert.deepEqual(limited.phases, plan({ thinking: {} }, { prompt, entry: NATIVE }).phases);
    const { thinking: _, ...abilities } = ENTRY.abilities;
    const free = plan({}, { prompt, entry: { ...ENTRY, abilities } });
    assert.deepEqual([free.appended, free.phases, free.keepsThoughts, free.isOpened], [[], [], false, true]);
    const own = plan({}, { entry: NATIVE });
    assert.deepEqual([own.appended, own.keepsThoughts, own.isOpened], [[], false, false]);
    assert.deepEqual(own.phases, plan({ thinking: {} }, { entry: NATIVE }).phases, 'one that the model may open');
    const closed = plan({}, { entry: NATIVE, prompt: [...PROMPT, { text: '<think></think>', special: false }] });
    assert.deepEqual([closed.appended, closed.phases], [[], []]);
  });

  it('closes a thought that the template opens without a request before an answer with a fixed form', () => {
    const prompt = [...PROMPT, { text: '<think>\n', special: false }];
    const answer = { opening: [{ text: '<tool_call>', special: true }], phases: [] };
    const { appended, phases, isOpened } = plan({}, { prompt, entry: NATIVE, answer });
    assert.deepEqual([getText(appended), phases, isOpened], ['\n</think>\n\n<tool_call>', [], false]);
  });

  it('reports a request that a template answers with a closed thought', () => {
    const prompt = [...PROMPT, { text: '<think>\n\n</think>\n\n', special: false }];
    const { appended, phases, isIgnored } = plan({ thinking: {} }, { prompt, entry: NATIVE });
    assert.deepEqual([appended, phases, isIgnored], [[], [], true]);
    assert.equal(plan({}, { prompt, entry: NATIVE }).isIgnored, false);
  });

  it('plans no thought when none is requested or the model or engine cannot think', () => {
    const { thinking: _, ...abilities } = ENTRY.abilities;
    const engine = { capabilities: { ...ENGINE.capabilities, phases: false } };
    const plans = [
      plan({}),
      plan({ thinking: {} }, { entry: { ...ENTRY, abilities } }),
      plan({ thinking: {} }, { engine }),
    ];
    for (const { phases, appended } of plans) assert.deepEqual([phases, appended], [[], []]);
    assert.deepEqual(
      plans.map(({ keepsThoughts }) => keepsThoughts),
      [false, true, true],
      'a requested thought that the model writes all the same is kept',
    );
  });

  it('removes marks from an answer if thinking is on or they are special tokens, and always marks of the answer', () => {
    const format = { ...SHOWN, answerClose: '</response>' };
    const model = { ...MODEL, specialTokens: ['</think>'] };
    assert.deepEqual(plan({ thinking: {} }, { entry: NATIVE, format }).removedMarks, [
      '<think>',
      '</think>',
      '\n</response>',
      '</response>',
    ]);
    assert.deepEqual(plan({}, { format, model }).removedMarks, ['</think>', '\n</response>', '</response>']);
    const words = { ...SHOWN, open: 'Here is my thought:', close: 'Here is my response:' };
    assert.deepEqual(plan({ thinking: {} }, { entry: NATIVE, format: words }).removedMarks, []);
    assert.deepEqual(plan({}).removedMarks, []);
  });
});
