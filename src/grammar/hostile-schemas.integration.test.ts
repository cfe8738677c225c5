import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonSchema } from '../core/grammar.ts';
import { createSchemaCheck } from './schema-check.ts';
import { parseTestGbnf } from './__fixtures__/test-gbnf-parser.ts';
import { compileGrammar } from './compile-grammar.ts';
import { GrammarError } from './grammar-error.ts';

/** Limit of CPU time, in ms. Compiling takes up to 600 ms here; without limits it would take minutes. */
const TIME_MS_MAX = 6_000;

/** Returns the CPU time of this thread only, so that other load on the machine does not count. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Compiles a schema; returns the grammar or the error. */
function compileWithinLimit(schema: JsonSchema): string {
  const start = cpuMs();
  const result = compileOrGetError(schema);
  const ms = cpuMs() - start;
  assert.ok(ms < TIME_MS_MAX, `took ${Math.round(ms)} ms: ${result.slice(0, 200)}`);
  return result;
}

function compileOrGetError(schema: JsonSchema): string {
  try {
    const { gbnf, isWide } = compileGrammar({ type: 'schema', schema, field: 'schema' });
    return isWide ? `wide: ${gbnf}` : gbnf;
  } catch (error) {
    if (error instanceof GrammarError) return `refused: ${error.message}`;
    throw error;
  }
}

const nested = (depth: number, wrap: (inner: JsonSchema) => JsonSchema): JsonSchema => {
  let schema: JsonSchema = { type: 'string' };
  for (let count = 0; count < depth; count++) schema = wrap(schema);
  return schema;
};

/** Creates definitions d0, d1, …, each from the next. */
const chain = (length: number, link: (next: JsonSchema, at: number) => JsonSchema): JsonSchema => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: length + 1 }, (_, at) => [
      `d${at}`,
      at === length ? { type: 'string' } : link({ $ref: `#/$defs/d${at + 1}` }, at),
    ]),
  ),
});

const counted = (count: number, make: (at: number) => unknown): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, make(at)]));

/** Patterns that are long to write down and all different. */
const LETTERS = Array.from({ length: 120 }, (_, at) => `[\\p{L}${String.fromCodePoint(0x1f600 + at)}]`);

/** Takes about 10 ms to compile. */
const costly = (at: number): string => `^[\\p{L}\\p{Nd}]{${at},${at + 5}}\\p{Lu}\\p{Ll}\\p{Nd}\\p{Sm}\\p{Sc}\\p{P}$`;

/** Schemas without any keyword that is only checked, whose grammars exceed a limit. */
const WIDE_WITHOUT_CHECKED_KEYWORDS: readonly { name: string; schema: JsonSchema }[] = [
  {
    name: 'many ranges of fractions',
    schema: {
      properties: counted(450, (at) => ({
        type: 'number',
        minimum: -123.456_789_012 - at,
        maximum: 98_765.432_109_8 + at,
      })),
      additionalProperties: false,
    },
  },
  {
    name: 'a large base of many objects',
    schema: {
      $defs: { base: { type: 'object', properties: counted(100, () => ({ type: 'string' })) } },
      properties: Object.fromEntries(
        Array.from({ length: 150 }, (_, at) => [
          `o${at}`,
          { allOf: [{ $ref: '#/$defs/base' }, { properties: { [`x_${at}`]: { type: 'integer' } } }] },
        ]),
      ),
    },
  },
  {
    name: 'a long base of many arrays',
    schema: {
      $defs: { base: { type: 'array', minItems: 250 } },
      properties: counted(90, (at) => ({ allOf: [{ $ref: '#/$defs/base' }, { items: { const: at } }] })),
    },
  },
  {
    name: 'nested alternatives',
    schema: chain(45, (next, at) => ({
      anyOf: [...Array.from({ length: 7 }, (_, value) => ({ type: 'string', const: `${at} ${value}` })), next],
    })),
  },
  {
    name: 'references to a long allOf',
    schema: {
      $defs: { b: { type: 'integer', allOf: Array.from({ length: 300 }, (_, at) => ({ minimum: at })) } },
      properties: counted(800, (at) => ({ $ref: '#/$defs/b', description: `${at}` })),
    },
  },
];

