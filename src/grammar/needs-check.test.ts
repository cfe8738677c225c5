import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonSchema } from '../core/grammar.ts';
import { createSeededRandom } from '../lib/seeded-random.ts';
import { needsCheck } from './needs-check.ts';
import { numberRangeToAutomaton } from './number-range.ts';

// Parsed from JSON where a `then` occurs: an object literal with it could be mistaken for a promise.
const json = (text: string): JsonSchema => JSON.parse(text);

/** Schemas with the keywords that docs/protocols/json-schema.md lists as checked afterwards. */
const CHECKED: readonly JsonSchema[] = [
  { uniqueItems: true },
  { contains: { const: 1 } },
  { contains: true, minContains: 2 },
  { contains: true, maxContains: 2 },
  { not: { type: 'string' } },
  json('{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}'),
  { dependentRequired: { a: ['b'] } },
  { dependentSchemas: { a: { required: ['b'] } } },
  { dependencies: { a: ['b'] } },
  { oneOf: [{ minimum: 3 }, { maximum: 5 }] },
  { maxItems: 257 },
  { maxLength: 1_001 },
  { pattern: '^a{3,5}' },
  { format: 'email' },
  { patternProperties: { a: { type: 'null' } } },
  { unevaluatedProperties: false },
  { unevaluatedItems: { type: 'null' } },
  { $dynamicRef: '#a', $defs: { a: { $dynamicAnchor: 'a' } } },
  // The grammar may hold less of the schema.
  { anyOf: [{ properties: { a: true } }, { properties: { b: true } }] },
  { anyOf: Array.from({ length: 9 }, (_, i) => ({ type: 'string', const: `${i}` })) },
  { allOf: [{ anyOf: [{ type: 'null' }, { type: 'string' }] }, { maxLength: 3 }] },
  {
    properties: Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [`p${i}`, { items: { const: i }, maxItems: 256 }]),
    ),
  },
  { properties: Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`p${i}`, { multipleOf: 1 + i }])) },
  { enum: Array.from({ length: 5_000 }, (_, i) => `value ${i}`) },
  { minProperties: 2 },
  { maxProperties: 257 },
  { properties: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p${i}`, true])), maxProperties: 100 },
  { multipleOf: 0.000_007 },
  { multipleOf: 12_347 },
  { multipleOf: 7, minimum: 1e30 },
  // Combined by the compiler from several subschemas.
  { allOf: [{ multipleOf: 3 }, { minimum: 1e30 }] },
  { anyOf: [{ maxProperties: 200 }, { type: 'null' }], properties: { a: true, b: true } },
  // Reached by a reference, where data could be read as keywords.
  { $ref: '#/x/y', x: { y: { uniqueItems: true } } },
  { $ref: '#/default', default: { uniqueItems: true } },
  { $ref: '#/properties', properties: { uniqueItems: true } },
  { $ref: '#/%70roperties', properties: { uniqueItems: true } },
];

const PLAIN: readonly JsonSchema[] = [
  true,
  false,
  {},
  { type: 'string', enum: ['a', 'b'], title: 'A title' },
  {
    type: 'object',
    properties: {
      city: { type: 'string', maxLength: 40, description: 'not if it contains more' },
      mail: { type: 'string', format: 'x-email', minLength: 3 },
      price: { type: 'number', minimum: 0, multipleOf: 0.01 },
      count: { type: 'integer', multipleOf: 5, maximum: 1_000_000 },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 20, uniqueItems: false },
    },
    required: ['city'],
    additionalProperties: false,
    maxProperties: 6,
    propertyNames: { maxLength: 10 },
  },
  // Keywords that schema generators add.
  {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }], default: null, title: 'Next' },
      one: { allOf: [{ $ref: '#/$defs/node' }], description: 'The one.' },
      name: { anyOf: [{ type: 'string', maxLength: 100 }, { type: 'null' }] },
    },
    $defs: { node: { type: 'object', properties: { id: { type: 'string', minLength: 1 } } } },
  },
  // Names that the caller chooses.
  {
    properties: { not: { type: 'string' }, if: { type: 'null' }, contains: true, properties: { type: 'integer' } },
    $defs: { oneOf: { type: 'string' } },
  },
  { oneOf: [{ type: 'string' }] },
];

describe('needsCheck', () => {
  for (const schema of CHECKED)
    test(`yes: ${JSON.stringify(schema).slice(0, 100)}`, () => {
      assert.equal(needsCheck(schema), true);
      assert.equal(needsCheck({ properties: { a: { items: { anyOf: [{ type: 'null' }, schema] } } } }), true);
    });
  for (const schema of PLAIN)
    test(`no: ${JSON.stringify(schema).slice(0, 100)}`, () => assert.equal(needsCheck(schema), false));

  test('is fast for a schema as deep and wide as a request body can be', () => {
    let deep: JsonSchema = { type: 'string' };
    for (let i = 0; i < 50_000; i++) deep = { items: deep };
    assert.equal(needsCheck(deep), true);
    assert.equal(needsCheck({ enum: Array.from({ length: 200_000 }, (_, i) => [i]) }), true);
  });

  test('numberRangeToAutomaton supports every multipleOf that is not checked, under any bounds', () => {
    const random = createSeededRandom(5);
    const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
    const bounds = [undefined, 0, 1e9, -1e9, 999_999_999, 0.000_001, -123_456.789_012_3, 5e-324, 1e-15, 12_345.5];
    for (let trial = 0; trial < 150; trial++) {
      const multipleOf = (1 + Math.floor(random() * 10)) * 10 ** Math.floor(random() * 9 - 4);
      const range = {
        [random() < 0.5 ? 'minimum' : 'exclusiveMinimum']: pick(bounds),
        [random() < 0.5 ? 'maximum' : 'exclusiveMaximum']: pick(bounds),
        multipleOf,
      };
      if (needsCheck(JSON.parse(JSON.stringify(range)))) continue;
      assert.doesNotThrow(() => numberRangeToAutomaton({ isInteger: random() < 0.5, ...range }), JSON.stringify(range));
    }
  });
});
