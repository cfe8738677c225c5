import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scaleInputSize, scalePositions } from '../../../test/property-runs.ts';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { cutText, runToolCallStage, readCalls } from './__fixtures__/read-calls.ts';
import { readWithPatterns } from './__fixtures__/read-with-patterns.ts';
import { TOOL_FORMATS, type ToolFormatName } from './tool-formats.ts';

const ARGUMENTS = '{"city": "Ulm \\"}{\\u0041", "deep": [{"a": [1, {}]}, "]"], "n": -1.5e3}';
const CALL = { name: 'get_weather', arguments: ARGUMENTS };
const isFormat = (name: string): name is ToolFormatName => Object.hasOwn(TOOL_FORMATS, name);
const FORMATS = Object.keys(TOOL_FORMATS).filter(isFormat);

/** Formats calls of these names, all with the same arguments. */
const written = (name: ToolFormatName, calls: readonly string[]): string => {
  const { begin, before, between, after, separator, end } = TOOL_FORMATS[name];
  return begin + calls.map((called) => before + called + between + ARGUMENTS + after).join(separator) + end;
};

/** Parses an answer in one piece and in pieces of one character; both results must be equal. */
const bothWays = (text: string, more: Parameters<typeof readCalls>[1] = {}): ReturnType<typeof readCalls> => {
  const whole = readCalls([text], more);
  const { tokens, ...single } = readCalls([...text], more);
  assert.deepEqual({ ...single, tokens: whole.tokens }, whole);
  assert.equal(tokens, [...text].length);
  return whole;
};

