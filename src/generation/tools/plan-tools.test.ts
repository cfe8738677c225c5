import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measureCpuMs } from '../../../test/measure-cpu-ms.ts';
import type { JsonSchema } from '../../core/grammar.ts';
import type { Tool } from '../../core/message.ts';
import type { OutputFormat, ToolUseOptions } from '../../core/request.ts';
import { followPhases } from './__fixtures__/follow-phases.ts';
import { TOOL_FORMATS, type ToolFormatName } from './tool-formats.ts';
import { planTools, shiftPhases, createAnswerOnlyPhases } from './plan-tools.ts';

const JSON_TEXT = '{"city": "Ulm"}';
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const tool = (name: string, at: number, parameters: JsonSchema | undefined = SCHEMA): Tool => ({
  name,
  description: '',
  parameters,
  field: `tools[${at}].function.parameters`,
});
const TOOLS = [tool('f', 0), tool('foo', 1), tool('get-weather', 2)];
const use = (more: Partial<ToolUseOptions> = {}): ToolUseOptions => ({
  tools: TOOLS,
  choice: 'auto',
  isParallel: false,
  streamsComplexArguments: false,
  ...more,
});
const FORM: OutputFormat = {
  type: 'json-schema',
  name: 'x',
  schema: SCHEMA,
  field: 'response_format.json_schema.schema',
};
const plan = (toolUse?: ToolUseOptions, format: ToolFormatName = 'hermes', outputFormat?: OutputFormat) =>
  planTools({
    toolUse,
    outputFormat,
    format: TOOL_FORMATS[format],
    specialTokens: ['<tool_call>', '</tool_call>', '[TOOL_CALLS]'],
  });

const isFormat = (name: string): name is ToolFormatName => Object.hasOwn(TOOL_FORMATS, name);
const FORMATS = Object.keys(TOOL_FORMATS).filter(isFormat);
const written = (name: ToolFormatName, calls: readonly string[]): string => {
  const { begin, before, between, after, separator, end } = TOOL_FORMATS[name];
  return begin + calls.map((called) => before + called + between + JSON_TEXT + after).join(separator) + end;
};

/** Follows the phases for an answer and returns the tools whose phases it passes. */
const called = ({ phases }: ReturnType<typeof plan>, answer: string): { names: string[]; rest: string } => {
  const { phases: path, rest } = followPhases(phases, answer, JSON_TEXT);
  const byField = new Map(TOOLS.map(({ name, field }) => [field, name]));
  const names = path.flatMap((position) => {
    const grammar = phases[position]?.grammar;
    const schema = grammar?.type === 'sequence' ? grammar.parts.find((part) => part.type === 'schema') : grammar;
    return schema?.type === 'schema' ? [byField.get(schema.field) ?? ''] : [];
  });
  return { names, rest };
};

