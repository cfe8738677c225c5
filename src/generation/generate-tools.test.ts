import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { Message, Tool } from '../core/message.ts';
import type { GenerationRequest, ToolUseOptions } from '../core/request.ts';
import type { EngineRequest } from '../engines/engine.ts';
import { createScriptedEngine, type ScriptStep } from '../engines/scripted/scripted-engine.ts';
import { createTestGeneration, ENTRY } from './__fixtures__/test-generation.ts';
import { collectResult } from './collect-result.ts';

const CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>';

const WEATHER: Tool = {
  name: 'weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  field: 'tools[0].function.parameters',
};

const toolUse = (more: Partial<ToolUseOptions> = {}): ToolUseOptions => ({
  tools: [WEATHER],
  choice: 'auto',
  isParallel: false,
  streamsComplexArguments: false,
  ...more,
});

const createMessage = (role: Message['role'], text: string, more: Partial<Message> = {}): Message => ({
  role,
  content: [{ type: 'text', text }],
  ...more,
});

const ANSWERED: readonly Message[] = [
  createMessage('user', 'Paris?'),
  createMessage('assistant', '', { toolCalls: [{ id: 'call_0', name: 'weather', arguments: '{"city":"Paris"}' }] }),
  createMessage('tool', '21 °C', { toolCallId: 'call_0' }),
];

const entry = { ...ENTRY, abilities: { ...ENTRY.abilities, tools: true }, contextTokens: 4096 };

/** Creates a generation whose engine returns these answers, one for each run. */
function createScriptedGeneration(
  answers: readonly (readonly string[])[],
  {
    repeatsCalls = false,
    grammar = false,
    thinking,
  }: { readonly repeatsCalls?: boolean; readonly grammar?: boolean; readonly thinking?: 'prompted' } = {},
) {
  const engineRequests: EngineRequest[] = [];
  const script = (request: EngineRequest): ScriptStep[] => {
    engineRequests.push(request);
    return [{ type: 'tokens', tokens: answers[engineRequests.length - 1] ?? [] }];
  };
  const scripted = createScriptedEngine({ script, contextTokens: 4096 });
  const testGeneration = createTestGeneration(
    { ...scripted, capabilities: { ...scripted.capabilities, grammar } },
    {
      entry: { ...entry, repeatsCalls, abilities: { ...entry.abilities, ...(thinking ? { thinking } : {}) } },
    },
  );
  return {
    engineRequests,
    testGeneration,
    async answer(request: Partial<GenerationRequest>) {
      const { batches } = await testGeneration.generate(request);
      return await collectResult(batches);
    },
  };
}

const getPrompt = ({ input }: EngineRequest): string =>
  input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '';