describe('createToolCallStage', () => {
  for (const format of FORMATS)
    it(`parses one or several calls in ${format}, with text before and after`, () => {
      assert.deepEqual(bothWays(written(format, ['get_weather']), { format: TOOL_FORMATS[format] }).calls, [CALL]);
      const several = bothWays(`Let me see.\n\n${written(format, ['get_weather', 'f', 'foo'])}\nDone.`, {
        format: TOOL_FORMATS[format],
      });
      assert.deepEqual(several.calls, [CALL, { ...CALL, name: 'f' }, { ...CALL, name: 'foo' }]);
      assert.deepEqual(several.content, ['Let me see.', '', '', 'Done.']);
      assert.equal(several.reason, 'tool-calls');
    });

  for (const [what, text] of Object.entries({
    'bare JSON': `{"name": "get_weather", "arguments": ${ARGUMENTS}}`,
    'bare JSON on a line of its own': `{"name": "get_weather", "parameters": ${ARGUMENTS}}\n`,
    'a fence': `\`\`\`\n{"name": "get_weather", "arguments": ${ARGUMENTS}}\n\`\`\``,
    'a json fence, indented': `\`\`\`json\n{\n  "name": "get_weather",\n  "arguments": ${ARGUMENTS}\n}\n\`\`\``,
    'a list in a fence': `\`\`\`json\n[\n{"name": "get_weather", "arguments": ${ARGUMENTS}}\n]\n\`\`\``,
    'a bare list': `[{"name":"get_weather","arguments":${ARGUMENTS}}]`,
    'an object with its type first': `{"type": "function", "name": "get_weather", "parameters": ${ARGUMENTS}}`,
    'tags of other families': `<tools>\n{"name": "get_weather", "arguments": ${ARGUMENTS}}\n</tools>`,
    'a list in tags': `<tool_calls>[{"name": "get_weather", "arguments": ${ARGUMENTS}}]</tool_calls>`,
    'a list between special tokens': `<|tool_call_start|>[{"name": "get_weather", "arguments": ${ARGUMENTS}}]<|tool_call_end|>`,
    'a list after a word': `functools[{"name": "get_weather", "arguments": ${ARGUMENTS}}]`,
    'a tag with the name': `<function=get_weather>${ARGUMENTS}</function>`,
    'a tag with the name as an attribute': `<function name="get_weather">\n${ARGUMENTS}\n</function>`,
    'an object with an id': `{"id": "call_1", "name": "get_weather", "arguments": ${ARGUMENTS}, "more": {"a": "}"}}`,
  }))
    it(`parses calls in every format as small models write them: ${what}`, () => {
      for (const format of FORMATS)
        for (const before of ['', 'Sure:\n\n']) {
          const { content, calls, reason } = bothWays(before + text, { format: TOOL_FORMATS[format] });
          assert.deepEqual(
            { content, calls, reason },
            { content: [before.trim(), ''], calls: [CALL], reason: 'tool-calls' },
          );
        }
    });

  it('parses an object in the middle of a line only in formats without marks, and only with arguments', () => {
    const text = `Here: {"name": "get_weather", "arguments": ${ARGUMENTS}} Done.`;
    for (const format of FORMATS) {
      const { calls, content } = bothWays(text, { format: TOOL_FORMATS[format] });
      if (format === 'json' || format === 'llama3')
        assert.deepEqual([calls, content], [[CALL], ['Here:', 'Done.']], format);
      else assert.deepEqual([calls, content], [[], [text]], format);
      assert.deepEqual(bothWays('Here: {"name": "f"} Done.', { format: TOOL_FORMATS[format] }).calls, []);
    }
  });

  it('parses consecutive calls in one list, one fence, one pair of marks, or on separate lines', () => {
    const one = '{"name": "f", "arguments": {"a": 1}}';
    const other = '{"name": "foo", "arguments": {}}';
    const expected = [
      { name: 'f', arguments: '{"a": 1}' },
      { name: 'foo', arguments: '{}' },
    ];
    for (const text of [
      `[${one}, ${other}]`,
      `${one}\n${other}`,
      `${one}; ${other}`,
      `\`\`\`json\n${one}\n${other}\n\`\`\``,
      `\`\`\`json\n[${one},\n${other}]\n\`\`\``,
      `<tool_call>\n${one}\n${other}\n</tool_call>`,
      `<tool_call>${one}</tool_call><tool_call>[${other}]</tool_call>`,
      `<tool_call>\n${one}\n<tool_call>\n${other}`,
      `${one}\n\`\`\`\n${other}\n\`\`\``,
    ]) {
      const { content, calls } = bothWays(text);
      assert.deepEqual(calls, expected, text);
      assert.equal(content.join(''), '', text);
    }
    assert.deepEqual(bothWays(`<|python_tag|>${one}; ${other}`, { format: TOOL_FORMATS['llama3'] }).calls, expected);
    assert.deepEqual(bothWays(`[TOOL_CALLS] [${one}, ${other}]`, { format: TOOL_FORMATS['mistral'] }).calls, expected);
  });

  it('emits {} for arguments that are absent, null or empty, and others unchanged', () => {
    const getArguments = (text: string): string | undefined => bothWays(text).calls[0]?.arguments;
    for (const nothing of ['', ', "arguments": null', ', "arguments": ""', ', "arguments": ', ', "parameters": {}'])
      assert.equal(getArguments(`<tool_call>{"name": "f"${nothing}}</tool_call>`), '{}', nothing);
    assert.equal(getArguments('{"name": "f"}'), '{}');
    assert.equal(getArguments('{"name": "f", "arguments": "{\\"a\\": 1}"}'), '"{\\"a\\": 1}"');
    assert.equal(getArguments('{"name": "f", "arguments": [1]}'), '[1]');
    assert.equal(getArguments('{"name": "f", "arguments": 12}'), '12');
    assert.equal(getArguments('<tool_call>{"name": "f" "x": [{}], "arguments": {"a": 1}}'), '{"a": 1}');
    assert.equal(bothWays('[TOOL_CALLS]f[ARGS]', { format: TOOL_FORMATS['mistral-args'] }).calls[0]?.arguments, '{}');
  });

  it('parses any name between the marks of the format, because its client answers calls of unknown tools', () => {
    const expected = { content: ['', ''], calls: [{ name: 'nope', arguments: '{"a": 1}' }], reason: 'tool-calls' };
    for (const [format, text] of [
      ['hermes', '<tool_call>\n{"name": "nope", "arguments": {"a": 1}}\n</tool_call>'],
      ['hermes', '<tool_call>\n{"arguments": {"a": 1}, "name": "nope"}\n</tool_call>'],
      ['llama3', '<|python_tag|>{"name": "nope", "parameters": {"a": 1}}'],
      ['mistral', '[TOOL_CALLS][{"name": "nope", "arguments": {"a": 1}}]'],
      ['mistral-args', '[TOOL_CALLS]nope[ARGS]{"a": 1}'],
      ['deepseek-v31', '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>nope<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>'],
    ] as const) {
      const { content, calls, reason } = bothWays(text, { format: TOOL_FORMATS[format] });
      assert.deepEqual({ content, calls, reason }, expected, text);
    }
  });

  it('parses only declared names elsewhere and leaves other markup as text', () => {
    for (const text of [
      '```json\n{"name": "fo", "arguments": {}}\n```',
      '[{"name": "f2", "arguments": {}}]',
      '{"name": "f", "age": 3}',
      '{"name": "f", "arguments"}',
      'Call {"name": "f", "arguments": {}} now',
      '<tool_call>',
      ' \n<tool_call>\n',
      '<tool_call>\n{"name": "get_wea',
      '```json\n{"name": "f"',
      '</tool_call> [TOOL_CALLS] ``` { "name" ',
      '  ',
      '<<tool_call>>{"name" : "F"}',
    ]) {
      const { content, calls, reason } = bothWays(text);
      assert.deepEqual({ content, calls, reason }, { content: [text], calls: [], reason: 'stop' });
    }
    assert.deepEqual(bothWays('{"name": "nope", "arguments": {}}\n{"name": "f", "arguments": {}}').content, [
      '{"name": "nope", "arguments": {}}',
      '',
    ]);
    assert.deepEqual(bothWays('<tool_call><tool_call>{"name": "f"}').content, ['<tool_call>', '']);
  });

  it('leaves text unchanged up to the blanks around calls', () => {
    const { content } = bothWays(' A \n <tool_call>{"name": "f"}</tool_call> \n b <x> \n');
    assert.deepEqual(content, [' A', 'b <x> \n']);
    assert.deepEqual(bothWays('\n\n{"name": "f"}\n').content, ['', '']);
  });

  it('emits a call as soon as its name is known and its arguments as they arrive', () => {
    const pieces = [
      'Hm',
      '. <',
      'tool_call>\n{"name": "f',
      '"',
      ', "arguments": {"a',
      '": "x',
      'y"}',
      '}',
      '\n</tool_call>',
    ];
    const texts = runToolCallStage(pieces).map((event) =>
      event.type === 'text' ? event.text : event.type === 'tool-arguments' ? `+${event.text}` : event.type,
    );
    assert.deepEqual(
      texts.filter((text) => text !== ''),
      ['Hm', '.', 'tool-call', '+{"a', '+": "x', '+y"}', 'choice-end'],
    );
    const open = runToolCallStage(['a', ' ', '{', 'b', '`', '`', 'c', '<tool', 's>', 'd']).flatMap((event) =>
      event.type === 'text' ? [event.text] : [],
    );
    assert.deepEqual(open, ['a', ' ', '{', 'b', '`', '`', 'c', '<tool', 's>', 'd']);
  });

  it('gives each call an id and consecutive indexes', () => {
    const calls = runToolCallStage([written('hermes', ['f', 'foo'])]).filter(({ type }) => type === 'tool-call');
    assert.deepEqual(calls, [
      { type: 'tool-call', choice: 0, index: 0, id: 'call_0', name: 'f' },
      { type: 'tool-call', choice: 0, index: 1, id: 'call_1', name: 'foo' },
    ]);
  });

  it('drops everything after the first call unless parallel calls are allowed', () => {
    const { content, calls } = bothWays(`${written('hermes', ['f', 'foo'])} and on`, { isParallel: false });
    assert.deepEqual(calls, [{ name: 'f', arguments: ARGUMENTS }]);
    assert.deepEqual(content, ['', '']);
  });

  it('parses a call that starts in the prompt', () => {
    const named = '<tool_call>\n{"name": "foo", "arguments": ';
    assert.deepEqual(readCalls(['{"a"', ': 1}'], { preface: named, isParallel: false }), {
      content: ['', ''],
      calls: [{ name: 'foo', arguments: '{"a": 1}' }],
      reason: 'tool-calls',
      tokens: 2,
    });
    const openingText = '<tool_call>\n{"name": "';
    assert.deepEqual(bothWays('foo", "arguments": {}}\n</tool_call> ok', { preface: openingText }).content, ['', 'ok']);
    assert.deepEqual(bothWays('nope 1", "arguments": {}}', { preface: openingText }).content, [
      'nope 1", "arguments": {}}',
    ]);
    const [first] = runToolCallStage([{ type: 'reasoning', choice: 0, text: 'hm', tokens: 1 }, '{}'], {
      preface: named,
    });
    assert.equal(first?.type, 'reasoning');
  });
});

