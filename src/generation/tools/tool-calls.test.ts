import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cut, eventsOf, read } from './__fixtures__/read-calls.ts';
import { readWithPatterns } from './__fixtures__/read-with-patterns.ts';
import { TOOL_FORMATS } from './formats.ts';
import type { ToolFormatName } from './formats.ts';

const ARGUMENTS = '{"city": "Ulm \\"}{\\u0041", "deep": [{"a": [1, {}]}, "]"], "n": -1.5e3}';
const CALL = { name: 'get_weather', arguments: ARGUMENTS };
const isFormat = (name: string): name is ToolFormatName => Object.hasOwn(TOOL_FORMATS, name);
const FORMATS = Object.keys(TOOL_FORMATS).filter(isFormat);

/** As the format writes calls of these names, all with the same arguments. */
const written = (name: ToolFormatName, calls: readonly string[]): string => {
  const { begin, before, between, after, separator, end } = TOOL_FORMATS[name];
  return begin + calls.map((called) => before + called + between + ARGUMENTS + after).join(separator) + end;
};

/** The same answer in one piece and in pieces of one character. */
const bothWays = (text: string, more: Parameters<typeof read>[1] = {}): ReturnType<typeof read> => {
  const whole = read([text], more);
  const { tokens, ...single } = read([...text], more);
  assert.deepEqual({ ...single, tokens: whole.tokens }, whole);
  assert.equal(tokens, [...text].length);
  return whole;
};

