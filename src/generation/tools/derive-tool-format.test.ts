import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePositions, scalePropertyRuns } from '../../../test/property-runs.ts';
import { createChatTemplate } from '../chat-template.ts';
import { CALL_TEMPLATES } from './__fixtures__/call-templates.ts';
import { cutText, readCalls } from './__fixtures__/read-calls.ts';
import { USUAL_THOUGHTS } from '../thoughts/thought-format.ts';
import { deriveToolFormat, type DeriveFormatOptions, type DerivedFormat } from './derive-tool-format.ts';
import { ID_PLACE } from './tool-formats.ts';

const SPECIAL_TOKENS = ['<|im_start|>', '<|im_end|>', '<tool_call>', '</tool_call>', '<arg_key>', '[ARGS]', '<|"|>'];
const PARAMETERS = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    code: { type: 'string' },
    days: { type: 'integer' },
    deep: { type: 'object' },
    is_on: { type: 'boolean' },
  },
};
const TOOLS = ['get_weather', 'stop'].map((name) => ({ name, parameters: PARAMETERS }));

const render = (source: string) => {
  const template = createChatTemplate({ source, specialTokens: SPECIAL_TOKENS, bosToken: '', eosToken: '<|im_end|>' });
  return (variables: Readonly<Record<string, unknown>>): string =>
    template
      .render(variables)
      .map(({ text }) => text)
      .join('');
};

const OPTIONS: DeriveFormatOptions = {
  specialTokens: SPECIAL_TOKENS,
  eosToken: '<|im_end|>',
  thoughts: USUAL_THOUGHTS,
};

const derive = (source: string, options: Partial<DeriveFormatOptions> = {}): DerivedFormat => {
  const derived = deriveToolFormat(render(source), { ...OPTIONS, ...options });
  assert.ok(derived, 'the format was derived');
  return derived;
};