describe('createToolCallStage for an answer that ends early', () => {
  it('emits incomplete arguments and keeps the reason when a token limit cut them', () => {
    const cutAt = (text: string): ReturnType<typeof readCalls> => bothWays(text, { reason: 'length' });
    const before = '<tool_call>\n{"name": "f"';
    for (const [text, there] of [
      [before, ''],
      [`${before}, "arguments": `, ''],
      [`${before}, "arguments": {"a": "x`, '{"a": "x'],
      [`${before}, "arguments": tru`, 'tru'],
      [`${before}, "arguments": {}}</tool_call>{"name": "foo", "arguments": {"b`, '{"b'],
    ] as const) {
      const { calls, reason } = cutAt(text);
      assert.equal(calls.at(-1)?.arguments, there);
      assert.equal(reason, 'length');
    }
    assert.deepEqual(cutAt('{"name": "f"').content, ['{"name": "f"'], 'no call yet');
    assert.equal(cutAt('<tool_call>\n{"na').content.join(''), '', 'never an answer');
    const parsed = readCalls(['get_wea'], { preface: '<tool_call>\n{"name": "', reason: 'length' });
    assert.deepEqual([parsed.content.join(''), parsed.calls], ['', []], 'a forced call that did not come to its name');
  });

  it('keeps complete calls when a token limit cut the text after them', () => {
    for (const text of [
      `${written('hermes', ['f'])} and`,
      '{"name": "f", "arguments": {}',
      '{"name": "f", "arguments": {}}\n``',
    ])
      assert.equal(bothWays(text, { reason: 'length' }).reason, 'tool-calls', text);
  });

  it('completes a call that the model itself ended early', () => {
    const { calls, reason } = bothWays('<tool_call>{"name": "f", "arguments": {"a": 1');
    assert.deepEqual({ calls, reason }, { calls: [{ name: 'f', arguments: '{"a": 1' }], reason: 'tool-calls' });
  });

  it('loses no text and emits no markup wherever the answer is cut', () => {
    for (const format of FORMATS) {
      const text = `So:\n${written(format, ['get_weather', 'f'])}`;
      const whole = readCalls([text], { format: TOOL_FORMATS[format] });
      for (const at of [...scalePositions(text.length), text.length]) {
        const { content, calls } = readCalls([text.slice(0, at)], { format: TOOL_FORMATS[format], reason: 'length' });
        // The calls are those of the whole answer; the last one may be incomplete.
        for (const [i, call] of calls.entries()) {
          assert.equal(call.name, whole.calls[i]?.name);
          const all = whole.calls[i]?.arguments ?? '';
          assert.ok(i === calls.length - 1 ? all.startsWith(call.arguments) : all === call.arguments);
        }
        // The text is that of the answer, followed by markup that was not a call yet; marks of calls are no text.
        const output = content.join('');
        const isMarked = TOOL_FORMATS[format].openings.some((opening) => text.slice(0, at).includes(opening));
        if (calls.length === 0) assert.equal(output, isMarked ? 'So:' : text.slice(0, at));
        else
          assert.ok(
            output.startsWith('So:') && text.slice(0, at).endsWith(output.slice(3)),
            `${format} ${at}: ${output}`,
          );
      }
    }
  });
});