describe('compileGrammar limits the work for hostile schemas:', () => {
  const refused: readonly { name: string; schema: JsonSchema; message: RegExp }[] = [
    { name: 'a reference to itself', schema: { $ref: '#' }, message: /refers to itself/ },
    {
      name: 'references in a circle',
      schema: {
        $ref: '#/$defs/a',
        $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { anyOf: [{ $ref: '#/$defs/a' }] } },
      },
      message: /refers to itself/,
    },
    { name: 'minItems 1e9', schema: { type: 'array', minItems: 1e9 }, message: /minItems must be at most/ },
    { name: 'minLength 1e9', schema: { type: 'string', minLength: 1e9 }, message: /minLength must be at most/ },
    {
      name: 'minProperties 1e9',
      schema: { type: 'object', minProperties: 1e9 },
      message: /minProperties must be at most/,
    },
    {
      name: '10,000 properties',
      schema: { properties: counted(10_000, () => true) },
      message: /at most 1000 properties/,
    },
    { name: '20,000 schemas', schema: { properties: counted(20_000, () => ({})) }, message: /more than 10000 schemas/ },
    { name: 'deep nesting', schema: nested(100, (items) => ({ type: 'array', items })), message: /levels deep/ },
    { name: 'a long chain of references', schema: chain(9_000, (next) => next), message: /nested more than/ },
    {
      name: 'a long chain of objects',
      schema: chain(3_000, (next) => ({ properties: { a: next } })),
      message: /schemas deep/,
    },
    {
      name: 'values that take long to check',
      schema: {
        allOf: [{ enum: Array.from({ length: 2_000 }, (_, at) => at) }, { not: { $ref: '#/$defs/d0' } }],
        $defs: Object.fromEntries(
          Array.from({ length: 13 }, (_, at) => [
            `d${at}`,
            at === 12
              ? { type: 'string' }
              : { oneOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
          ]),
        ),
      },
      message: /takes too long/,
    },
    {
      name: 'many patterns that only the check looks at',
      schema: {
        properties: { a: { enum: ['hi', 'ho'] } },
        not: { properties: { a: { anyOf: Array.from({ length: 40 }, (_, at) => ({ pattern: costly(at) })) } } },
      },
      message: /with all other patterns/,
    },
    {
      name: 'many patterns',
      schema: {
        properties: counted(300, (at) => ({ type: 'string', pattern: costly(at % 60).replace('$', `${at}$`) })),
      },
      message: /with all other patterns/,
    },
    {
      name: 'many ranges of characters',
      schema: {
        properties: counted(300, (at) => ({ type: 'string', pattern: `^(?:${LETTERS.join('|')})${at}$` })),
      },
      message: /with all other patterns/,
    },
    {
      name: 'a value that holds itself',
      schema: { properties: { a: { $ref: '#' } }, required: ['a'] },
      message: /No value/,
    },
  ];
  for (const { name, schema, message } of refused) {
    test(name, () => assert.match(compileWithinLimit(schema), new RegExp(`^refused: .*${message.source}`)));
  }

  /** The grammars hold less than the schemas. */
  const wide: readonly { name: string; schema: JsonSchema }[] = [
    {
      name: 'alternatives that multiply',
      schema: {
        allOf: Array.from({ length: 30 }, (_, at) => ({ anyOf: [{ minLength: at }, { maxLength: 99 - at }] })),
      },
    },
    {
      name: 'alternatives that no text tells apart, inside each other',
      schema: chain(14, (next, at) => ({
        anyOf: [
          { properties: { a: next }, required: ['a'] },
          { properties: { a: { anyOf: [next, { type: 'integer', minimum: at }] } }, required: ['a'] },
        ],
      })),
    },
    {
      name: 'recursive alternatives that no text tells apart',
      schema: {
        anyOf: [
          { properties: { a: { $ref: '#' } } },
          { properties: { a: { anyOf: [{ $ref: '#' }, { type: 'null' }] }, b: true } },
        ],
      },
    },
    {
      name: 'many alternatives of many properties',
      schema: {
        properties: counted(900, () => ({ type: 'integer' })),
        anyOf: Array.from({ length: 250 }, (_, at) => ({ required: [`p${at}`] })),
      },
    },
    {
      name: 'references to a schema that is long',
      schema: {
        $defs: { long: { allOf: Array.from({ length: 4_000 }, (_, at) => ({ maximum: at })) } },
        properties: counted(900, (at) => ({ $ref: '#/$defs/long', minimum: at })),
      },
    },
    {
      name: 'a pattern whose rules are larger than a grammar',
      schema: { type: 'string', pattern: `^${LETTERS.join('')}$` },
    },
    {
      name: 'many lengths',
      schema: { properties: counted(300, (at) => ({ type: 'string', pattern: '[\\p{L}_]', maxLength: 900 - at })) },
    },
  ];
  for (const { name, schema } of [...wide, ...WIDE_WITHOUT_CHECKED_KEYWORDS]) {
    test(`${name}, with a wide grammar and a check`, () => {
      assert.match(compileWithinLimit(schema), /^wide: /);
    });
  }

  test('many lengths leave the objects around the strings in the grammar', () => {
    const string = (at: number): JsonSchema => ({ type: 'string', pattern: '[\\p{L}_]', maxLength: 900 - at });
    const result = compileWithinLimit({ properties: counted(300, string), additionalProperties: false });
    const grammar = parseTestGbnf(result.replace(/^wide: /, ''));
    assert.ok(grammar.parseText('{"p0":"a"}').accepted);
    assert.ok(!grammar.parseText('{"zzz":1}').accepted);
  });

  const compiled: readonly { name: string; schema: JsonSchema }[] = [
    { name: 'doubled references', schema: chain(60, (next) => ({ anyOf: [next, next] })) },
    { name: 'doubled members', schema: chain(60, (next) => ({ properties: { a: next, b: next } })) },
    {
      name: '500 optional properties',
      schema: { properties: counted(500, () => ({ type: 'integer' })), required: [] },
    },
    {
      name: '1,000 required properties',
      schema: { properties: counted(1_000, () => true), required: Object.keys(counted(1_000, () => 0)) },
    },
    { name: 'maxItems 1e9', schema: { type: 'array', maxItems: 1e9 } },
    { name: 'maxLength 1e9', schema: { type: 'string', maxLength: 1e9 } },
    {
      name: 'an enum of 5,000 values',
      schema: { enum: Array.from({ length: 5_000 }, (_, at) => `value ${at * 7919}`) },
    },
    {
      name: 'an allOf of 3,000 schemas',
      schema: { allOf: Array.from({ length: 3_000 }, (_, at) => ({ maximum: at })) },
    },
    {
      name: 'alternatives told apart by a member, inside each other',
      schema: {
        anyOf: ['a', 'b', 'c'].map((kind) => ({
          properties: { kind: { const: kind }, inner: { $ref: '#' } },
          required: ['kind'],
        })),
      },
    },
    {
      name: 'names that objects have anyway',
      schema: JSON.parse(
        '{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"null"}},"required":["__proto__","constructor"]}',
      ),
    },
  ];
  for (const { name, schema } of compiled) {
    test(name, () => assert.doesNotMatch(compileWithinLimit(schema), /^refused/));
  }
});

