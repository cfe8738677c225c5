import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { Message, Tool } from '../core/message.ts';
import type { GenerationRequest, ToolUse } from '../core/request.ts';
import type { EngineRequest } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import type { Step } from '../engines/scripted/scripted-engine.ts';
import { createHouse, ENTRY } from './__fixtures__/house.ts';
import { collect } from './collect.ts';

const CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>';

const WEATHER: Tool = {
  name: 'weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  field: 'tools[0].function.parameters',
};

const toolUse = (more: Partial<ToolUse> = {}): ToolUse => ({
  tools: [WEATHER],
  choice: 'auto',
  isParallel: false,
  streamsComplex: false,
  ...more,
});

const say = (role: Message['role'], text: string, more: Partial<Message> = {}): Message => ({
  role,
  content: [{ type: 'text', text }],
  ...more,
});

const ANSWERED: readonly Message[] = [
  say('user', 'Paris?'),
  say('assistant', '', { toolCalls: [{ id: 'call_0', name: 'weather', arguments: '{"city":"Paris"}' }] }),
  say('tool', '21 °C', { toolCallId: 'call_0' }),
];

const entry = { ...ENTRY, abilities: { ...ENTRY.abilities, tools: true }, contextTokens: 4096 };

/** What each request to the engine is answered with, in turn. */
function createRoom(
  answers: readonly (readonly string[])[],
  {
    repeatsCalls = false,
    grammar = false,
    thinking,
  }: { readonly repeatsCalls?: boolean; readonly grammar?: boolean; readonly thinking?: 'prompted' } = {},
) {
  const asked: EngineRequest[] = [];
  const script = (request: EngineRequest): Step[] => {
    asked.push(request);
    return [{ type: 'tokens', tokens: answers[asked.length - 1] ?? [] }];
  };
  const scripted = createScriptedEngine({ script, contextTokens: 4096 });
  const house = createHouse(
    { ...scripted, capabilities: { ...scripted.capabilities, grammar } },
    {
      entry: { ...entry, repeatsCalls, abilities: { ...entry.abilities, ...(thinking ? { thinking } : {}) } },
    },
  );
  return {
    asked,
    house,
    async answer(request: Partial<GenerationRequest>) {
      const { batches } = await house.generate(request);
      return await collect(batches);
    },
  };
}

const promptOf = ({ input }: EngineRequest): string =>
  input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '';