describe('createToolCallStage with log probabilities', () => {
  const logprobs = (token: string) => [{ token, bytes: [...Buffer.from(token)], logprob: -1, top: [] }];
  const listEvents = (...texts: readonly string[]) =>
    runToolCallStage(
      texts.map((text) => ({ type: 'text', choice: 0, text, tokens: 1, phase: 0, logprobs: logprobs(text) })),
    );

  it('emits them with text that was held back or is partly a call', () => {
    const events = listEvents('<tool', '_call>', 'x', 'y <tool_call>{', '"name": "f"}</tool_call> z');
    const outputText = events.flatMap((event) =>
      event.type === 'text' && event.logprobs ? [[event.text, event.logprobs[0]?.token]] : [],
    );
    assert.deepEqual(outputText, [
      ['<tool', '<tool'],
      ['_call>', '_call>'],
      ['x', 'x'],
      ['y', 'y <tool_call>{'],
      ['z', '"name": "f"}</tool_call> z'],
    ]);
  });

  it('keeps those of a token without text in order', () => {
    const events = listEvents('a', ' ', '', 'b', '');
    const tokens = events.flatMap((event) => (event.type === 'text' ? [event.logprobs?.[0]?.token] : []));
    assert.deepEqual(tokens, ['a', ' ', '', 'b', '']);
  });
});

