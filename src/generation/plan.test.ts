import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelEntry } from '../catalogue/model.ts';
import type { ChoiceEvent, FinishReason } from '../core/event.ts';
import type { Message, Tool } from '../core/message.ts';
import type { GenerationRequest, ToolUseOptions } from '../core/request.ts';
import type { EngineCapabilities, EngineRun, LoadedModel, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { ENTRY, REQUEST } from './__fixtures__/test-generation.ts';
import { planRequest } from './plan.ts';
import type { GenerationPlan } from './generation-plan.ts';
import { createPromptRenderer } from './prompt-renderer.ts';
import type { Stages } from './run-events.ts';

/** A template with the thinking switch of one model family, the reasoning field of another, and marks for tools. */
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
const toolUse = (more: Partial<ToolUseOptions> = {}): ToolUseOptions => ({
  tools: [TOOL],
  choice: 'auto',
  isParallel: false,
  streamsComplexArguments: false,
  ...more,
});

interface PlanSetup {
  readonly template?: string;
  readonly thinking?: 'native' | 'prompted';
  readonly capabilities?: Partial<EngineCapabilities>;
  readonly specialTokens?: readonly string[];
  readonly withoutCallsOf?: readonly Tool[];
  /** Problem that the answer check finds. */
  readonly problem?: string;
}

async function createTestPlan(request: Partial<GenerationRequest>, setup: PlanSetup = {}): Promise<GenerationPlan> {
  const scripted = createScriptedEngine({ script: () => [] });
  const loaded = await scripted.loadModel();
  const model: LoadedModel = {
    ...loaded,
    ...(setup.template === undefined ? {} : { chatTemplate: setup.template }),
    specialTokens: setup.specialTokens ?? loaded.specialTokens,
  };
  const engine: TextEngine = {
    ...scripted,
    capabilities: { ...scripted.capabilities, grammar: true, ...setup.capabilities },
    loadModel: async () => model,
  };
  const entry: ModelEntry = {
    ...ENTRY,
    abilities: { ...ENTRY.abilities, tools: true, ...(setup.thinking ? { thinking: setup.thinking } : {}) },
  };
  return await planRequest(
    { ...REQUEST, ...request },
    {
      entry,
      engine,
      getRenderer: createPromptRenderer(),
      createCallId: () => 'call_1',
      checkAnswer: async () => setup.problem,
      ...(setup.withoutCallsOf ? { withdrawnTools: setup.withoutCallsOf } : {}),
    },
  );
}

const getPromptText = ({ engineRequest: { input } }: GenerationPlan): string =>
  input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : assert.fail('a prompt');

/** Runs an answer in the given phase through the stages of a plan. */
function runStages(
  plan: GenerationPlan,
  text: string,
  {
    phase = 0,
    reason = 'stop',
    ...run
  }: { phase?: number; reason?: FinishReason } & Pick<EngineRun, 'hasWideGrammar'> = {},
) {
  const out: ChoiceEvent[] = [];
  const waiting: Promise<void>[] = [];
  const stages: Stages = plan.createStages(0, (seen) => waiting.push(seen), run);
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
    /** Resolves when all asynchronous checks pass. */
    verdict: Promise.all(waiting),
  };
}

describe('planRequest with thinking', () => {
  const native: PlanSetup = { template: NATIVE_TEMPLATE, thinking: 'native', specialTokens: MARKED };

  it("uses the template's own switch and opens no second thought", async () => {
    assert.ok(getPromptText(await createTestPlan({ thinking: {} }, native)).endsWith('[assistant]<think>\n'));
    assert.ok(getPromptText(await createTestPlan({}, native)).endsWith('[assistant]'));
  });

  it('leaves the switch off for a model that is prompted to think and opens the thought after the prompt', async () => {
    const plan = await createTestPlan({ thinking: {} }, { ...native, thinking: 'prompted' });
    assert.ok(getPromptText(plan).endsWith('[assistant]<think>\n'));
    const unswitched = NATIVE_TEMPLATE.replace('<think>', '<switched on>');
    assert.ok(
      !getPromptText(await createTestPlan({ thinking: {} }, { template: unswitched, thinking: 'prompted' })).includes(
        'switched',
      ),
    );
  });

  it('leaves a thought open that the template opens without a request, and drops it', async () => {
    const always = NATIVE_TEMPLATE.replace('{% if thinking %}', '{% if true %}');
    const plan = await createTestPlan({}, { ...native, template: always });
    assert.ok(getPromptText(plan).endsWith('[assistant]<think>\n'));
    assert.equal(runStages(plan, 'so\n', { reason: 'length' }).text, '');
    const free = await createTestPlan({}, { ...native, template: always, capabilities: { phases: false } });
    assert.equal(runStages(free, 'so</think>\n\nFour').text, 'Four');
    assert.equal(runStages(free, 'Four').text, 'Four', 'an answer that was taken for a thought');
  });

  it('adds thought marks and call marks to the markers if they are special tokens', async () => {
    const plan = await createTestPlan({ thinking: {}, toolUse: toolUse() }, native);
    assert.deepEqual(plan.engineRequest.markers?.toSorted(), ['</think>', '</tool_call>', '<think>', '<tool_call>']);
  });

  it('appends the start of a forced call after the thought', async () => {
    const plan = await createTestPlan({ thinking: {}, toolUse: toolUse({ choice: 'required' }) }, native);
    const [thought] = plan.engineRequest.phases;
    assert.equal(thought?.kind, 'thought');
    const appended = thought.appendOnEnd?.map(({ text }) => text).join('');
    assert.ok(appended?.endsWith('</think>\n\n<tool_call>\n{"name": "'), appended);
    assert.equal(runStages(plan, 'f", "arguments": {}}', { phase: 1 }).calls.join(), 'f');
  });

  it('reads a call in a thought that the model does not close', async () => {
    const plan = await createTestPlan({ thinking: {}, toolUse: toolUse() }, native);
    const { reasoning, calls } = runStages(plan, 'So.\n\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>');
    assert.deepEqual([reasoning, calls], ['So.', ['f']]);
  });

  it('removes thought marks from the answer when the model thinks on', async () => {
    const plan = await createTestPlan({ thinking: {} }, native);
    assert.equal(runStages(plan, 'so</think>\n\nFour', { phase: 1 }).text, 'so\n\nFour');
    assert.equal(runStages(await createTestPlan({}, native), 'a</think>b').text, 'ab');
    const asText = await createTestPlan({}, { ...native, specialTokens: [] });
    assert.equal(runStages(asText, 'a</think>b').text, 'a</think>b', 'text that is no special token');
  });
});