describe('createSchemaCheck limits its work', () => {
  test('for nested alternatives of the same value', () => {
    const schema = chain(40, (next) => ({ oneOf: [next, next] }));
    assert.match(createSchemaCheck(schema)('text') ?? '', /takes too long/);
  });

  test('for a pattern that takes exponential time in backtracking engines', () => {
    const check = createSchemaCheck({ type: 'string', pattern: '^(?:a|a)*(?:a|a)*b$' });
    assert.match(check('a'.repeat(100_000)) ?? '', /pattern/);
  });

  test('for a pattern with hundreds of ranges', () => {
    const check = createSchemaCheck({ type: 'string', pattern: '^[^\\p{L}]*[\\p{L}\\p{N}]*$' });
    const start = cpuMs();
    assert.equal(check('猫'.repeat(1_000_000)), undefined);
    assert.ok(cpuMs() - start < TIME_MS_MAX);
  });

  test('for an extremely deep value', () => {
    let value: unknown = [];
    for (let count = 0; count < 100_000; count++) value = [value];
    assert.match(createSchemaCheck({ type: 'array', items: { $ref: '#' } })(value) ?? '', /nested too deep/);
    assert.match(createSchemaCheck({ uniqueItems: true })([value]) ?? '', /nested too deep/);
    assert.match(createSchemaCheck({ const: 1 })(value) ?? '', /nested too deep/);
  });
});