interface Call {
  readonly name: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Writes an answer with these calls as the template writes it in a conversation. */
function writeAnswer(
  source: string,
  { form }: DerivedFormat,
  calls: readonly Call[],
  tailLength = '<|im_end|>\n'.length,
): string {
  const answer = render(source)({
    messages: [
      {
        role: 'assistant',
        content: form.emptyAsNull ? null : '',
        tool_calls: calls.map(({ name, values }, i) => ({
          id: form.idNamesTool ? `functions.${name}:${i}` : `abcdefgh${i}`,
          type: 'function',
          function: { name, arguments: form.argumentsAsText ? JSON.stringify(values) : values },
        })),
      },
    ],
  });
  return answer.slice('<|im_start|>assistant\n'.length, -tailLength);
}

const CALLS: readonly Call[] = [
  {
    name: 'get_weather',
    values: { city: 'Ulm <b>', code: '089', days: 3, deep: { list: [1, null, 'x'] }, is_on: true },
  },
  { name: 'stop', values: {} },
  { name: 'get_weather', values: { city: '' } },
];

const parse = (pieces: readonly string[], { format }: DerivedFormat): Call[] => {
  const { calls, content, reason } = readCalls(pieces, { format, tools: TOOLS });
  assert.equal(reason, 'tool-calls');
  assert.equal(content.join('').trim(), '');
  return calls.map(({ name, arguments: text }) => ({ name, values: JSON.parse(text) as Call['values'] }));
};

describe('deriveToolFormat', () => {
  for (const [way, source] of Object.entries(CALL_TEMPLATES)) {
    it(`parses what the template writes: ${way}`, () => {
      const derived = derive(source);
      for (const calls of [CALLS.slice(0, 1), CALLS.slice(1, 2), CALLS])
        assert.deepEqual(parse([writeAnswer(source, derived, calls)], derived), calls);
    });

    it(`does not depend on how an answer is cut: ${way}`, () => {
      const derived = derive(source);
      const answer = writeAnswer(source, derived, CALLS);
      fc.assert(
        fc.property(fc.array(fc.nat()), (places) => {
          assert.deepEqual(parse(cutText(answer, places), derived), CALLS);
        }),
        { numRuns: scalePropertyRuns(30) },
      );
      assert.deepEqual(parse([...answer], derived), CALLS);
    });

    it(`cuts arguments at a token limit to the start of valid JSON: ${way}`, () => {
      const derived = derive(source);
      const answer = writeAnswer(source, derived, CALLS.slice(0, 1));
      const whole = readCalls([answer], { format: derived.format, tools: TOOLS }).calls[0]?.arguments ?? '';
      for (const at of scalePositions(answer.length)) {
        const { calls } = readCalls([answer.slice(0, at)], { format: derived.format, tools: TOOLS, reason: 'length' });
        const [call] = calls;
        if (call) assert.ok(whole.startsWith(call.arguments), `${call.arguments} starts ${whole}`);
      }
    });
  }

  it('finds marks that are special tokens', () => {
    assert.deepEqual(derive(CALL_TEMPLATES['keys and values in tags'] ?? '').format.markers, [
      '<tool_call>',
      '</tool_call>',
      '<arg_key>',
    ]);
  });

  it('finds ids, and forms of messages that the template needs', () => {
    const { format } = derive(CALL_TEMPLATES['a name and an id between marks'] ?? '');
    assert.equal(format.between, `[CALL_ID]${ID_PLACE}[ARGS]`);
    assert.equal(derive(CALL_TEMPLATES['an id that names the tool'] ?? '').form.idNamesTool, true);
    const withText = CALL_TEMPLATES['an object in tags']?.replace('call.arguments | tojson', "'' + call.arguments");
    assert.equal(derive(withText ?? '').form.argumentsAsText, true);
  });

  it('keeps text that reads like another value where the schema says string, and converts Python literals', () => {
    const derived = derive(CALL_TEMPLATES['names and values in tags'] ?? '');
    const answer =
      '<tool_call>\n<function=get_weather>\n<parameter=city>\n 12\n\n</parameter>\n<parameter=is_on>\nTrue\n</parameter>\n' +
      "<parameter=deep>\n{'a': [None, 'it\\'s']}\n</parameter>\n</function>\n</tool_call>";
    assert.deepEqual(parse([answer], derived), [
      { name: 'get_weather', values: { city: ' 12\n', is_on: true, deep: { a: [null, "it's"] } } },
    ]);
  });

  it('ends a value whose mark is missing where the next argument or the end of the call is on a line of its own', () => {
    const derived = derive(CALL_TEMPLATES['names and values in tags'] ?? '');
    const answer =
      '<tool_call>\n<function=get_weather>\n<parameter=city>\nUlm <parameter=x> </function>\n<parameter=days>\n3\n</function>\n</tool_call>\n' +
      '<tool_call>\n<function=stop>\n<parameter=city>\nBonn\n</function>\n</tool_call>';
    const expected = [
      { name: 'get_weather', values: { city: 'Ulm <parameter=x> </function>', days: 3 } },
      { name: 'stop', values: { city: 'Bonn' } },
    ];
    assert.deepEqual(parse([answer], derived), expected);
    assert.deepEqual(parse([...answer], derived), expected);
  });

  it('ends a call whose key is too long, at a cost that grows with the text', () => {
    const derived = derive(CALL_TEMPLATES['keys and values in tags'] ?? '');
    for (const text of [' '.repeat(50_000), '>'.repeat(50_000), '\n<arg_key>'.repeat(5_000)]) {
      const answer = `<tool_call>stop\n<arg_key>${text}`;
      const { calls, reason } = readCalls([...answer], { format: derived.format, tools: TOOLS });
      assert.deepEqual([calls, reason], [[{ name: 'stop', arguments: '{}' }], 'tool-calls']);
    }
  });

  it('takes the token that ends the turn for no part of a call', () => {
    const closed = '<|im_end|>\n{% endfor %}';
    for (const [way, part, text] of [
      ['names and values in tags', 'after', '\n</function>\n</tool_call>'],
      ['attributes that tell strings', 'end', '</calls>'],
    ] as const)
      for (const token of ['<|eom_id|>', '<own_end>']) {
        const source = CALL_TEMPLATES[way]?.replace(
          closed,
          `{{ "${token}" if message.tool_calls else "<|im_end|>\n" }}{% endfor %}`,
        );
        const derived = derive(source ?? '', { eosToken: '<own_end>' });
        assert.equal(derived.format[part], text);
        const answer = writeAnswer(source ?? '', derived, CALLS.slice(0, 1), token.length);
        for (const written of [answer, answer + token]) assert.deepEqual(parse([written], derived), CALLS.slice(0, 1));
      }
  });

  it('extends the mark that starts calls until it differs from marks of thoughts and answers', () => {
    const source = CALL_TEMPLATES['an object with other keys']?.replace('<|START_ACTION|>', '<|open|>tools<|sep|>');
    const thoughts = { ...USUAL_THOUGHTS, answerOpenings: ['<|open|>response<|sep|>'] };
    assert.deepEqual(derive(source ?? '', { thoughts }).format.openings, ['<|open|>tools']);
  });

  it('takes an empty thought before calls for no part of them', () => {
    const source = CALL_TEMPLATES['an object with other keys']?.replace(
      '<|START_ACTION|>',
      '<|START_THINKING|><|END_THINKING|><|START_ACTION|>',
    );
    const thoughts = { ...USUAL_THOUGHTS, open: '<|START_THINKING|>', close: '<|END_THINKING|>' };
    const { format } = derive(source ?? '', { thoughts });
    assert.deepEqual([format.begin, format.openings], ['<|START_ACTION|>[', ['<|START_ACTION|>']]);
  });

  it('takes calls whose first mark is missing', () => {
    const derived = derive(CALL_TEMPLATES['names and values in tags'] ?? '');
    const answer = '<function=stop>\n</function>\n</tool_call>';
    assert.deepEqual(parse([answer], derived), [{ name: 'stop', values: {} }]);
  });

  it('derives nothing from a template that writes no calls, fails, or writes calls that cannot be told from text', () => {
    for (const source of [
      '{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}',
      '{{ raise_exception("no") }}',
      '{% for message in messages %}{{ message.content }}{% for call in message.tool_calls %}{{ call.function.name }} {{ call.function.arguments | tojson }}{% endfor %}\n{% endfor %}',
    ])
      assert.equal(deriveToolFormat(render(source), OPTIONS), undefined, source);
  });
});
