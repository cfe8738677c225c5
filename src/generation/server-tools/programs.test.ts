import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { Tool } from '../../core/message.ts';
import { collectResult } from '../collect-result.ts';
import {
  createTestServerTools,
  createFakeInterpreter,
  collectEvents,
  createSearchResult,
  createMessage,
  SEARCH,
} from './__fixtures__/test-server-tools.ts';

const formatCall = (args: object, name = 'code_interpreter'): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

const CODE = { fileIds: [] };

const WEATHER: Tool = { name: 'weather', description: '', parameters: { type: 'object', properties: {} }, field: 't' };
const toolUse = (more: object = {}) =>
  ({ tools: [WEATHER], choice: 'auto', isParallel: true, streamsComplexArguments: false, ...more }) as const;

describe('programs in an answer', () => {
  it('run when the model calls them, and the model continues with their output', async () => {
    const { code, record } = createFakeInterpreter(async () => ({ value: '42' }));
    const harness = createTestServerTools({
      script: [['Let me see. ', formatCall({ code: '6*7' })], ['It is 42.']],
      code,
    });
    const events = await collectEvents(await harness.generate({ code: CODE }));
    assert.deepEqual(
      events.flatMap((event) => ('index' in event ? [`${event.type} ${event.index}`] : [event.type])),
      [
        'start',
        'block-start 0',
        'block-delta 0',
        'block-end 0',
        'server-call 1',
        'server-result 1',
        'block-start 2',
        'block-delta 2',
        'block-end 2',
        'choice-end',
        'end',
      ],
    );
    assert.deepEqual(events[4], {
      type: 'server-call',
      choice: 0,
      index: 1,
      id: 'srv_1',
      call: { type: 'code', code: '6*7', containerId: 'box_1' },
    });
    const result = events[5];
    assert.equal(
      result?.type === 'server-result' && result.result.type === 'code' && result.result.output?.value,
      '42',
    );
    assert.deepEqual(record.ran, ['6*7']);
    assert.equal(record.released, 1);
    const prompt = harness.prompts()[1] ?? '';
    assert.ok(prompt.includes('Let me see.') && prompt.includes('<tool_response>\n42\n</tool_response>'));
    const end = events.at(-1);
    assert.ok(end?.type === 'end');
    assert.deepEqual(end.usage.serverTools, { searches: 0, pages: 0, programs: 1 });
    // The scripted engine counts a piece twice when it spans two phases.
    assert.equal(end.usage.completionTokens, 4);
    assert.deepEqual(events.at(-2), { type: 'choice-end', choice: 0, reason: 'stop' });
  });

  it('run for a call by another name where the caller has no tools', async () => {
    for (const [tools, ran] of [
      [{}, ['6*7']],
      [{ toolUse: toolUse() }, []],
    ] as const) {
      const { code, record } = createFakeInterpreter(async () => ({ value: '42' }));
      const harness = createTestServerTools({ script: [[formatCall({ code: '6*7' }, 'python')], ['It is 42.']], code });
      const { choices } = await collectResult((await harness.generate({ code: CODE }, tools)).batches);
      assert.deepEqual(record.ran, ran);
      assert.equal(choices[0]?.reason, ran.length > 0 ? 'stop' : 'tool-calls');
    }
  });

  it('run in order in the same container', async () => {
    const { code, record } = createFakeInterpreter(async (program) => ({ stdout: `ran ${program}` }));
    const harness = createTestServerTools({
      script: [[formatCall({ code: 'a' }), formatCall({ code: 'b' })], ['Done.']],
      code,
    });
    const { choices } = await collectResult(
      (await harness.generate({ code: { fileIds: [], containerId: 'box_7' } }, { toolUse: toolUse() })).batches,
    );
    assert.deepEqual(record.ran, ['a', 'b']);
    assert.equal(record.opened.length, 1);
    assert.deepEqual(
      choices[0]?.blocks.map((block) =>
        block.type === 'server-call' && block.call.type === 'code' ? block.call.containerId : block.type,
      ),
      ['box_7', 'box_7', 'text'],
    );
    const prompt = harness.prompts()[1] ?? '';
    assert.ok(prompt.indexOf('ran a') < prompt.indexOf('ran b'));
  });

  it('are not offered in the last run after the use limit', async () => {
    const { code, record } = createFakeInterpreter(async () => ({ value: '1' }));
    const script = [[formatCall({ code: '1' })], [formatCall({ code: '2' })], ['One.']];
    const harness = createTestServerTools({ script, code });
    const { choices } = await collectResult((await harness.generate({ code: { fileIds: [], usesMax: 2 } })).batches);
    assert.deepEqual(record.ran, ['1', '2']);
    assert.equal(choices[0]?.blocks.at(-1)?.text, 'One.');
    assert.ok((harness.prompts()[1] ?? '').includes('You can call functions'));
    assert.ok(!(harness.prompts()[2] ?? '').includes('You can call functions'));
  });

  it('above the use limit fail with too-many-uses', async () => {
    const { code, record } = createFakeInterpreter(async () => ({}));
    const harness = createTestServerTools({
      script: [[formatCall({ code: 'a' }), formatCall({ code: 'b' })], ['x']],
      code,
    });
    const { choices } = await collectResult(
      (await harness.generate({ code: { fileIds: [], usesMax: 1 } }, { toolUse: toolUse() })).batches,
    );
    assert.deepEqual(record.ran, ['a']);
    const [, second] = choices[0]?.blocks ?? [];
    assert.equal(second?.type === 'server-call' && second.result.failure?.code, 'too-many-uses');
  });

  it('are called by a fenced Python block, and what the model writes after it is cut', async () => {
    const { code, record } = createFakeInterpreter(async () => ({ stdout: '42\n' }));
    const harness = createTestServerTools({
      script: [['I compute:\n``', '`python\nprint(6', '*7)\n```\nIt prints 4', '1.'], ['It is 42.']],
      code,
    });
    const { choices, usage } = await collectResult((await harness.generate({ code: CODE })).batches);
    assert.deepEqual(
      choices[0]?.blocks.map((block) =>
        block.type === 'server-call' && block.call.type === 'code' ? `run ${block.call.code}` : block.text,
      ),
      ['I compute:\n', 'run print(6*7)', 'It is 42.'],
    );
    assert.deepEqual(record.ran, ['print(6*7)']);
    assert.ok((harness.prompts()[1] ?? '').includes('42') && !(harness.prompts()[1] ?? '').includes('41'));
    assert.equal(harness.runsCancelled.length, 2);
    assert.equal(usage.serverTools?.programs, 1);
  });

  it('are called by a fenced Python block in a thought', async () => {
    const { code, record } = createFakeInterpreter(async () => ({ stdout: '42\n' }));
    const harness = createTestServerTools({
      script: [['I think.\n```py\nprint(6*7)\n```\nThe result is 41.'], ['So 42.</think>It is 42.']],
      code,
      thinking: 'prompted',
    });
    const { choices } = await collectResult((await harness.generate({ code: CODE }, { thinking: {} })).batches);
    assert.deepEqual(
      choices[0]?.blocks.map((block) => (block.type === 'server-call' ? 'call' : `${block.type} ${block.text}`)),
      ['reasoning I think.\n', 'call', 'reasoning So 42.', 'text It is 42.'],
    );
    assert.deepEqual(record.ran, ['print(6*7)']);
  });

  it('end the answer with a block when no program may run any more and none had a result', async () => {
    const block = '```python\n1\n```';
    const other = `Again: ${block.replace('1', '2')}`;
    for (const [value, text] of [
      ['1', `${other}\nIt is 2.`],
      [undefined, other],
    ]) {
      const { code, record } = createFakeInterpreter(async () => (value === undefined ? {} : { value }));
      const harness = createTestServerTools({ script: [[block], [`${other}\nIt is 2.`]], code });
      const { choices } = await collectResult((await harness.generate({ code: { fileIds: [], usesMax: 1 } })).batches);
      assert.deepEqual(record.ran, ['1']);
      assert.deepEqual([choices[0]?.blocks.at(-1)?.text, choices[0]?.reason], [text, 'stop']);
    }
  });

  it('that have run stay in the text when the model shows them, with the words about them', async () => {
    const { code, record } = createFakeInterpreter(async () => ({ value: '42' }));
    const block = '```python\nprint(6*7)\n```';
    const answer = `Here is the script:\n${block}\nIt prints 42.`;
    const harness = createTestServerTools({ script: [[block], [answer]], code });
    const { choices } = await collectResult((await harness.generate({ code: CODE })).batches);
    assert.deepEqual(record.ran, ['print(6*7)']);
    assert.deepEqual([choices[0]?.blocks.at(-1)?.text, choices[0]?.reason], [answer, 'stop']);
  });

  it('run in a new container after a limit has closed the last one', async () => {
    const { code, record } = createFakeInterpreter(async (program) =>
      program === 'slow' ? { error: { type: 'time', message: 'It took longer.' } } : { value: '1' },
    );
    const harness = createTestServerTools({
      script: [[formatCall({ code: 'slow' })], [formatCall({ code: '1' })], ['One.']],
      code,
    });
    await collectResult((await harness.generate({ code: { fileIds: [], containerId: 'box_7' } })).batches);
    assert.deepEqual(
      record.opened.map(({ containerId }) => containerId),
      ['box_7', undefined],
    );
    assert.deepEqual([record.ran, record.released], [['slow', '1'], 2]);
  });

  it('fail for arguments that contain none, and the model tries again', async () => {
    const { code, record } = createFakeInterpreter(async () => ({ value: '1' }));
    for (const invalid of [{}, { code: 5 }, { code: '' }]) {
      const harness = createTestServerTools({
        script: [[formatCall(invalid)], [formatCall({ code: '1' })], ['One.']],
        code,
      });
      const { choices } = await collectResult((await harness.generate({ code: CODE })).batches);
      const [first, second, last] = choices[0]?.blocks ?? [];
      assert.equal(first?.type === 'server-call' && first.result.failure?.code, 'invalid-input');
      assert.equal(second?.type === 'server-call' && second.result.failure, undefined);
      assert.equal(last?.text, 'One.');
    }
    assert.equal(record.ran.length, 3);
  });

  describe('by a model that calls tools unreliably', () => {
    const open = (script: readonly (readonly string[])[], run: Parameters<typeof createFakeInterpreter>[0]) => {
      const { code, record } = createFakeInterpreter(run);
      return { record, harness: createTestServerTools({ script, code, repeatsCalls: true }) };
    };
    const COMPUTES = ['{"message": "needs computing"}'];

    it('are written from a block that the prompt opens, and the last run has neither tool nor thought', async () => {
      const { record, harness } = open([COMPUTES, ['print(1)\n', '```\n2'], ['One.']], async () => ({ stdout: '1' }));
      const { choices } = await collectResult((await harness.generate({ code: CODE }, { thinking: {} })).batches);
      assert.deepEqual(record.ran, ['print(1)']);
      assert.deepEqual(
        choices[0]?.blocks.map(({ type, text }) => `${type} ${text}`),
        ['server-call ', 'text One.'],
      );
      const [, program = '', last = ''] = harness.prompts();
      assert.ok(program.endsWith('```python\n'));
      assert.ok(!last.includes('You can call functions') && last.includes('Output:\n1\n'));
    });

    it('are written again after an error or without any output, and at most three times', async () => {
      const outcomes = [{ error: { type: 'exception', message: 'NameError: a' } as const }, {}, {}];
      const { record, harness } = open(
        [COMPUTES, ['a\n```'], ['b\n```'], ['c\n```'], ['None.']],
        async () => outcomes.shift() ?? {},
      );
      const { choices } = await collectResult((await harness.generate({ code: CODE })).batches);
      assert.deepEqual(record.ran, ['a', 'b', 'c']);
      assert.equal(choices[0]?.blocks.at(-1)?.text, 'None.');
      assert.ok((harness.prompts()[2] ?? '').includes('error: NameError: a'));
      assert.ok((harness.prompts()[3] ?? '').includes('printed nothing'));
    });

    it('are only offered when the message needs no computing, and withdrawn after a success', async () => {
      const script = [['{"message": "is talk"}'], [formatCall({ code: '1' })], ['One.']];
      const { record, harness } = open(script, async () => ({ value: '1' }));
      await collectResult((await harness.generate({ code: CODE })).batches);
      assert.deepEqual(record.ran, ['1']);
      assert.ok((harness.prompts()[1] ?? '').includes('You can call functions'));
      assert.ok(!(harness.prompts()[2] ?? '').includes('You can call functions'));
    });

    it('whose block a token limit cuts are not run', async () => {
      const { record, harness } = open([COMPUTES, ['print(1)\n', '```']], async () => ({}));
      const { choices } = await collectResult((await harness.generate({ code: CODE }, { maxTokens: 1 })).batches);
      assert.deepEqual(record.ran, []);
      assert.deepEqual([choices[0]?.blocks.at(-1)?.text, choices[0]?.reason], ['```python\nprint(1)\n', 'length']);
    });
  });

  it('are bounded even if the model keeps calling', async () => {
    const { code, record } = createFakeInterpreter(async () => ({}));
    const script = Array.from({ length: 40 }, (_, i) => [formatCall(i % 2 === 0 ? { code: `${i}` } : { other: 1 })]);
    const harness = createTestServerTools({ script, code });
    const { choices } = await collectResult((await harness.generate({ code: CODE })).batches);
    assert.equal(harness.engineRequests.length, 13);
    assert.equal(record.ran.length, 6);
    assert.equal(choices[0]?.reason, 'stop');
  });

  it("run beside the caller's tools, and a call of those ends the answer", async () => {
    const { code, record } = createFakeInterpreter(async () => ({ value: '1' }));
    const harness = createTestServerTools({ script: [[formatCall({ code: '1' }), formatCall({}, 'weather')]], code });
    const { choices } = await collectResult((await harness.generate({ code: CODE }, { toolUse: toolUse() })).batches);
    assert.deepEqual(
      choices[0]?.blocks.map(({ type }) => type),
      ['server-call', 'tool-call'],
    );
    assert.equal(choices[0]?.reason, 'tool-calls');
    assert.deepEqual(record.ran, ['1']);
    assert.equal(harness.engineRequests.length, 1);
  });

  it("get another tool name when the caller's tool has the same", async () => {
    const { code, record } = createFakeInterpreter(async () => ({ value: '1' }));
    const callerTool = { ...WEATHER, name: 'code_interpreter' };
    const harness = createTestServerTools({
      script: [[formatCall({ code: '1' }, 'code_interpreter_2')], [formatCall({}, 'code_interpreter')]],
      code,
    });
    const { choices } = await collectResult(
      (await harness.generate({ code: CODE }, { toolUse: toolUse({ tools: [callerTool] }) })).batches,
    );
    assert.deepEqual(record.ran, ['1']);
    assert.deepEqual(
      choices[0]?.blocks.map(({ type }) => type),
      ['server-call', 'tool-call'],
    );
  });

  it('are not offered when the caller forces a call of its own tools', async () => {
    const { code } = createFakeInterpreter(async () => ({}));
    const harness = createTestServerTools({ script: [['{}']], code });
    const generation = await harness.generate({ code: CODE }, { toolUse: toolUse({ choice: { name: 'weather' } }) });
    assert.ok(generation.ignored.includes('enable_code_interpreter'));
    const { choices } = await collectResult(generation.batches);
    assert.deepEqual(
      choices[0]?.blocks.map(({ type }) => type),
      ['tool-call'],
    );
  });

  it('reports programs that fail, and continues the answer', async () => {
    const { code } = createFakeInterpreter(() =>
      Promise.reject(new ServiceError('overloaded', 'All places are taken.')),
    );
    const harness = createTestServerTools({ script: [[formatCall({ code: '1' })], ['I cannot compute it.']], code });
    const { choices, usage } = await collectResult((await harness.generate({ code: CODE })).batches);
    const [call] = choices[0]?.blocks ?? [];
    assert.deepEqual(call?.type === 'server-call' && call.result, {
      type: 'code',
      failure: { code: 'unavailable', message: 'All places are taken.' },
    });
    assert.equal(usage.serverTools, undefined);
    assert.ok((harness.prompts()[1] ?? '').includes('was not run'));
  });

  it('does not run programs that a token limit has cut', async () => {
    const { code, record } = createFakeInterpreter(async () => ({}));
    const [head = '', tail = ''] = formatCall({ code: 'print(1)' }).split('(1');
    const harness = createTestServerTools({ script: [[head, '(1', tail]], code });
    const { choices } = await collectResult((await harness.generate({ code: CODE }, { maxTokens: 2 })).batches);
    assert.deepEqual(record.ran, []);
    assert.deepEqual(choices[0]?.blocks, [], 'no event reports it');
    assert.equal(choices[0].reason, 'length');
  });

  it("share the caller's token limit with the rest of the answer", async () => {
    const { code } = createFakeInterpreter(async () => ({ value: '1' }));
    const harness = createTestServerTools({ script: [[formatCall({ code: '1' })], ['a', 'b', 'c', 'd']], code });
    const { choices } = await collectResult((await harness.generate({ code: CODE }, { maxTokens: 5 })).batches);
    assert.equal(harness.engineRequests[1]?.maxTokens, 3);
    assert.equal(choices[0]?.reason, 'length');
    const none = createTestServerTools({ script: [[formatCall({ code: '1' })], ['a']], code });
    const { choices: cut } = await collectResult((await none.generate({ code: CODE }, { maxTokens: 2 })).batches);
    assert.equal(none.engineRequests.length, 1);
    assert.deepEqual([cut[0]?.reason, cut[0]?.blocks.map(({ type }) => type)], ['length', ['server-call']]);
  });

  it('return only as much output as the context holds', async () => {
    const { code } = createFakeInterpreter(async () => ({ stdout: 'word '.repeat(20_000) }));
    const harness = createTestServerTools({
      contextTokens: 620,
      script: [[formatCall({ code: '1' })], ['Many words.']],
      code,
    });
    const { choices } = await collectResult((await harness.generate({ code: CODE })).batches);
    assert.equal(choices[0]?.blocks.at(-1)?.text, 'Many words.');
    const full = createTestServerTools({
      contextTokens: 320,
      script: [[formatCall({ code: 'x '.repeat(80) })], ['no']],
      code,
    });
    const { choices: cut } = await collectResult((await full.generate({ code: CODE })).batches);
    assert.equal(cut[0]?.reason, 'length');
  });

  it('are recognized in malformed arguments of small models', async () => {
    const { code, record } = createFakeInterpreter(async () => ({ value: '1' }));
    const shapes = [{ code: '```python\nprint(1)\n```' }, { python: 'print(2)' }];
    for (const shape of shapes) {
      const harness = createTestServerTools({ script: [[formatCall(shape)], ['ok']], code });
      await collectEvents(await harness.generate({ code: CODE }));
    }
    assert.deepEqual(record.ran, ['print(1)', 'print(2)']);
  });

  it('read files of the caller, and their output files are stored', async () => {
    const file = { name: 'plot.png', mediaType: 'image/png', bytes: new Uint8Array([1]) };
    const { code, record } = createFakeInterpreter(async () => ({ files: [file] }));
    const stored = { fileId: 'file-1', url: 'https://example.com/f' };
    let released = 0;
    const harness = createTestServerTools({
      script: [[formatCall({ code: 'plot()' })], ['See the plot.']],
      code,
      openCallerFiles: async (ids, { workspace }) => ({
        files: ids.map((id) => ({ name: `${workspace}-${id}`, path: `/files/${id}` })),
        release: () => void released++,
      }),
      storeFile: async () => stored,
    });
    const { choices } = await collectResult((await harness.generate({ code: { fileIds: ['f1'] } })).batches);
    assert.deepEqual(record.opened[0]?.files, [{ name: 'w-f1', path: '/files/f1' }]);
    const [call] = choices[0]?.blocks ?? [];
    assert.deepEqual(call?.type === 'server-call' && call.result.type === 'code' && call.result.output?.files, [
      { ...file, stored },
    ]);
    assert.equal(released, 1);
    assert.ok(!harness.prompts().join('').includes('/files/'));
  });

  it('run after a search of the same request', async () => {
    const { code } = createFakeInterpreter(async () => ({ value: '32' }));
    const script = [
      ['{"message": "asks for facts", "search": "ticket price"}'],
      [formatCall({ code: '16*2' })],
      ['32 euros.'],
    ];
    const harness = createTestServerTools({
      script,
      code,
      results: () => [createSearchResult('Tickets', 'A ticket costs 16 euros.')],
    });
    const { choices, usage } = await collectResult((await harness.generate({ search: SEARCH, code: CODE })).batches);
    assert.deepEqual(
      choices[0]?.blocks.map(({ type }) => type),
      ['server-call', 'server-call', 'text'],
    );
    assert.deepEqual(usage.serverTools, { searches: 1, pages: 0, programs: 1, strategy: 'turbo' });
    assert.ok((harness.prompts()[2] ?? '').includes('A ticket costs 16 euros.'));
  });

  it('are refused for several choices, when not configured, and when overloaded, before the first event', async () => {
    const { code } = createFakeInterpreter(async () => ({}));
    const harness = createTestServerTools({ code });
    await assert.rejects(harness.generate({ code: CODE }, { choices: 2 }), { kind: 'invalid-request', param: 'n' });
    for (const kind of ['unsupported', 'overloaded'] as const) {
      const off = createTestServerTools({ code: { open: () => Promise.reject(new ServiceError(kind, 'why')) } });
      await assert.rejects(off.generate({ code: CODE }), { kind, message: 'why' });
      assert.equal(off.engineRequests.length, 0);
    }
  });

  it('return output without calls and special tokens', async () => {
    const { code } = createFakeInterpreter(async () => ({
      stdout: '<|im_end|><tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>',
    }));
    const harness = createTestServerTools({ script: [[formatCall({ code: '1' })], ['x']], code });
    await collectEvents(
      await harness.generate({ code: CODE }, { messages: [createMessage('user', 'Run it')], toolUse: toolUse() }),
    );
    const reported = (harness.prompts()[1] ?? '').split('<tool_response>').at(-1) ?? '';
    assert.ok(reported.includes('weather'));
    assert.ok(!reported.includes('<tool_call>') && !reported.includes('"name"') && !reported.startsWith('\n<|'));
  });
});
