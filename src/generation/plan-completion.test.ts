import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QWEN_FILL } from '../catalogue/families/fill-in-the-middle.ts';
import type { FillInTheMiddle } from '../catalogue/families/family.ts';
import type { EngineEvent } from '../core/event.ts';
import type { TextPrompt } from '../core/request.ts';
import type { EngineCapabilities, EngineInput, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createHouse, ENTRY } from './__fixtures__/house.ts';
import { collect } from './collect.ts';
import { planCompletion } from './plan-completion.ts';
import type { Plan } from './plan.ts';

interface Room {
  readonly fillInTheMiddle?: FillInTheMiddle;
  readonly specialTokens?: readonly string[];
  readonly input?: EngineCapabilities['input'];
  readonly ability?: boolean;
}

async function planIn(
  prompt: TextPrompt,
  { fillInTheMiddle = QWEN_FILL, specialTokens, input = 'prompt', ability = true }: Room = {},
): Promise<Plan> {
  const scripted = createScriptedEngine({ script: () => [] });
  const loaded = await scripted.model();
  const engine: TextEngine = {
    ...scripted,
    capabilities: { ...scripted.capabilities, input },
    model: async () => ({ ...loaded, specialTokens: specialTokens ?? loaded.specialTokens }),
  };
  const entry = { ...ENTRY, abilities: { ...ENTRY.abilities, fillInTheMiddle: ability } };
  return await planCompletion(prompt, { entry, engine, fillInTheMiddle });
}

/** Special pieces in brackets. */
const shown = (input: EngineInput): string =>
  input.type === 'segments'
    ? input.segments.map(({ text, special }) => (special ? `[${text}]` : text)).join('')
    : assert.fail('a prompt');

const ABLE = { ...ENTRY, abilities: { ...ENTRY.abilities, fillInTheMiddle: true } };

const FILL: TextPrompt = { type: 'fill', prefix: 'a<|fim_suffix|>', suffix: 'b<|fim_middle|>' };

