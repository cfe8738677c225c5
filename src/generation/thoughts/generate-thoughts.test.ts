import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GenerationRequest } from '../../core/request.ts';
import type { EngineRequest, TextEngine } from '../../engines/engine.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { createTestGeneration, ENTRY } from '../__fixtures__/test-generation.ts';
import { collectResult } from '../collect-result.ts';
import { renderText } from './__fixtures__/render-text.ts';
import { THOUGHTLESS_TEMPLATES, THOUGHT_TEMPLATES } from './__fixtures__/thought-templates.ts';
import { deriveThoughtFormat } from './derive-thought-format.ts';
import { findPromptEnd, type ThoughtFormat } from './thought-format.ts';
import { THINKING_OFF, THINKING_ON } from './thinking-variables.ts';

const { thinking: _, ...abilities } = ENTRY.abilities;
const entry = { ...ENTRY, contextTokens: 8192, abilities };

const getPrompt = ({ input }: EngineRequest): string =>
  input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '';

/** Creates an engine that plays a model with this template, which writes what the prompt leads to. */
function createModel(
  chatTemplate: string,
  write: (prompt: string) => string,
  capabilities: Partial<TextEngine['capabilities']> = {},
): TextEngine {
  const engine = createScriptedEngine({
    script: (request) => [{ type: 'tokens', tokens: [...write(getPrompt(request))] }],
    contextTokens: 8192,
  });
  return {
    ...engine,
    capabilities: { ...engine.capabilities, ...capabilities },
    loadModel: async () => ({ ...(await engine.loadModel()), chatTemplate, specialTokens: [] }),
  };
}

async function answer(engine: TextEngine, request: Partial<GenerationRequest>) {
  const { batches, ignored } = await createTestGeneration(engine, { entry }).generate(request);
  const { choices, usage } = await collectResult(batches);
  const join = (type: string): string =>
    (choices[0]?.blocks ?? []).map((block) => (block.type === type ? block.text : '')).join('');
  return { reasoning: join('reasoning'), content: join('text'), ignored, usage };
}

const THOUGHT = 'First,\n\nI add.';

/** Writes an answer of a model that thinks, after a prompt that may have opened a thought or closed one. */
function writeAnswer(prompt: string, format: ThoughtFormat): string {
  const { opening, closing, answerOpenings, answerClose } = format;
  const end = findPromptEnd(prompt, format);
  const isAnswerOpened = answerOpenings.some((mark) => prompt.endsWith(mark));
  const result = `${end === 'closed' || isAnswerOpened ? '' : (answerOpenings[0] ?? '')}Four.${answerClose}`;
  if (end === 'closed' || isAnswerOpened) return result;
  return `${end === 'opened' ? '' : opening}${THOUGHT}${closing}${result}`;
}