const PIECES = [
  ['<tool_call>', '</tool_call>', '[TOOL_CALLS]', '[ARGS]', '<|python_tag|>', '```', '```json\n', '<｜tool▁sep｜>'],
  ['<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>', 'function', '<｜tool▁call▁end｜>', '<｜tool▁calls▁end｜>'],
  ['{"name": "f', '{"name": "foo"', '{ "name" : "nope"', '"type": "function", ', '"id": "a-1", ', '"name": "foo", '],
  ['"arguments": ', ', "arguments": {}', ', "parameters" :', '{"a": "}\\"{<"}', '[1, {}]', '"s"', 'null', '"'],
  [
    '{',
    '}',
    '[',
    ']',
    ',',
    ';',
    ':',
    '\n',
    ' ',
    'f',
    'foo',
    'Hello',
    '<',
    '`',
    '``',
    '\\',
    '<tool',
    '😀',
    '\n{',
    '\n[',
  ],
  ['<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>', '[TOOL_CALLS]foo[ARGS]{"b": []}'],
  ['\n{"name": "foo", "arguments": {}}', '```json\n[{"name": "f"}]\n```', '[TOOL_CALLS] [{"name": "f"}, '],
].flat();

/** Random sequences of calls as models write them, with parts missing, doubled or misplaced. */
const member = fc.constantFrom(
  '"arguments": {"a": "}"}',
  '"parameters":[{}]',
  '"arguments" : null',
  '"id": "a"',
  '"type": "function"',
  '"x": "\\"{"',
);
const object = fc
  .tuple(
    fc.constantFrom('{', '{', '{ ', ''),
    fc.constantFrom('', '', '"type": "function", ', '"id":"1",', '"x": 1, '),
    fc.constantFrom('f', 'foo', 'get_weather', 'nope'),
    fc.array(member, { maxLength: 3 }),
    fc.constantFrom('}', '}', '\n}', ''),
  )
  .map(
    ([begin, earlier, name, members, end]) => `${begin}${earlier}"name": "${[`${name}"`, ...members].join(', ')}${end}`,
  );
