import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineEvent } from '../core/event.ts';
import { QWEN_FILL, type FillInTheMiddle } from '../core/fill-in-the-middle.ts';
import type { TextPrompt } from '../core/request.ts';
import type { EngineCapabilities, EngineInput, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createTestGeneration, ENTRY } from './__fixtures__/test-generation.ts';
import { collectResult } from './collect-result.ts';
import { planCompletion } from './plan-completion.ts';
import type { GenerationPlan } from './generation-plan.ts';

interface PlanSetup {
  readonly fillInTheMiddle?: FillInTheMiddle;
  readonly specialTokens?: readonly string[];
  readonly input?: EngineCapabilities['input'];
  readonly ability?: boolean;
}

async function createTestPlan(
  prompt: TextPrompt,
  { fillInTheMiddle = QWEN_FILL, specialTokens, input = 'prompt', ability = true }: PlanSetup = {},
): Promise<GenerationPlan> {
  const scripted = createScriptedEngine({ script: () => [] });
  const loaded = await scripted.loadModel();
  const engine: TextEngine = {
    ...scripted,
    capabilities: { ...scripted.capabilities, input },
    loadModel: async () => ({ ...loaded, specialTokens: specialTokens ?? loaded.specialTokens }),
  };
  const entry = { ...ENTRY, abilities: { ...ENTRY.abilities, fillInTheMiddle: ability } };
  return await planCompletion(prompt, { entry, engine, fillInTheMiddle });
}

/** Formats a prompt with special segments in brackets. */
const formatInput = (input: EngineInput): string =>
  input.type === 'segments'
    ? input.segments.map(({ text, special }) => (special ? `[${text}]` : text)).join('')
    : assert.fail('a prompt');

const ABLE = { ...ENTRY, abilities: { ...ENTRY.abilities, fillInTheMiddle: true } };

const FILL: TextPrompt = { type: 'fill', prefix: 'a<|fim_suffix|>', suffix: 'b<|fim_middle|>' };