describe('an answer with a thought', () => {
  for (const [way, { source, ends }] of Object.entries(THOUGHT_TEMPLATES)) {
    const format = deriveThoughtFormat({ source, render: renderText(source), on: THINKING_ON, off: THINKING_OFF });
    const model = createModel(source, (prompt) => writeAnswer(prompt, format));

    it(`has the thought as reasoning where one is requested: ${way}`, async () => {
      const { reasoning, content, ignored, usage } = await answer(model, { thinking: {} });
      assert.deepEqual([reasoning, content, ignored], [THOUGHT, 'Four.', []]);
      assert.ok((usage.reasoningTokens ?? 0) >= THOUGHT.length);
    });

    it(`has no thought where none is requested: ${way}`, async () => {
      for (const capabilities of [{}, { phases: false }]) {
        const engine = createModel(source, (prompt) => writeAnswer(prompt, format), capabilities);
        const { reasoning, content } = await answer(engine, {});
        assert.deepEqual([reasoning, content], ['', 'Four.']);
      }
    });

    it(`has only text where the model does not think: ${way}`, async () => {
      const engine = createModel(source, () => 'Four.');
      assert.equal((await answer(engine, {})).content, 'Four.');
      const { reasoning, content } = await answer(engine, { thinking: {} });
      // The prompt has opened the thought, and only the model could close it.
      assert.deepEqual([reasoning, content], ends[0] === 'opened' ? ['Four.', ''] : ['', 'Four.']);
    });
  }

  for (const [way, source] of Object.entries(THOUGHTLESS_TEMPLATES).filter(
    ([name]) => name !== 'a template that fails',
  ))
    it(`has the thought of a model whose template shows none where one is requested, and else none: ${way}`, async () => {
      const model = createModel(source, () => `<think>\n${THOUGHT}\n</think>\n\nFour.`);
      const requested = await answer(model, { thinking: {} });
      assert.deepEqual(
        [requested.reasoning, requested.content, requested.ignored],
        [THOUGHT, 'Four.', ['thinking']],
        'the model has no switch',
      );
      const { reasoning, content } = await answer(model, {});
      assert.deepEqual([reasoning, content], ['', 'Four.']);
    });

  it('is never empty because all of it was taken for a thought', async () => {
    const [, shown] = Object.entries(THOUGHT_TEMPLATES).find(([, { ends }]) => ends[1] === 'none') ?? [];
    assert.ok(shown);
    const [open] = shown.marks;
    assert.equal(
      (
        await answer(
          createModel(shown.source, () => `${open}Four.`),
          {},
        )
      ).content,
      'Four.',
    );
    for (const source of Object.values(THOUGHT_TEMPLATES).map((one) => one.source))
      assert.equal(
        (
          await answer(
            createModel(source, () => 'Four.'),
            {},
          )
        ).content,
        'Four.',
      );
  });

  it('ends at a closing mark without an opening one, also from servers that render prompts', async () => {
    const { source = '' } = THOUGHT_TEMPLATES['answers in tags on lines of their own'] ?? {};
    for (const capabilities of [{}, { input: 'chat', thinking: 'switch', phases: false }] as const) {
      const read = async (text: string): Promise<readonly string[]> => {
        const { reasoning, content } = await answer(
          createModel(source, () => text, capabilities),
          { thinking: {} },
        );
        return [reasoning, content];
      };
      assert.deepEqual(await read(`${THOUGHT}\n</think>\n\nFour.`), [THOUGHT, 'Four.']);
      assert.deepEqual(await read('Four.</think>\n'), ['', 'Four.\n'], 'an answer is never empty');
      assert.deepEqual((await read(`<think>${THOUGHT}</think>Four </think>.`))[0], THOUGHT);
    }
  });

  it('has no line break before a mark that ends it on a line of its own', async () => {
    const { source = '' } = THOUGHT_TEMPLATES['answers in tags on lines of their own'] ?? {};
    const model = createModel(source, () => '<think>\nso\n</think>\n<answer>\nFour.\n</answer>');
    assert.equal((await answer(model, { thinking: {} })).content, 'Four.');
  });

  it('has all thoughts of a model that writes several in channels', async () => {
    const { source = '' } = THOUGHT_TEMPLATES['channels, in which the answer has marks too'] ?? {};
    const text = ['analysis', 'analysis', 'final']
      .map((channel, at) => `${at > 0 ? '<|start|>assistant' : ''}<|channel|>${channel}<|message|>${channel} ${at}`)
      .join('<|end|>');
    const { reasoning, content } = await answer(
      createModel(source, () => text),
      { thinking: {} },
    );
    assert.deepEqual([reasoning, content], ['analysis 0analysis 1', 'final 2']);
  });

  it('gets the answer of a model that ends inside the thought, after the closing mark', async () => {
    const source = THOUGHT_TEMPLATES['a prompt that always opens a thought']?.source ?? '';
    const engine = createScriptedEngine({ script: () => [] });
    const started: EngineRequest[] = [];
    const model: TextEngine = {
      ...createModel(source, () => ''),
      start: (request, signal) => {
        started.push(request);
        return engine.start(request, signal);
      },
    };
    await answer(model, { thinking: {} });
    const [thought, result] = started[0]?.phases ?? [];
    assert.deepEqual([thought?.kind, thought?.nextPhase, result?.kind], ['thought', 1, 'answer']);
    assert.equal(thought?.appendOnEnd?.map(({ text }) => text).join(''), '\n</think>\n\n');
  });
});