const separator = fc.constantFrom(', ', ';', '\n', '');
const callsInARow = fc
  .tuple(
    fc.constantFrom('', '\n', '<tool_call>\n', '[TOOL_CALLS]', '```json\n', '```JSON ', '```', '<|python_tag|>'),
    fc.boolean(),
    fc.array(fc.tuple(object, separator), { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', ' ]', ']'),
    fc.constantFrom('', '\n</tool_call>', '\n```', '``', ' '),
  )
  .map(
    ([open, isList, list, end, close]) => open + (isList ? '[' : '') + list.flat().slice(0, -1).join('') + end + close,
  );

describe('createToolCallStage with random answers', () => {
  const answer = fc
    .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...PIECES) }, { weight: 1, arbitrary: callsInARow }), {
      maxLength: 10,
    })
    .map((pieces) => pieces.join(''));

  it('emits the same events however the answer is split and counts every token', () => {
    fc.assert(
      fc.property(
        answer,
        fc.array(fc.nat()),
        fc.constantFrom(...FORMATS),
        fc.boolean(),
        (text, places, format, isParallel) => {
          const whole = readCalls([text], { format: TOOL_FORMATS[format], isParallel });
          const pieces = cutText(text, places);
          assert.deepEqual(readCalls(pieces, { format: TOOL_FORMATS[format], isParallel }), {
            ...whole,
            tokens: pieces.length,
          });
        },
      ),
      { numRuns: scalePropertyRuns(1_500) },
    );
  });

  it('leaves text unchanged when no tool is declared', () => {
    fc.assert(
      fc.property(answer, fc.array(fc.nat()), fc.constantFrom(...FORMATS), (text, places, format) => {
        const { content, calls } = readCalls(cutText(text, places), {
          format: TOOL_FORMATS[format],
          tools: [],
        });
        assert.deepEqual({ content, calls }, { content: [text], calls: [] });
      }),
      { numRuns: scalePropertyRuns(500) },
    );
  });

  it('agrees with a parser that sees the complete text', () => {
    fc.assert(
      fc.property(answer, fc.constantFrom(...FORMATS), (text, format) => {
        // The two differ in which of nested fences they drop after a call.
        fc.pre(!/```\s*<tool_call>\s*```/.test(text));
        const { content, calls } = readCalls([text], { format: TOOL_FORMATS[format] });
        assert.deepEqual({ content, calls }, readWithPatterns(text, TOOL_FORMATS[format], ['f', 'foo', 'get_weather']));
      }),
      { numRuns: scalePropertyRuns(2_000) },
    );
  });
});

describe('the running time of createToolCallStage', () => {
  const times = (length: number, text: string): string => text.repeat(Math.ceil(length / text.length));

  it('is linear in the answer, whatever it contains and however it is split', () => {
    const measureMs = (pieces: readonly string[]): number => {
      const before = process.threadCpuUsage();
      const { content } = readCalls(pieces);
      assert.equal(content.join('').length, pieces.join('').length);
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1000;
    };
    const hard = ['{', '\n{', '`', '```', ' ', '\n', '<tool_call>', '[', '{"name": "', '```json\n[ {"id": "', '\n{ \n'];
    hard.push('<tool_call>{"arguments": {');
    for (const text of hard) {
      const small = measureMs([...times(scaleInputSize(1 << 11), text)]);
      const large = measureMs([...times(scaleInputSize(1 << 15), text)]);
      // The text grows by a factor of 16; quadratic time would grow by 256.
      assert.ok(large < Math.max(small, 10) * 64, `${JSON.stringify(text)}: ${small} ms and ${large} ms`);
    }
    for (const text of ['{', '\n{', '`']) assert.ok(measureMs([times(scaleInputSize(1 << 18), text)]) < 2_000);
  });

  it('does not grow with the number of tools', () => {
    const names = Array.from({ length: 500 }, (_, i) => `tool_with_a_long_name_${i}`);
    const text = names.map((name) => `<tool_call>{"name": "${name}", "arguments": {}}</tool_call>`).join('');
    assert.equal(readCalls([...text], { tools: names.map((name) => ({ name, parameters: {} })) }).calls.length, 500);
  });
});