describe('a generation with tools', () => {
  it('emits a call as a block of its own and ends with the reason tool-calls', async () => {
    const generation = createScriptedGeneration([['Let me see. ', ...CALL]]);
    const { choices, usage } = await generation.answer({ toolUse: toolUse() });
    assert.equal(choices[0]?.reason, 'tool-calls');
    assert.deepEqual(
      choices[0].blocks.map((block) => [block.type, block.text]),
      [
        ['text', 'Let me see.'],
        ['tool-call', '{"city": "Paris"}'],
      ],
    );
    assert.ok(usage.completionTokens > 40);
    assert.match(getPrompt(generation.engineRequests[0] ?? assert.fail()), /weather/, 'the prompt describes the tool');
  });

  it('starts a forced call in the prompt and parses the rest from the answer', async () => {
    const generation = createScriptedGeneration([[...'{"city": "Rome"}']]);
    const { choices } = await generation.answer({ toolUse: toolUse({ choice: { name: 'weather' } }) });
    assert.match(
      getPrompt(generation.engineRequests[0] ?? assert.fail()),
      /<tool_call>\n\{"name": "weather", "arguments": $/,
    );
    assert.deepEqual(choices[0]?.blocks, [
      { type: 'tool-call', id: 'call_1', name: 'weather', text: '{"city": "Rome"}', logprobs: [] },
    ]);
  });

  it('thinks before a forced call', async () => {
    const generation = createScriptedGeneration(
      [['Hm', '.', '</think>', ...'weather", "arguments": {"city": "Rome"}}']],
      {
        thinking: 'prompted',
      },
    );
    const { choices } = await generation.answer({ thinking: {}, toolUse: toolUse({ choice: 'required' }) });
    assert.deepEqual(
      choices[0]?.blocks.map((block) => [block.type, block.text]),
      [
        ['reasoning', 'Hm.'],
        ['tool-call', '{"city": "Rome"}'],
      ],
    );
  });

  it('replaces a repeated call by an answer in text and counts both runs', async () => {
    const generation = createScriptedGeneration([[...CALL], ['It is ', '21 °C.']], { repeatsCalls: true });
    const { choices, usage } = await generation.answer({ messages: ANSWERED, toolUse: toolUse() });
    assert.deepEqual(
      choices[0]?.blocks.map((block) => [block.type, block.text]),
      [['text', 'It is 21 °C.']],
    );
    assert.equal(choices[0]?.reason, 'stop');
    const [first, second] = generation.engineRequests;
    assert.ok(first && second);
    assert.ok(!getPrompt(second).includes('<tool_call>'), 'no call is left to imitate');
    assert.match(getPrompt(second), /Paris\?\n\nweather\({"city":"Paris"}\) gave: 21 °C/);
    assert.ok(usage.completionTokens > 2, 'what the dropped call took is counted');
    assert.deepEqual(
      generation.testGeneration.records.settled.map(({ usage: { completionTokens } }) => completionTokens),
      [usage.completionTokens],
    );
    assert.equal(generation.testGeneration.records.leasesReleased, 1);
  });

  it("takes nothing from the answer's limits for a dropped call, and thinks only once", async () => {
    const generation = createScriptedGeneration(
      [
        ['Hm.', '</think>', ...CALL],
        ['It ', 'is ', '21 ', '°C.'],
      ],
      {
        repeatsCalls: true,
        thinking: 'prompted',
      },
    );
    const limits = { maxTokens: 80, maxTotalTokens: 82 };
    const { choices } = await generation.answer({ messages: ANSWERED, toolUse: toolUse(), thinking: {}, ...limits });
    const [first, second] = generation.engineRequests;
    assert.ok(first && second);
    assert.deepEqual([first.maxTokens, first.maxTotalTokens], [80, 82]);
    assert.equal(second.maxTokens, 80);
    assert.ok(second.maxTotalTokens !== undefined && second.maxTotalTokens >= 79 && second.maxTotalTokens < 82);
    assert.equal(choices[0]?.reason, 'stop');
    assert.ok(!second.phases.some(({ kind }) => kind === 'thought'));
    assert.deepEqual(
      choices[0]?.blocks.map(({ type }) => type),
      ['reasoning', 'text'],
    );
  });

  it('allows a different call, and repeated calls of models without the flag', async () => {
    const another = CALL.replace('Paris', 'Rome');
    const generation = createScriptedGeneration([[...another]], { repeatsCalls: true });
    const { choices } = await generation.answer({ messages: ANSWERED, toolUse: toolUse() });
    assert.equal(choices[0]?.reason, 'tool-calls');
    const stubborn = await createScriptedGeneration([[...CALL]]).answer({ messages: ANSWERED, toolUse: toolUse() });
    assert.equal(stubborn.choices[0]?.reason, 'tool-calls');
  });

  it('buffers arguments that contain lists or objects unless streaming is requested', async () => {
    const list: Tool = { ...WEATHER, parameters: { type: 'object', properties: { city: { type: 'array' } } } };
    const pieces = async (streamsComplex: boolean, grammar = true): Promise<number> => {
      const { batches } = await createScriptedGeneration([[...CALL.replace('"Paris"', '["Paris"]')]], {
        grammar,
      }).testGeneration.generate({
        toolUse: toolUse({ tools: [list], streamsComplexArguments: streamsComplex }),
      });
      const events = (await Array.fromAsync(batches)).flat();
      return events.filter(({ type }) => type === 'block-delta').length;
    };
    assert.equal(await pieces(false), 1);
    assert.ok((await pieces(true)) > 1);
    assert.equal(await pieces(true, false), 1, 'nothing holds them to be an object');
  });

  it('unwraps arguments in a string and fails for arguments that are not an object when the engine has no grammars', async () => {
    const answer = (written: string) =>
      createScriptedGeneration([[...CALL.replace('{"city": "Paris"}', written)]]).answer({ toolUse: toolUse() });
    const { choices } = await answer(JSON.stringify('{"city":"Rome"}'));
    assert.deepEqual(
      choices[0]?.blocks.map(({ text }) => text),
      ['{"city":"Rome"}'],
    );
    for (const written of ['["Rome"]', '"Rome"', '{"city": "Rome'])
      await assert.rejects(answer(written), { kind: 'engine-failed', message: /called weather .* not a JSON object/ });
  });

  it('rejects a tool name of more than 64 tokens, and tools for a model without tool calls', async () => {
    const tools = [{ ...WEATHER, name: 'w'.repeat(65) }];
    const counting = { ...createScriptedEngine({ script: () => [] }), countTokens: async () => 65 };
    for (const request of [{ toolUse: toolUse({ tools }) }, { uncallableTools: tools }])
      await assert.rejects(
        createTestGeneration(counting, { entry }).generate(request),
        (error) =>
          error instanceof ServiceError && error.kind === 'invalid-request' && error.param === 'tools[0].function.name',
      );
    await assert.rejects(
      createTestGeneration(createScriptedEngine({ script: () => [] })).generate({ toolUse: toolUse() }),
      (error) => error instanceof ServiceError && error.kind === 'unsupported' && error.param === 'tools',
    );
  });
});