describe('planTools', () => {
  for (const format of FORMATS) {
    it(`leads to the phase of the tool that ${format} names, also in the middle of free text`, () => {
      const text = `Let me see.\n${written(format, ['foo'])}`;
      const { names, rest } = called(plan(use(), format), text);
      assert.deepEqual(names, ['foo']);
      // The call ends with its arguments, and the answer with the call.
      assert.ok(text.endsWith(JSON_TEXT + rest));
    });

    it(`leads from call to call as ${format} writes them when several are allowed`, () => {
      const several = ['get-weather', 'f', 'foo'];
      for (const outputFormat of [undefined, FORM])
        assert.deepEqual(called(plan(use({ isParallel: true }), format, outputFormat), written(format, several)), {
          names: several,
          rest: '',
        });
    });

    it(`starts with a call in ${format} when one is required`, () => {
      for (const isParallel of [false, true]) {
        const required = plan(use({ choice: 'required', isParallel }), format);
        const text = written(format, isParallel ? ['foo', 'f'] : ['foo']);
        assert.ok(text.startsWith(required.preface));
        assert.equal(required.opening.map((segment) => segment.text).join(''), required.preface);
        const { names } = called(required, text.slice(required.preface.length));
        assert.deepEqual(names, isParallel ? ['foo', 'f'] : ['foo']);
        assert.notEqual(followPhases(required.phases, 'Hello', JSON_TEXT).rest, '');
      }
    });

    it(`has a single phase for a tool that the caller names, in ${format} up to its arguments`, () => {
      const named = plan(use({ choice: { name: 'foo' }, isParallel: true }), format);
      assert.ok(written(format, ['foo']).startsWith(named.preface + JSON_TEXT));
      assert.deepEqual(named.phases, [
        { kind: 'call', grammar: { type: 'schema', schema: SCHEMA, field: TOOLS[1]?.field } },
      ]);
    });

    it(`detects a call in ${format} as small models write it`, () => {
      const key = 'arguments';
      for (const text of [
        `{"name": "foo", "${key}": `,
        `Sure:\n  {"name" :"foo", "${key}": `,
        `Sure: \`\`\`json\n{\n  "name": "foo",\n  "${key}": `,
        `\`\`\`\n[{"name": "foo", "${key}": `,
        `[\n  {"type": "function", "name": "foo", "${key}": `,
      ]) {
        const { phases } = followPhases(plan(use(), format).phases, text + JSON_TEXT, JSON_TEXT);
        assert.deepEqual(phases, [0, 2], text);
      }
      for (const text of ['Use {"name": "foo", "', '{"name": "fo", "', '{"first": 1, "name": "foo", "'])
        assert.deepEqual(
          followPhases(plan(use(), format).phases, `${text}arguments": {}}`, JSON_TEXT).phases,
          [0],
          text,
        );
    });
  }

  it('allows a formatted answer or a call', () => {
    const formed = plan(use(), 'hermes', FORM);
    assert.deepEqual(followPhases(formed.phases, JSON_TEXT, JSON_TEXT), { phases: [0], rest: '' });
    assert.deepEqual(called(formed, written('hermes', ['f'])).names, ['', 'f'].slice(1));
    assert.notEqual(followPhases(formed.phases, 'Hello', JSON_TEXT).rest, '');
    assert.deepEqual(plan(undefined, 'hermes', FORM), {
      opening: [],
      preface: '',
      phases: [
        {
          kind: 'answer',
          grammar: { type: 'schema', schema: SCHEMA, field: FORM.type === 'json-schema' ? FORM.field : '' },
        },
      ],
      markers: [],
    });
    assert.deepEqual(plan(undefined, 'hermes', { type: 'json-object' }).phases, [
      { kind: 'answer', grammar: { type: 'schema', schema: { type: 'object' }, field: 'response_format' } },
    ]);
    assert.deepEqual(plan().phases, []);
  });

  it('allows only an object as arguments', () => {
    const getGrammar = (parameters: JsonSchema | undefined): unknown =>
      plan(use({ tools: [{ ...tool('f', 0), parameters }], choice: { name: 'f' } })).phases[0]?.grammar;
    const getSchema = (parameters: JsonSchema): unknown => {
      const grammar = getGrammar(parameters);
      return typeof grammar === 'object' && grammar !== null && 'schema' in grammar ? grammar.schema : undefined;
    };
    for (const none of [undefined, {}]) assert.deepEqual(getGrammar(none), { type: 'text', text: '{}' });
    assert.deepEqual(getSchema(true), { type: 'object' });
    assert.deepEqual(getSchema({ properties: {} }), { properties: {}, type: 'object' });
    assert.deepEqual(getSchema({ type: ['object', 'null'] }), { type: 'object' });
    assert.deepEqual(getSchema({ $ref: '#/$defs/a', $defs: {} }), { $ref: '#/$defs/a', $defs: {}, type: 'object' });
  });

  it('rejects a schema whose arguments are not an object', () => {
    const { field } = tool('f', 0);
    for (const [type, shown] of [
      ['strin', '"strin"'],
      [['string', 'null'], '["string","null"]'],
      [3, '3'],
    ] as const)
      assert.throws(() => plan(use({ tools: [{ ...tool('f', 0), parameters: { type } }] })), {
        name: 'ServiceError',
        kind: 'invalid-request',
        param: field,
        message: `type must be "object", because arguments are an object, got ${shown} (${field}, at #).`,
      });
  });

  it('contains each schema once and grows linearly with the number of tools', () => {
    const many = Array.from({ length: 500 }, (_, i) => tool(`tool_${i}`, i));
    const getSize = (count: number): number =>
      JSON.stringify(plan(use({ tools: many.slice(0, count), isParallel: true, choice: 'required' })).phases).length;
    assert.ok(getSize(500) < getSize(50) * 12);
    const all = JSON.stringify(plan(use({ tools: many, isParallel: true })).phases);
    assert.equal(all.split('"city"').length - 1, 500);
  });

  it('finds a name in text full of blanks quickly', () => {
    const many = Array.from({ length: 500 }, (_, i) => tool(`tool_${i}`, i));
    const { phases } = plan(use({ tools: many }));
    const text = `x${' '.repeat(480)}{"name": "nobody"`;
    const ms = measureCpuMs(() => {
      assert.deepEqual(followPhases(phases, text.repeat(4), JSON_TEXT).phases, [0]);
      assert.deepEqual(followPhases(phases, `${'\n'.repeat(400)}${text}`, JSON_TEXT).phases, [0]);
    });
    assert.ok(ms < 2_000, `${ms} ms`);
  });

  it('uses only marks of the vocabulary as special tokens', () => {
    const required = plan(use({ choice: 'required' }));
    assert.deepEqual(required.opening, [
      { text: '<tool_call>', special: true },
      { text: '\n{"name": "', special: false },
    ]);
    assert.deepEqual(required.markers, ['<tool_call>', '</tool_call>']);
    const llama = plan(use({ choice: 'required' }), 'llama3');
    assert.deepEqual([llama.opening, llama.markers], [[{ text: '{"name": "', special: false }], []]);
    assert.deepEqual(plan(use(), 'mistral-args').markers, ['[TOOL_CALLS]']);
  });

  it('can be shifted behind other phases', () => {
    const { phases } = plan(use({ isParallel: true }));
    const shifted = shiftPhases(phases, 3);
    assert.deepEqual(shiftPhases(shifted, -3), phases);
    assert.ok(
      shifted.every(
        ({ nextPhase, triggers = [] }) => (nextPhase ?? 3) >= 3 && triggers.every(({ phase }) => phase >= 3),
      ),
    );
    assert.deepEqual(
      shiftPhases(createAnswerOnlyPhases(), 1).map(({ nextPhase }) => nextPhase),
      [2, undefined],
    );
  });

  it('does not constrain names of which one is the start of another where nothing ends a name', () => {
    const format = { ...TOOL_FORMATS.hermes, before: '<tool_call>', between: '', after: '\n</tool_call>' };
    const tools = ['get', 'get_weather'].map((name) => ({ name, description: '', parameters: undefined, field: '' }));
    const getPhases = (names: readonly string[]): readonly unknown[] =>
      planTools({
        toolUse: {
          tools: tools.filter(({ name }) => names.includes(name)),
          choice: 'auto',
          isParallel: true,
          streamsComplexArguments: true,
        },
        outputFormat: undefined,
        format,
        specialTokens: [],
      }).phases;
    assert.deepEqual(getPhases(['get', 'get_weather']), []);
    assert.notDeepEqual(getPhases(['get']), []);
  });
});