describe('a generation with tools', () => {
  it('tells a call as a block of its own, and that the answer ends with calls', async () => {
    const room = createRoom([['Let me see. ', ...CALL]]);
    const { choices, usage } = await room.answer({ toolUse: toolUse() });
    assert.equal(choices[0]?.reason, 'tool-calls');
    assert.deepEqual(
      choices[0].blocks.map((block) => [block.type, block.text]),
      [
        ['text', 'Let me see.'],
        ['tool-call', '{"city": "Paris"}'],
      ],
    );
    assert.ok(usage.completionTokens > 40);
    assert.match(promptOf(room.asked[0] ?? assert.fail()), /weather/, 'the model is told of the tool');
  });

  it('forces a named tool: the prompt ends in the call, the answer goes on from there', async () => {
    const room = createRoom([[...'{"city": "Rome"}']]);
    const { choices } = await room.answer({ toolUse: toolUse({ choice: { name: 'weather' } }) });
    assert.match(promptOf(room.asked[0] ?? assert.fail()), /<tool_call>\n\{"name": "weather", "arguments": $/);
    assert.deepEqual(choices[0]?.blocks, [
      { type: 'tool-call', id: 'call_1', name: 'weather', text: '{"city": "Rome"}', logprobs: [] },
    ]);
  });

  it('thinks before a forced call', async () => {
    const room = createRoom([['Hm', '.', '</think>', ...'weather", "arguments": {"city": "Rome"}}']], {
      thinking: 'prompted',
    });
    const { choices } = await room.answer({ thinking: {}, toolUse: toolUse({ choice: 'required' }) });
    assert.deepEqual(
      choices[0]?.blocks.map((block) => [block.type, block.text]),
      [
        ['reasoning', 'Hm.'],
        ['tool-call', '{"city": "Rome"}'],
      ],
    );
  });

  it('answers in words where a model would repeat a call that has its result, and counts both runs', async () => {
    const room = createRoom([[...CALL], ['It is ', '21 °C.']], { repeatsCalls: true });
    const { choices, usage } = await room.answer({ messages: ANSWERED, toolUse: toolUse() });
    assert.deepEqual(
      choices[0]?.blocks.map((block) => [block.type, block.text]),
      [['text', 'It is 21 °C.']],
    );
    assert.equal(choices[0]?.reason, 'stop');
    const [first, second] = room.asked;
    assert.ok(first && second);
    assert.ok(!promptOf(second).includes('<tool_call>'), 'no call is left to imitate');
    assert.match(promptOf(second), /Paris\?\n\nweather\({"city":"Paris"}\) gave: 21 °C/);
    assert.ok(usage.completionTokens > 2, 'what the dropped call took is counted');
    assert.deepEqual(
      room.house.books.settled.map(({ usage: { completionTokens } }) => completionTokens),
      [usage.completionTokens],
    );
    assert.equal(room.house.books.leasesReleased, 1);
  });

  it('keeps the limits of the request over both runs, and does not think twice', async () => {
    const room = createRoom(
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
    const { usage, choices } = await room.answer({ messages: ANSWERED, toolUse: toolUse(), thinking: {}, ...limits });
    const [first, second] = room.asked;
    assert.ok(first && second);
    assert.deepEqual([first.maxTokens, first.maxTotalTokens], [80, 82]);
    for (const limit of [second.maxTokens, second.maxTotalTokens])
      assert.ok(limit !== undefined && limit <= 20, `${limit}`);
    assert.ok(usage.completionTokens <= 82);
    assert.ok(!second.phases.some(({ kind }) => kind === 'thought'));
    assert.deepEqual(
      choices[0]?.blocks.map(({ type }) => type),
      ['reasoning', 'text'],
    );
  });

  it('lets the same model make another call, and others repeat themselves', async () => {
    const another = CALL.replace('Paris', 'Rome');
    const room = createRoom([[...another]], { repeatsCalls: true });
    const { choices } = await room.answer({ messages: ANSWERED, toolUse: toolUse() });
    assert.equal(choices[0]?.reason, 'tool-calls');
    const stubborn = await createRoom([[...CALL]]).answer({ messages: ANSWERED, toolUse: toolUse() });
    assert.equal(stubborn.choices[0]?.reason, 'tool-calls');
  });

  it('gives arguments with lists or objects at once unless they are to be streamed', async () => {
    const list: Tool = { ...WEATHER, parameters: { type: 'object', properties: { city: { type: 'array' } } } };
    const pieces = async (streamsComplex: boolean, grammar = true): Promise<number> => {
      const { batches } = await createRoom([[...CALL.replace('"Paris"', '["Paris"]')]], { grammar }).house.generate({
        toolUse: toolUse({ tools: [list], streamsComplex }),
      });
      const events = (await Array.fromAsync(batches)).flat();
      return events.filter(({ type }) => type === 'block-delta').length;
    };
    assert.equal(await pieces(false), 1);
    assert.ok((await pieces(true)) > 1);
    assert.equal(await pieces(true, false), 1, 'nothing holds them to be an object');
  });

  it('tells arguments in a string as the object they are, and what is no object is a failure, where no grammar is', async () => {
    const answer = (written: string) =>
      createRoom([[...CALL.replace('{"city": "Paris"}', written)]]).answer({ toolUse: toolUse() });
    const { choices } = await answer(JSON.stringify('{"city":"Rome"}'));
    assert.deepEqual(
      choices[0]?.blocks.map(({ text }) => text),
      ['{"city":"Rome"}'],
    );
    for (const written of ['["Rome"]', '"Rome"', '{"city": "Rome'])
      await assert.rejects(answer(written), { kind: 'engine-failed', message: /called weather .* no JSON object/ });
  });

  it('refuses a name of more than 64 tokens of the model, and tools where the model has none', async () => {
    const tools = [{ ...WEATHER, name: 'w'.repeat(65) }];
    const counting = { ...createScriptedEngine({ script: () => [] }), countTokens: async () => 65 };
    await assert.rejects(
      createHouse(counting, { entry }).generate({ toolUse: toolUse({ tools }) }),
      (error) =>
        error instanceof ServiceError && error.kind === 'invalid-request' && error.param === 'tools[0].function.name',
    );
    await assert.rejects(
      createHouse(createScriptedEngine({ script: () => [] })).generate({ toolUse: toolUse() }),
      (error) => error instanceof ServiceError && error.kind === 'unsupported' && error.param === 'tools',
    );
  });
});