describe('planRequest with thoughts that nobody requested', () => {
  it('drops a thought that the model writes anyway, with the marks of its template or the usual ones', async () => {
    const other = NATIVE_TEMPLATE.replaceAll('<think>', '<mind:think>');
    const plan = await createTestPlan({}, { template: other, thinking: 'native' });
    assert.deepEqual(
      plan.engineRequest.phases.map(({ kind, until }) => [kind, until?.text]),
      [
        ['answer', undefined],
        ['thought', '</mind:think>'],
        ['answer', undefined],
      ],
      'the thought takes nothing from the limits of the answer',
    );
    const answer = runStages(plan, '<mind:think>\nso</mind:think>\nFour.');
    assert.deepEqual([answer.reasoning, answer.text], ['', 'Four.']);
    const usual = runStages(await createTestPlan({}), '<think>so</think>Four.');
    assert.deepEqual([usual.reasoning, usual.text], ['', 'Four.']);
  });

  it('returns the whole answer where the model opens a thought and never closes it', async () => {
    assert.equal(runStages(await createTestPlan({}), '<think>\nFour.').text, 'Four.');
  });

  it('reads calls after such a thought and in one that is not closed', async () => {
    const plan = await createTestPlan({ toolUse: toolUse() });
    const call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>';
    assert.deepEqual(runStages(plan, `<think>${call}</think>Four.`).calls, []);
    const after = await createTestPlan({ toolUse: toolUse() });
    assert.deepEqual(runStages(after, `<think>so</think>${call}`).calls, ['f']);
    const open = await createTestPlan({ toolUse: toolUse() });
    assert.deepEqual(runStages(open, `<think>so ${call}`).calls, ['f']);
  });
});

describe('planRequest with earlier reasoning', () => {
  const messages: Message[] = [
    { role: 'user', content: [{ type: 'text', text: 'Q' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'A' }], reasoning: 'because' },
    { role: 'user', content: [{ type: 'text', text: 'R' }] },
  ];
  const preserved = { messages, preserveThinking: true };

  it("renders it in the template's own field", async () => {
    const plan = await createTestPlan(preserved, { template: NATIVE_TEMPLATE, thinking: 'native' });
    assert.ok(getPromptText(plan).includes('(because)A'));
    assert.deepEqual(plan.ignored, []);
  });

  it('renders it as text when the template drops the field or has none', async () => {
    const fieldless = NATIVE_TEMPLATE.replace('({{ m.reasoning_content }})', '');
    for (const thinking of ['native', 'prompted'] as const) {
      const plan = await createTestPlan(preserved, { template: fieldless, thinking });
      assert.ok(getPromptText(plan).includes('<think>\nbecause\n</think>\n\nA'));
      assert.deepEqual(plan.ignored, []);
    }
  });

  it('reports preserve_thinking when the template drops it in both forms', async () => {
    const deaf = '{% for m in messages %}[{{ m.role }}]{% if m.role == "user" %}{{ m.content }}{% endif %}{% endfor %}';
    const plan = await createTestPlan(preserved, { template: deaf, thinking: 'native' });
    assert.deepEqual(plan.ignored, ['preserve_thinking']);
  });

  it('omits it for a model that cannot think', async () => {
    assert.ok(!getPromptText(await createTestPlan(preserved)).includes('because'));
  });
});

