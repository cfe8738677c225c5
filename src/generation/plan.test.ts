import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelEntry } from '../catalogue/model.ts';
import type { EngineEvent, FinishReason } from '../core/event.ts';
import type { Message, Tool } from '../core/message.ts';
import type { GenerationRequest, ToolUse } from '../core/request.ts';
import type { EngineCapabilities, LoadedModel, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { ENTRY, REQUEST } from './__fixtures__/house.ts';
import { planRequest } from './plan.ts';
import type { Plan } from './plan.ts';
import { createPromptRenderer } from './prompt.ts';
import type { Stages } from './run.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/** With the switch of one family, the field of another, and marks in the vocabulary. */
const NATIVE_TEMPLATE = [
  '{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}{{ m.content }}{% endfor %}',
  '[assistant]{% if thinking %}<think>\n{% endif %}{# tools: <tool_call> #}',
].join('');

const MARKED = ['<think>', '</think>', '<tool_call>', '</tool_call>'];

const TOOL: Tool = {
  name: 'f',
  description: '',
  parameters: { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } },
  field: 'tools[0].function.parameters',
};
const toolUse = (more: Partial<ToolUse> = {}): ToolUse => ({
  tools: [TOOL],
  choice: 'auto',
  isParallel: false,
  streamsComplex: false,
  ...more,
});

interface Room {
  readonly template?: string;
  readonly thinking?: 'native' | 'prompted';
  readonly capabilities?: Partial<EngineCapabilities>;
  readonly specialTokens?: readonly string[];
  readonly withoutCallsOf?: readonly Tool[];
  /** What the check finds. */
  readonly problem?: string;
}

async function planIn(request: Partial<GenerationRequest>, room: Room = {}): Promise<Plan> {
  const scripted = createScriptedEngine({ script: () => [] });
  const loaded = await scripted.model();
  const model: LoadedModel = {
    ...loaded,
    ...(room.template === undefined ? {} : { chatTemplate: room.template }),
    specialTokens: room.specialTokens ?? loaded.specialTokens,
  };
  const engine: TextEngine = {
    ...scripted,
    capabilities: { ...scripted.capabilities, grammar: true, ...room.capabilities },
    model: async () => model,
  };
  const entry: ModelEntry = {
    ...ENTRY,
    abilities: { ...ENTRY.abilities, tools: true, ...(room.thinking ? { thinking: room.thinking } : {}) },
  };
  return await planRequest(
    { ...REQUEST, ...request },
    {
      entry,
      engine,
      rendererOf: createPromptRenderer(),
      newCallId: () => 'call_1',
      problemOf: async () => room.problem,
      ...(room.withoutCallsOf ? { withoutCallsOf: room.withoutCallsOf } : {}),
    },
  );
}

const promptOf = ({ asked: { input } }: Plan): string =>
  input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : assert.fail('a prompt');

/** What the stages of a plan make of an answer in the given phase. */
function read(
  plan: Plan,
  text: string,
  { phase = 0, reason = 'stop' }: { phase?: number; reason?: FinishReason } = {},
) {
  const out: ChoiceEvent[] = [];
  const waiting: Promise<void>[] = [];
  const stages: Stages = plan.stagesOf(0, (seen) => waiting.push(seen));
  const push = stages.reduceRight<(event: ChoiceEvent) => void>(
    (next, stage) => (event) => stage.push(event, next),
    (event) => out.push(event),
  );
  for (const piece of text) push({ type: 'text', choice: 0, text: piece, tokens: 1, phase });
  push({ type: 'choice-end', choice: 0, reason });
  return {
    text: out.map((event) => (event.type === 'text' ? event.text : '')).join(''),
    reasoning: out.map((event) => (event.type === 'reasoning' ? event.text : '')).join(''),
    calls: out.flatMap((event) => (event.type === 'tool-call' ? [event.name] : [])),
    reason: out.flatMap((event) => (event.type === 'choice-end' ? [event.reason] : [])).at(-1),
    /** What is still looked at. */
    verdict: Promise.all(waiting),
  };
}

describe('the plan of a thought', () => {
  const native: Room = { template: NATIVE_TEMPLATE, thinking: 'native', specialTokens: MARKED };

  it('uses the template’s own switch, and opens no second thought', async () => {
    assert.ok(promptOf(await planIn({ thinking: {} }, native)).endsWith('[assistant]<think>\n'));
    assert.ok(promptOf(await planIn({}, native)).endsWith('[assistant]'));
  });

  it('leaves the switch alone on a model that is led to think, and opens the thought behind the prompt', async () => {
    const plan = await planIn({ thinking: {} }, { ...native, thinking: 'prompted' });
    assert.ok(promptOf(plan).endsWith('[assistant]<think>\n'));
    const unswitched = NATIVE_TEMPLATE.replace('<think>', '<switched on>');
    assert.ok(
      !promptOf(await planIn({ thinking: {} }, { template: unswitched, thinking: 'prompted' })).includes('switched'),
    );
  });

  it('closes what a template opens unasked', async () => {
    const always = NATIVE_TEMPLATE.replace('{% if thinking %}', '{% if true %}');
    assert.ok(promptOf(await planIn({}, { ...native, template: always })).endsWith('<think>\n\n</think>\n\n'));
  });

  it('hears its mark where that is a token of the vocabulary, and those of calls too', async () => {
    const plan = await planIn({ thinking: {}, toolUse: toolUse() }, native);
    assert.deepEqual(plan.asked.markers?.toSorted(), ['</think>', '</tool_call>', '<tool_call>']);
  });

  it('comes before a forced call, whose beginning follows its end', async () => {
    const plan = await planIn({ thinking: {}, toolUse: toolUse({ choice: 'required' }) }, native);
    const [thought] = plan.asked.phases;
    assert.equal(thought?.kind, 'thought');
    const appended = thought.thenAppend?.map(({ text }) => text).join('');
    assert.ok(appended?.endsWith('</think>\n\n<tool_call>\n{"name": "'), appended);
    assert.equal(read(plan, 'f", "arguments": {}}', { phase: 1 }).calls.join(), 'f');
  });

  it('keeps marks out of the answer also where the model thinks on', async () => {
    const plan = await planIn({ thinking: {} }, native);
    assert.equal(read(plan, 'so</think>\n\nFour', { phase: 1 }).text, 'so\n\nFour');
    assert.equal(read(await planIn({}, native), 'a</think>b').text, 'a</think>b', 'read only when thinking is on');
  });
});

