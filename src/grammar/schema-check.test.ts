import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonSchema } from '../core/grammar.ts';
import { createReferenceValidator } from './__fixtures__/reference-validator.ts';
import { createSchemaCheck } from './schema-check.ts';
import { GrammarError } from './grammar-error.ts';

// Parsed from JSON: as an object literal, an object with a `then` could be mistaken for a promise.
const CONDITION: JsonSchema = JSON.parse(
  '{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}',
);

describe('createSchemaCheck reports the problem and its path:', () => {
  const reference = createReferenceValidator();
  const cases: readonly { schema: JsonSchema; value: unknown; message: string | undefined }[] = [
    {
      schema: { items: { uniqueItems: true } },
      value: [
        [1, 2],
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
      message: '$[1] must not contain duplicate items',
    },
    { schema: { uniqueItems: true }, value: [1, '1', [1], { a: 1 }], message: undefined },
    {
      schema: { oneOf: [{ minimum: 3 }, { maximum: 5 }] },
      value: 4,
      message: '$ must match exactly one schema in oneOf, but matches 2',
    },
    { schema: { oneOf: [{ minimum: 3 }, { maximum: 5 }] }, value: 7, message: undefined },
    { schema: { maxLength: 2_000 }, value: 'x'.repeat(2_001), message: '$ must have at most 2000 characters' },
    { schema: { minLength: 2, maxLength: 2 }, value: '😀é', message: undefined },
    {
      schema: { contains: { const: 1 }, minContains: 2 },
      value: [1, 2],
      message: '$ must contain at least 2 matching items, but contains 1',
    },
    { schema: { contains: { const: 1 }, maxContains: 1 }, value: [1, 2, 3], message: undefined },
    {
      schema: { contains: { const: 1 }, maxContains: 1 },
      value: [1, 2, 1],
      message: '$ must contain exactly 1 matching items, but contains 2',
    },
    {
      schema: { properties: { a: { not: { type: 'string' } } } },
      value: { a: 'x' },
      message: '$.a must not match the schema in "not"',
    },
    {
      schema: CONDITION,
      value: { a: 1 },
      message: '$ must have b',
    },
    {
      schema: CONDITION,
      value: { c: 1 },
      message: undefined,
    },
    { schema: { dependentRequired: { a: ['b c'] } }, value: { a: 1 }, message: '$ must have "b c" along with a' },
    {
      schema: { dependentSchemas: { a: { maxProperties: 1 } } },
      value: { a: 1, b: 2 },
      message: '$ must have at most 1 properties',
    },
    { schema: { multipleOf: 0.001 }, value: 1.2345, message: '$ must be a multiple of 0.001' },
    { schema: { multipleOf: 0.1 }, value: 0.3, message: undefined },
    { schema: { propertyNames: { maxLength: 1 } }, value: { ab: 1 }, message: '$.ab has a name that is not allowed' },
    {
      schema: { patternProperties: { '^a': { type: 'null' } }, additionalProperties: false },
      value: { b: 1 },
      message: '$.b is not allowed',
    },
    {
      schema: { prefixItems: [{ type: 'string' }], items: { type: 'null' } },
      value: ['x', 1],
      message: '$[1] must be of type null',
    },
    { schema: { pattern: '^\\d+$' }, value: '12a', message: '$ must match its pattern' },
    { schema: { format: 'date' }, value: '2023-02-29', message: '$ must have the format date' },
    { schema: { enum: [{ a: [1] }, null] }, value: { a: [2] }, message: '$ must be one of the allowed values' },
    {
      schema: {
        $ref: '#/$defs/a',
        $defs: { a: { anyOf: [{ type: 'null' }, { type: 'array', items: { $ref: '#/$defs/a' } }] } },
      },
      value: [[null], [[]]],
      message: undefined,
    },
  ];
  for (const { schema, value, message } of cases) {
    test(`${JSON.stringify(schema)}: ${message ?? 'nothing'}`, () => {
      assert.equal(createSchemaCheck(schema)(value), message);
      assert.equal(reference(schema)(value), message === undefined, 'the other validator agrees');
    });
  }

  test('treats names of inherited members like any other', () => {
    const check = createSchemaCheck(JSON.parse('{"properties":{"__proto__":{"type":"null"}},"required":["toString"]}'));
    assert.equal(check({}), '$ must have toString');
    assert.equal(check(JSON.parse('{"toString":1,"__proto__":2}')), '$.__proto__ must be of type null');
  });

  test('rejects a malformed schema and names its field', () => {
    assert.throws(() => createSchemaCheck({ minimum: '1' }, 'response_format')(1), GrammarError);
  });
});