describe('planRequest with tools and output formats', () => {
  const form = { type: 'json-schema', name: 'x', schema: { type: 'array', uniqueItems: true }, field: 'x' } as const;

  it('allows one call unless parallel calls are allowed, also without support of the engine', async () => {
    const two = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'.repeat(2);
    const setup: PlanSetup = { capabilities: { phases: false, grammar: false } };
    assert.deepEqual(runStages(await createTestPlan({ toolUse: toolUse() }, setup), two).calls, ['f']);
    assert.deepEqual(runStages(await createTestPlan({ toolUse: toolUse({ isParallel: true }) }, setup), two).calls, [
      'f',
      'f',
    ]);
  });

  it('checks only what no grammar can guarantee', async () => {
    const setup: PlanSetup = { problem: 'it is wrong' };
    const wrong = { name: 'ServiceError', message: /it is wrong/ };
    const answer = runStages(await createTestPlan({ outputFormat: form }, setup), '[1,1]');
    await assert.rejects(answer.verdict, wrong);
    const forced = toolUse({ choice: { name: 'f' } });
    await assert.rejects(runStages(await createTestPlan({ toolUse: forced }, setup), '{"a": [1,1]}').verdict, wrong);
    const plain = { ...form, schema: { type: 'array' } };
    await runStages(await createTestPlan({ outputFormat: plain }, setup), '[1,1]').verdict;
    const wide = runStages(await createTestPlan({ outputFormat: plain }, setup), '[1,1]', { hasWideGrammar: true });
    await assert.rejects(wide.verdict, wrong, 'the grammar holds less than the schema');
    await assert.rejects(
      runStages(await createTestPlan({ outputFormat: form, toolUse: toolUse() }, setup), '[1,1]').verdict,
      wrong,
      'beside tools too',
    );
  });

  it('sends an engine without phases at most one grammar and reports an unsupported response_format', async () => {
    const one = await createTestPlan({ outputFormat: form }, { capabilities: { phases: false } });
    assert.equal(one.engineRequest.phases.length, 1);
    assert.deepEqual(one.ignored, []);
    const both = await createTestPlan({ outputFormat: form, toolUse: toolUse() }, { capabilities: { phases: false } });
    assert.deepEqual([both.engineRequest.phases, both.ignored], [[], ['response_format']]);
    const none = await createTestPlan({ outputFormat: form }, { capabilities: { grammar: false } });
    assert.deepEqual([none.engineRequest.phases, none.ignored], [[], ['response_format']]);
  });

  it('removes the mark of an answer that the prompt has started and the model repeats', async () => {
    const template =
      "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{% if m.role == 'assistant' %}>>>all\n{{ m.content }}\n{% else %}{{ m.content }}\n{% endif %}{% endfor %}{% if add_generation_prompt %}>>>{% endif %}";
    const plan = await createTestPlan({ toolUse: toolUse({ isParallel: true }) }, { template });
    for (const start of ['>>>all', 'all']) assert.equal(runStages(plan, `${start}\nLet me see.`).text, 'Let me see.');
    const { text, calls } = runStages(plan, 'f\n{"x": 1}>>>all\nDone.');
    assert.deepEqual([text, calls], ['Done.', ['f']]);
  });

  it('prevents and removes calls in the answer after a repeated call', async () => {
    const plan = await createTestPlan({}, { withoutCallsOf: [TOOL] });
    assert.deepEqual(plan.engineRequest.phases[0]?.grammar, { type: 'without', characters: '{`<[\n\r\t' });
    const { text, calls, reason } = runStages(plan, 'Sunny.\n{"name": "f", "arguments": {}}');
    assert.deepEqual([text, calls, reason], ['Sunny.', [], 'stop']);
  });
});

describe('planRequest with tools and an unknown call format', () => {
  const template = '{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}';

  it('describes the tools, and reports that calls may arrive as text', async () => {
    const plan = await createTestPlan({ toolUse: toolUse() }, { template });
    assert.deepEqual(plan.ignored, ['tools(unknown_format)']);
    assert.match(getPromptText(plan), /You can call functions/);
    assert.deepEqual((await createTestPlan({}, { template })).ignored, []);
  });

  it('reports nothing where the template has no tools, or writes calls', async () => {
    const plain = '{% for m in messages %}{{ m.content }}{% endfor %}';
    assert.deepEqual((await createTestPlan({ toolUse: toolUse() }, { template: plain })).ignored, []);
  });

  it('constrains a required call by a grammar, and rejects it on an engine without grammars', async () => {
    for (const choice of ['required', { name: 'f' }] as const) {
      const plan = await createTestPlan({ toolUse: toolUse({ choice }) }, { template });
      assert.deepEqual(plan.ignored, ['tools(unknown_format)']);
      assert.ok(plan.engineRequest.phases[0]?.grammar);
      await assert.rejects(
        createTestPlan({ toolUse: toolUse({ choice }) }, { template, capabilities: { grammar: false } }),
        { kind: 'unsupported', param: 'tool_choice', message: /does not know.*Send tool_choice "auto"/ },
      );
    }
  });
});
