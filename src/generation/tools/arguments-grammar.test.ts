import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileGrammar } from '../../grammar/compile-grammar.ts';
import { parseTestGbnf, type GbnfGrammar } from '../../grammar/__fixtures__/test-gbnf-parser.ts';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import fc from 'fast-check';
import { createChatTemplate } from '../chat-template.ts';
import { CALL_TEMPLATES } from './__fixtures__/call-templates.ts';
import { readCalls } from './__fixtures__/read-calls.ts';
import { createArgumentsGrammar } from './arguments-grammar.ts';
import { USUAL_THOUGHTS } from '../thoughts/thought-format.ts';
import { deriveToolFormat } from './derive-tool-format.ts';
import type { ToolFormat } from './tool-formats.ts';

const TOOL = {
  name: 'get_weather',
  description: '',
  field: 'tools[0].function.parameters',
  parameters: {
    type: 'object',
    properties: {
      city: { type: 'string' },
      unit: { type: 'string', enum: ['C', 'F'] },
      days: { $ref: '#/$defs/days' },
      deep: { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'], additionalProperties: false },
    },
    required: ['days', 'city'],
    $defs: { days: { type: 'integer' } },
  },
};

const derive = (source: string): ToolFormat => {
  const template = createChatTemplate({ source, specialTokens: [], bosToken: '', eosToken: '' });
  const derived = deriveToolFormat(
    (variables) =>
      template
        .render(variables)
        .map(({ text }) => text)
        .join(''),
    { specialTokens: [], eosToken: '', thoughts: USUAL_THOUGHTS },
  );
  assert.ok(derived);
  return derived.format;
};

const compile = (format: ToolFormat, tool = TOOL): GbnfGrammar =>
  parseTestGbnf(compileGrammar(createArgumentsGrammar(tool, format)).gbnf);

/** Parses the arguments of an answer that calls the tool. */
function parse(format: ToolFormat, text: string): unknown {
  const { begin, before, between, after } = format;
  const tail = format.arguments?.type === 'json' ? after : '';
  const answer = (begin + before + TOOL.name + between + text + tail).replaceAll('\uFDD2', '0');
  const { calls, content } = readCalls([answer], { format, tools: [TOOL] });
  assert.equal(content.join('').trim(), '');
  assert.equal(calls.length, 1);
  return JSON.parse(calls[0]?.arguments ?? '');
}

describe('createArgumentsGrammar', () => {
  for (const [way, source] of Object.entries(CALL_TEMPLATES)) {
    it(`allows only arguments that are parsed to what the schema allows: ${way}`, () => {
      const format = derive(source);
      const grammar = compile(format);
      fc.assert(
        fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })), (numbers) => {
          const text = grammar.generateText(() => numbers.next().value ?? 0);
          const {
            city,
            days,
            unit = 'C',
            deep = { on: true },
            ...more
          } = parse(format, text) as Record<string, unknown>;
          assert.deepEqual(more, {});
          assert.equal(typeof city, 'string');
          assert.ok(Number.isInteger(days));
          assert.ok(unit === 'C' || unit === 'F');
          assert.deepEqual(deep, { on: (deep as { on: boolean }).on });
        }),
        { numRuns: scalePropertyRuns(100) },
      );
    });

    it(`allows no arguments for a tool without any: ${way}`, () => {
      const format = derive(source);
      const grammar = compile(format, {
        ...TOOL,
        parameters: { ...TOOL.parameters, properties: {} as never, required: [] },
      });
      assert.deepEqual(
        parse(
          format,
          grammar.generateText(() => 0),
        ),
        {},
      );
    });
  }

  it('allows optional arguments in the order of the schema, with separators between them', () => {
    const properties = { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'boolean' } };
    const grammar = compile(derive(CALL_TEMPLATES['a list of Python calls'] ?? ''), {
      ...TOOL,
      parameters: { ...TOOL.parameters, properties: properties as never, required: [] },
    });
    for (const text of [')', "a=1, b='x', c=true)", 'a=1, c=false)', "b='')", 'c=true)'])
      assert.ok(grammar.parseText(text).accepted, text);
    for (const text of ['', 'a=1', ', a=1)', 'a=1 c=true)', "b='x', a=1)", "b='it's')"])
      assert.ok(!grammar.parseText(text).accepted, text);
  });
});