describe('a prompt without a conversation', () => {
  it('is continued as it stands, whatever it reads like', async () => {
    const text = '<|im_start|>user <|fim_prefix|>';
    const { asked, stopTokens } = await planIn({ type: 'text', text });
    assert.deepEqual(asked.input, { type: 'segments', segments: [{ text, special: false }] });
    assert.ok(stopTokens?.includes('<|file_sep|>'));
  });

  it('of token ids goes to the engine as they are', async () => {
    const { asked } = await planIn({ type: 'tokens', tokens: [5, 6] });
    assert.deepEqual(asked.input, { type: 'tokens', tokens: [5, 6] });
  });

  it("to be filled stands between the tokens of the model's family, and nothing in it becomes one", async () => {
    const { asked, stopTokens } = await planIn(FILL);
    assert.equal(shown(asked.input), '[<|fim_prefix|>]a<|fim_suffix|>[<|fim_suffix|>]b<|fim_middle|>[<|fim_middle|>]');
    assert.equal(stopTokens, QWEN_FILL.stopTokens);
  });

  it('gets the middle also where nothing comes after the gap', async () => {
    const { asked } = await planIn({ type: 'fill', prefix: 'a', suffix: '' });
    assert.equal(shown(asked.input), '[<|fim_prefix|>]a[<|fim_suffix|>][<|fim_middle|>]');
  });

  it('is spelled as the vocabulary has it, in its order', async () => {
    const ofStarCoder = await planIn(FILL, { specialTokens: ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'] });
    assert.equal(
      shown(ofStarCoder.asked.input),
      '[<fim_prefix>]a<|fim_suffix|>[<fim_suffix>]b<|fim_middle|>[<fim_middle>]',
    );
    const ofCodestral = await planIn(FILL, { specialTokens: ['[PREFIX]', '[SUFFIX]'] });
    assert.equal(shown(ofCodestral.asked.input), '[[SUFFIX]]b<|fim_middle|>[[PREFIX]]a<|fim_suffix|>');
  });

  it('with a suffix is refused by a model that has no tokens for it, or is declared not to', async () => {
    const refusal = { kind: 'unsupported', param: 'suffix', message: /cannot fill in the middle/ };
    await assert.rejects(planIn(FILL, { specialTokens: ['<|im_end|>'] }), refusal);
    await assert.rejects(planIn(FILL, { ability: false }), refusal);
  });

  it('with a prefix only is continued by such a model', async () => {
    const { asked, stopTokens } = await planIn({ type: 'fill', prefix: 'a', suffix: '' }, { ability: false });
    assert.equal(shown(asked.input), 'a');
    assert.deepEqual(stopTokens, []);
  });

  it('is refused by an engine that takes conversations only', async () => {
    const refusal = { kind: 'unsupported', param: 'model', message: /conversations only/ };
    await assert.rejects(planIn({ type: 'text', text: 'a' }, { input: 'chat' }), refusal);
  });

  it('has stages where there is a gap, and none where a text is continued', async () => {
    const stages = async (prompt: TextPrompt) => (await planIn(prompt)).stagesOf(0, () => undefined).length;
    assert.equal(await stages(FILL), 1);
    assert.equal(await stages({ type: 'text', text: 'a' }), 0);
  });

  it('may be filled with a fence only where it has some of its own', async () => {
    const filled = async (suffix: string): Promise<string> => {
      const script = () => [{ type: 'tokens' as const, tokens: ['a', '\n```', '\nb'] }];
      const { generate } = createHouse(createScriptedEngine({ script, contextTokens: 100 }), { entry: ABLE });
      const { batches } = await generate({ messages: [], prompt: { type: 'fill', prefix: 'x', suffix } });
      return (await collect(batches)).choices[0]?.blocks[0]?.text ?? '';
    };
    assert.equal(await filled('\nmore'), 'a');
    assert.equal(await filled('\n```\n'), 'a\n```\nb');
  });
});

describe('an answer that its stages end', () => {
  const script = () => [{ type: 'tokens' as const, tokens: ['x', '\nreturn all_of_it\n'] }, { type: 'hang' as const }];
  const request = { messages: [], prompt: { type: 'fill', prefix: 'a', suffix: '\nreturn all_of_it' } } as const;

  it('ends the run, frees the engine, and counts what it said', async () => {
    const ended: boolean[] = [];
    const engine = createScriptedEngine({
      script,
      contextTokens: 100,
      onRunEnd: ({ isCancelled }) => void ended.push(isCancelled),
    });
    const { books, generate } = createHouse(engine, { entry: ABLE });
    const { batches } = await generate({ ...request, choices: 2 });
    const { choices, usage } = await collect(batches);
    assert.deepEqual(
      choices.map(({ blocks, reason }) => [blocks.map(({ text }) => text).join(''), reason]),
      [
        ['x', 'stop'],
        ['x', 'stop'],
      ],
    );
    assert.equal(usage.completionTokens, 4);
    assert.deepEqual(ended, [true]);
    assert.deepEqual(books.settled, [{ usage, how: 'finished' }]);
    assert.equal(books.releases, 1);
  });

  it('waits for choices that go on', async () => {
    const scripted = createScriptedEngine({ script: () => [], contextTokens: 100 });
    const end = { type: 'choice-end', reason: 'stop' } as const;
    const text = (choice: number, said: string): EngineEvent => ({
      type: 'text',
      choice,
      text: said,
      tokens: 1,
      phase: 0,
    });
    async function* events(): AsyncGenerator<readonly EngineEvent[]> {
      yield [text(0, '\nreturn all_of_it\n'), text(1, 'a')];
      yield [text(0, 'more'), text(1, 'b'), { ...end, choice: 1 }];
      assert.fail('nobody reads on');
    }
    const engine: TextEngine = { ...scripted, start: async () => ({ batches: events() }) };
    const { batches } = await createHouse(engine, { entry: ABLE }).generate({ ...request, choices: 2 });
    const { choices } = await collect(batches);
    assert.deepEqual(
      choices.map(({ blocks }) => blocks.map((block) => block.text).join('')),
      ['', 'ab'],
    );
  });
});