describe('the plan of earlier thoughts', () => {
  const messages: Message[] = [
    { role: 'user', content: [{ type: 'text', text: 'Q' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'A' }], reasoning: 'because' },
    { role: 'user', content: [{ type: 'text', text: 'R' }] },
  ];
  const preserved = { messages, preserveThinking: true };

  it('tells them in the template’s own field', async () => {
    const plan = await planIn(preserved, { template: NATIVE_TEMPLATE, thinking: 'native' });
    assert.ok(promptOf(plan).includes('(because)A'));
    assert.deepEqual(plan.unheard, []);
  });

  it('tells them in the text where the template drops its field, or has none', async () => {
    const fieldless = NATIVE_TEMPLATE.replace('({{ m.reasoning_content }})', '');
    for (const thinking of ['native', 'prompted'] as const) {
      const plan = await planIn(preserved, { template: fieldless, thinking });
      assert.ok(promptOf(plan).includes('<think>\nbecause\n</think>\n\nA'));
      assert.deepEqual(plan.unheard, []);
    }
  });

  it('says so when the template drops them however they are told', async () => {
    const deaf = '{% for m in messages %}[{{ m.role }}]{% if m.role == "user" %}{{ m.content }}{% endif %}{% endfor %}';
    const plan = await planIn(preserved, { template: deaf, thinking: 'native' });
    assert.deepEqual(plan.unheard, ['preserve_thinking']);
  });

  it('leaves them out for a model that cannot think', async () => {
    assert.ok(!promptOf(await planIn(preserved)).includes('because'));
  });
});

describe('the plan of calls and forms', () => {
  const form = { type: 'json-schema', name: 'x', schema: { type: 'array', uniqueItems: true }, field: 'x' } as const;

  it('gives at most one call where only one is allowed, also where no engine sees to it', async () => {
    const two = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'.repeat(2);
    const room: Room = { capabilities: { phases: false, grammar: false } };
    assert.deepEqual(read(await planIn({ toolUse: toolUse() }, room), two).calls, ['f']);
    assert.deepEqual(read(await planIn({ toolUse: toolUse({ isParallel: true }) }, room), two).calls, ['f', 'f']);
  });

  it('looks at what no grammar can hold, and at nothing else', async () => {
    const room: Room = { problem: 'it is wrong' };
    const wrong = { name: 'ServiceError', message: /it is wrong/ };
    const answer = read(await planIn({ outputFormat: form }, room), '[1,1]');
    await assert.rejects(answer.verdict, wrong);
    const forced = toolUse({ choice: { name: 'f' } });
    await assert.rejects(read(await planIn({ toolUse: forced }, room), '{"a": [1,1]}').verdict, wrong);
    const plain = { ...form, schema: { type: 'array' } };
    await read(await planIn({ outputFormat: plain }, room), '[1,1]').verdict;
    await assert.rejects(
      read(await planIn({ outputFormat: form, toolUse: toolUse() }, room), '[1,1]').verdict,
      wrong,
      'beside tools too',
    );
  });

  it('sends an engine without phases one form at most, and says what it cannot be told', async () => {
    const one = await planIn({ outputFormat: form }, { capabilities: { phases: false } });
    assert.equal(one.asked.phases.length, 1);
    assert.deepEqual(one.unheard, []);
    const both = await planIn({ outputFormat: form, toolUse: toolUse() }, { capabilities: { phases: false } });
    assert.deepEqual([both.asked.phases, both.unheard], [[], ['response_format']]);
    const none = await planIn({ outputFormat: form }, { capabilities: { grammar: false } });
    assert.deepEqual([none.asked.phases, none.unheard], [[], ['response_format']]);
  });

  it('answers in words behind a repeated call: it begins as no call, and drops what still reads like one', async () => {
    const plan = await planIn({}, { withoutCallsOf: [TOOL] });
    assert.deepEqual(plan.asked.phases[0]?.grammar, { type: 'without', characters: '{`<[\n\r\t' });
    const { text, calls, reason } = read(plan, 'Sunny.\n{"name": "f", "arguments": {}}');
    assert.deepEqual([text, calls, reason], ['Sunny.', [], 'stop']);
  });
});