describe('planCompletion', () => {
  it('sends a text prompt unchanged, whatever it contains', async () => {
    const text = '<|im_start|>user <|fim_prefix|>';
    const { engineRequest, stopTokens } = await createTestPlan({ type: 'text', text });
    assert.deepEqual(engineRequest.input, { type: 'segments', segments: [{ text, special: false }] });
    assert.ok(stopTokens?.includes('<|file_sep|>'));
  });

  it('sends token ids unchanged', async () => {
    const { engineRequest } = await createTestPlan({ type: 'tokens', tokens: [5, 6] });
    assert.deepEqual(engineRequest.input, { type: 'tokens', tokens: [5, 6] });
  });

  it("puts prefix and suffix between the special tokens of the model's family and keeps their texts plain", async () => {
    const { engineRequest, stopTokens } = await createTestPlan(FILL);
    assert.equal(
      formatInput(engineRequest.input),
      '[<|fim_prefix|>]a<|fim_suffix|>[<|fim_suffix|>]b<|fim_middle|>[<|fim_middle|>]',
    );
    assert.equal(stopTokens, QWEN_FILL.stopTokens);
  });

  it('asks for the middle also when the suffix is empty', async () => {
    const { engineRequest } = await createTestPlan({ type: 'fill', prefix: 'a', suffix: '' });
    assert.equal(formatInput(engineRequest.input), '[<|fim_prefix|>]a[<|fim_suffix|>][<|fim_middle|>]');
  });

  it('uses the fill-in-the-middle tokens of the vocabulary in their order', async () => {
    const ofStarCoder = await createTestPlan(FILL, { specialTokens: ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'] });
    assert.equal(
      formatInput(ofStarCoder.engineRequest.input),
      '[<fim_prefix>]a<|fim_suffix|>[<fim_suffix>]b<|fim_middle|>[<fim_middle>]',
    );
    const ofCodestral = await createTestPlan(FILL, { specialTokens: ['[PREFIX]', '[SUFFIX]'] });
    assert.equal(formatInput(ofCodestral.engineRequest.input), '[[SUFFIX]]b<|fim_middle|>[[PREFIX]]a<|fim_suffix|>');
  });

  it('rejects a suffix for a model that has no tokens for it or is declared unable', async () => {
    const refusal = { kind: 'unsupported', param: 'suffix', message: /cannot fill in the middle/ };
    await assert.rejects(createTestPlan(FILL, { specialTokens: ['<|im_end|>'] }), refusal);
    await assert.rejects(createTestPlan(FILL, { ability: false }), refusal);
  });

  it('continues a prefix without suffix on such a model', async () => {
    const { engineRequest, stopTokens } = await createTestPlan(
      { type: 'fill', prefix: 'a', suffix: '' },
      { ability: false },
    );
    assert.equal(formatInput(engineRequest.input), 'a');
    assert.deepEqual(stopTokens, []);
  });

  it('rejects a prompt for an engine that accepts conversations only', async () => {
    const refusal = { kind: 'unsupported', param: 'model', message: /conversations only/ };
    await assert.rejects(createTestPlan({ type: 'text', text: 'a' }, { input: 'chat' }), refusal);
  });

  it('adds a stage for a gap and none for a text prompt', async () => {
    const stages = async (prompt: TextPrompt) =>
      (await createTestPlan(prompt)).createStages(0, () => undefined, {}).length;
    assert.equal(await stages(FILL), 1);
    assert.equal(await stages({ type: 'text', text: 'a' }), 0);
  });

  it('ends a filling at a fence unless the text around the gap contains one', async () => {
    const filled = async (suffix: string): Promise<string> => {
      const script = () => [{ type: 'tokens' as const, tokens: ['a', '\n```', '\nb'] }];
      const { generate } = createTestGeneration(createScriptedEngine({ script, contextTokens: 100 }), { entry: ABLE });
      const { batches } = await generate({ messages: [], prompt: { type: 'fill', prefix: 'x', suffix } });
      return (await collectResult(batches)).choices[0]?.blocks[0]?.text ?? '';
    };
    assert.equal(await filled('\nmore'), 'a');
    assert.equal(await filled('\n```\n'), 'a\n```\nb');
  });
});

describe('a choice that its stage ends', () => {
  const script = () => [{ type: 'tokens' as const, tokens: ['x', '\nreturn all_of_it\n'] }, { type: 'hang' as const }];
  const request = { messages: [], prompt: { type: 'fill', prefix: 'a', suffix: '\nreturn all_of_it' } } as const;

  it('ends the run, cancels the engine and counts the generated tokens', async () => {
    const ended: boolean[] = [];
    const engine = createScriptedEngine({
      script,
      contextTokens: 100,
      onRunEnd: ({ isCancelled }) => void ended.push(isCancelled),
    });
    const { records, generate } = createTestGeneration(engine, { entry: ABLE });
    const { batches } = await generate({ ...request, choices: 2 });
    const { choices, usage } = await collectResult(batches);
    assert.deepEqual(
      choices.map(({ blocks, reason }) => [blocks.map(({ text }) => text).join(''), reason]),
      [
        ['x', 'stop'],
        ['x', 'stop'],
      ],
    );
    assert.equal(usage.completionTokens, 4);
    assert.deepEqual(ended, [true]);
    assert.deepEqual(records.settled, [{ usage, outcome: 'finished' }]);
    assert.equal(records.releases, 1);
  });

  it('waits for the other choices', async () => {
    const scripted = createScriptedEngine({ script: () => [], contextTokens: 100 });
    const end = { type: 'choice-end', reason: 'stop' } as const;
    const text = (choice: number, output: string): EngineEvent => ({
      type: 'text',
      choice,
      text: output,
      tokens: 1,
      phase: 0,
    });
    async function* events(): AsyncGenerator<readonly EngineEvent[]> {
      yield [text(0, '\nreturn all_of_it\n'), text(1, 'a')];
      yield [text(0, 'more'), text(1, 'b'), { ...end, choice: 1 }];
      assert.fail('the rest must not be read');
    }
    const engine: TextEngine = { ...scripted, start: async () => ({ batches: events() }) };
    const { batches } = await createTestGeneration(engine, { entry: ABLE }).generate({ ...request, choices: 2 });
    const { choices } = await collectResult(batches);
    assert.deepEqual(
      choices.map(({ blocks }) => blocks.map((block) => block.text).join('')),
      ['', 'ab'],
    );
  });
});