describe('calls', () => {
  for (const format of FORMATS)
    it(`are read as ${format} writes them, one, several, and with text before and behind`, () => {
      assert.deepEqual(bothWays(written(format, ['get_weather']), { format }).calls, [CALL]);
      const several = bothWays(`Let me see.\n\n${written(format, ['get_weather', 'f', 'foo'])}\nDone.`, { format });
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
    'an object with an id': `{"id": "call_1", "name": "get_weather", "arguments": ${ARGUMENTS}, "more": {"a": "}"}}`,
  }))
    it(`are read in every format as small models write them: ${what}`, () => {
      for (const format of FORMATS)
        for (const before of ['', 'Sure:\n\n']) {
          const { content, calls, reason } = bothWays(before + text, { format });
          assert.deepEqual(
            { content, calls, reason },
            { content: [before.trim(), ''], calls: [CALL], reason: 'tool-calls' },
          );
        }
    });

  it('follow each other in one list, one fence, one pair of marks, or on lines of their own', () => {
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
    assert.deepEqual(bothWays(`<|python_tag|>${one}; ${other}`, { format: 'llama3' }).calls, expected);
    assert.deepEqual(bothWays(`[TOOL_CALLS] [${one}, ${other}]`, { format: 'mistral' }).calls, expected);
  });

  it('have {} for arguments that are absent or nothing, and what they have otherwise', () => {
    const argumentsOf = (text: string): string | undefined => bothWays(text).calls[0]?.arguments;
    for (const nothing of ['', ', "arguments": null', ', "arguments": ""', ', "arguments": ', ', "parameters": {}'])
      assert.equal(argumentsOf(`<tool_call>{"name": "f"${nothing}}</tool_call>`), '{}', nothing);
    assert.equal(argumentsOf('{"name": "f"}'), '{}');
    assert.equal(argumentsOf('{"name": "f", "arguments": "{\\"a\\": 1}"}'), '"{\\"a\\": 1}"');
    assert.equal(argumentsOf('{"name": "f", "arguments": [1]}'), '[1]');
    assert.equal(argumentsOf('{"name": "f", "arguments": 12}'), '12');
    assert.equal(argumentsOf('<tool_call>{"name": "f" "x": [{}], "arguments": {"a": 1}}'), '{"a": 1}');
    assert.equal(bothWays('[TOOL_CALLS]f[ARGS]', { format: 'mistral-args' }).calls[0]?.arguments, '{}');
  });

  it('are of declared names only; anything else stays text, exactly as it was written', () => {
    for (const text of [
      '<tool_call>\n{"name": "nope", "arguments": {}}\n</tool_call>',
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
      '{"arguments": {}, "name": "f"}',
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

  it('leave text as it is, up to the blanks around them', () => {
    const { content } = bothWays(' A \n <tool_call>{"name": "f"}</tool_call> \n b <x> \n');
    assert.deepEqual(content, [' A', 'b <x> \n']);
    assert.deepEqual(bothWays('\n\n{"name": "f"}\n').content, ['', '']);
  });

  it('are told as soon as their name is known, and their arguments as they come', () => {
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
    const texts = eventsOf(pieces).map((event) =>
      event.type === 'text' ? event.text : event.type === 'tool-arguments' ? `+${event.text}` : event.type,
    );
    assert.deepEqual(
      texts.filter((text) => text !== ''),
      ['Hm', '.', 'tool-call', '+{"a', '+": "x', '+y"}', 'choice-end'],
    );
    const open = eventsOf(['a', ' ', '{', 'b', '`', '`', 'c', '<tool', 's>', 'd']).flatMap((event) =>
      event.type === 'text' ? [event.text] : [],
    );
    assert.deepEqual(open, ['a', ' ', '{', 'b', '`', '`', 'c', '<tool', 's>', 'd']);
  });

  it('have an id each, and one index after the other', () => {
    const calls = eventsOf([written('hermes', ['f', 'foo'])]).filter(({ type }) => type === 'tool-call');
    assert.deepEqual(calls, [
      { type: 'tool-call', choice: 0, index: 0, id: 'call_0', name: 'f' },
      { type: 'tool-call', choice: 0, index: 1, id: 'call_1', name: 'foo' },
    ]);
  });

  it('that are not parallel are one at most, and nothing follows it', () => {
    const { content, calls } = bothWays(`${written('hermes', ['f', 'foo'])} and on`, { isParallel: false });
    assert.deepEqual(calls, [{ name: 'f', arguments: ARGUMENTS }]);
    assert.deepEqual(content, ['', '']);
  });

  it('may have begun in the prompt', () => {
    const named = '<tool_call>\n{"name": "foo", "arguments": ';
    assert.deepEqual(read(['{"a"', ': 1}'], { preface: named, isParallel: false }), {
      content: ['', ''],
      calls: [{ name: 'foo', arguments: '{"a": 1}' }],
      reason: 'tool-calls',
      tokens: 2,
    });
    const begun = '<tool_call>\n{"name": "';
    assert.deepEqual(bothWays('foo", "arguments": {}}\n</tool_call> ok', { preface: begun }).content, ['', 'ok']);
    assert.deepEqual(bothWays('nope", "arguments": {}}', { preface: begun }).content, ['nope", "arguments": {}}']);
    const [first] = eventsOf([{ type: 'reasoning', choice: 0, text: 'hm', tokens: 1 }, '{}'], { preface: named });
    assert.equal(first?.type, 'reasoning');
  });
});

describe('an answer with calls that ends early', () => {
  it('gives what there is of the arguments and keeps its reason when a limit cut them', () => {
    const cutAt = (text: string): ReturnType<typeof read> => bothWays(text, { reason: 'length' });
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
    const begun = read(['get_wea'], { preface: '<tool_call>\n{"name": "', reason: 'length' });
    assert.deepEqual([begun.content.join(''), begun.calls], ['', []], 'a forced call that did not come to its name');
  });

  it('has its calls when a limit cut what follows them', () => {
    for (const text of [
      `${written('hermes', ['f'])} and`,
      '{"name": "f", "arguments": {}',
      '{"name": "f", "arguments": {}}\n``',
    ])
      assert.equal(bothWays(text, { reason: 'length' }).reason, 'tool-calls', text);
  });

  it('is taken at its word when the model itself ends within a call', () => {
    const { calls, reason } = bothWays('<tool_call>{"name": "f", "arguments": {"a": 1');
    assert.deepEqual({ calls, reason }, { calls: [{ name: 'f', arguments: '{"a": 1' }], reason: 'tool-calls' });
  });

  it('loses and leaks nothing wherever it is cut', () => {
    for (const format of FORMATS) {
      const text = `So:\n${written(format, ['get_weather', 'f'])}`;
      const whole = read([text], { format });
      for (let at = 0; at <= text.length; at++) {
        const { content, calls } = read([text.slice(0, at)], { format, reason: 'length' });
        // Calls are those of the whole answer, the last one perhaps not to its end.
        for (const [i, call] of calls.entries()) {
          assert.equal(call.name, whole.calls[i]?.name);
          const all = whole.calls[i]?.arguments ?? '';
          assert.ok(i === calls.length - 1 ? all.startsWith(call.arguments) : all === call.arguments);
        }
        // Text is that of the answer, and behind it what was not a call yet, as it was written; marks of calls are no text.
        const said = content.join('');
        const isMarked = TOOL_FORMATS[format].openings.some((opening) => text.slice(0, at).includes(opening));
        if (calls.length === 0) assert.equal(said, isMarked ? 'So:' : text.slice(0, at));
        else assert.ok(said.startsWith('So:') && text.slice(0, at).endsWith(said.slice(3)), `${format} ${at}: ${said}`);
      }
    }
  });
});

describe('log probabilities and tokens', () => {
  const logprobs = (token: string) => [{ token, bytes: [...Buffer.from(token)], logprob: -1, top: [] }];
  const told = (...texts: readonly string[]) =>
    eventsOf(texts.map((text) => ({ type: 'text', choice: 0, text, tokens: 1, phase: 0, logprobs: logprobs(text) })));

  it('go with text that was held back, and with text that is partly a call', () => {
    const events = told('<tool', '_call>', 'x', 'y <tool_call>{', '"name": "f"}</tool_call> z');
    const said = events.flatMap((event) =>
      event.type === 'text' && event.logprobs ? [[event.text, event.logprobs[0]?.token]] : [],
    );
    assert.deepEqual(said, [
      ['<tool', '<tool'],
      ['_call>', '_call>'],
      ['x', 'x'],
      ['y', 'y <tool_call>{'],
      ['z', '"name": "f"}</tool_call> z'],
    ]);
  });

  it('of a token without text stay in order', () => {
    const events = told('a', ' ', '', 'b', '');
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

/** Calls in a row as models write them, each part now and then missing, double or out of place. */
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

describe('random answers', () => {
  const answer = fc
    .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...PIECES) }, { weight: 1, arbitrary: callsInARow }), {
      maxLength: 10,
    })
    .map((pieces) => pieces.join(''));

  it('are read alike in one piece and in any others, and no token is lost', () => {
    fc.assert(
      fc.property(
        answer,
        fc.array(fc.nat()),
        fc.constantFrom(...FORMATS),
        fc.boolean(),
        (text, places, format, isParallel) => {
          const whole = read([text], { format, isParallel });
          const pieces = cut(text, places);
          assert.deepEqual(read(pieces, { format, isParallel }), { ...whole, tokens: pieces.length });
        },
      ),
      { numRuns: 1_500 },
    );
  });

  it('come out as they are where nothing is declared', () => {
    fc.assert(
      fc.property(answer, fc.array(fc.nat()), fc.constantFrom(...FORMATS), (text, places, format) => {
        const { content, calls } = read(cut(text, places), { format, names: ['other'] });
        assert.deepEqual({ content, calls }, { content: [text], calls: [] });
      }),
      { numRuns: 500 },
    );
  });

  it('are read as one reads them with all of the text at hand', () => {
    fc.assert(
      fc.property(answer, fc.constantFrom(...FORMATS), (text, format) => {
        const { content, calls } = read([text], { format });
        assert.deepEqual({ content, calls }, readWithPatterns(text, TOOL_FORMATS[format], ['f', 'foo', 'get_weather']));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the work', () => {
  const times = (length: number, text: string): string => text.repeat(Math.ceil(length / text.length));

  it('is linear in the answer, whatever it holds and however it comes', () => {
    const msOf = (pieces: readonly string[]): number => {
      const before = process.threadCpuUsage();
      const { content } = read(pieces);
      assert.equal(content.join('').length, pieces.join('').length);
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1000;
    };
    const hard = ['{', '\n{', '`', '```', ' ', '\n', '<tool_call>', '[', '{"name": "', '```json\n[ {"id": "', '\n{ \n'];
    for (const text of hard) {
      const small = msOf([...times(1 << 13, text)]);
      const large = msOf([...times(1 << 17, text)]);
      // Sixteen times the text; a square would be 256 times the work.
      assert.ok(large < Math.max(small, 10) * 64, `${JSON.stringify(text)}: ${small} ms and ${large} ms`);
    }
    for (const text of ['{', '\n{', '`']) assert.ok(msOf([times(1 << 20, text)]) < 8_000);
  });

  it('does not grow with the number of tools', () => {
    const names = Array.from({ length: 500 }, (_, i) => `tool_with_a_long_name_${i}`);
    const text = names.map((name) => `<tool_call>{"name": "${name}", "arguments": {}}</tool_call>`).join('');
    assert.equal(read([...text], { names }).calls.length, 500);
  });
});
