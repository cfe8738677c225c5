import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonSchema } from '../core/grammar.ts';
import { createSchemaCheck } from './schema-check.ts';
import { compileGrammar } from './compile-grammar.ts';

const compile = (schema: JsonSchema): string => compileGrammar({ type: 'schema', schema, field: 'parameters' }).gbnf;

/** Creates a schema whose grammar ignores the given keywords. */
const beside = (more: object): JsonSchema => ({
  type: 'object',
  properties: { a: { const: 'hi' } },
  required: ['a'],
  ...more,
});
const ofA = (schema: JsonSchema): JsonSchema => ({ properties: { a: schema } });

describe('prepareCheck rejects invalid schemas that only the check reaches:', () => {
  const refused: readonly { schema: JsonSchema; message: string }[] = [
    { schema: beside({ not: { minimum: 'x' } }), message: 'minimum must be a number, got "x" (parameters, at #/not).' },
    {
      schema: beside({ not: { $ref: '#/nowhere' } }),
      message: '$ref "#/nowhere" does not resolve to a schema (parameters, at #/not).',
    },
    {
      schema: beside({ not: { type: 'strin' } }),
      message: 'type must be a type of JSON Schema or a list of them, got "strin" (parameters, at #/not).',
    },
    {
      schema: beside({ not: { $recursiveRef: '#' } }),
      message: '$recursiveRef is not supported (parameters, at #/not).',
    },
    {
      schema: beside({ not: ofA({ pattern: '(?<=x)y' }) }),
      message: 'pattern has a lookbehind, which is not supported (parameters, at #/not/properties/a).',
    },
    {
      schema: beside({ not: { patternProperties: { '(a)\\1': true } } }),
      message: 'pattern has a back reference (\\1), which is not supported (parameters, at #/not).',
    },
    {
      schema: beside({ not: ofA({ pattern: 'x.{10}y$' }) }),
      message: 'pattern needs 3072 states; at most 2000 are allowed (parameters, at #/not/properties/a).',
    },
    {
      schema: beside({ if: { $dynamicRef: '#x' } }),
      message: '$dynamicRef "#x" does not resolve to a schema (parameters, at #/if).',
    },
    {
      schema: beside(JSON.parse('{"if":true,"then":{"required":"a"}}')),
      message: 'required must be a list of names, got "a" (parameters, at #/then).',
    },
    {
      schema: beside({ dependentSchemas: { a: { minLength: -1 } } }),
      message: 'minLength must be a whole number from 0, got -1 (parameters, at #/dependentSchemas/a).',
    },
    {
      schema: { type: 'array', items: { type: 'string' }, contains: { enum: [] } },
      message: 'enum must name at least one value, got [] (parameters, at #/contains).',
    },
  ];
  for (const { schema, message } of refused)
    test(message, () =>
      assert.throws(() => compile(schema), { name: 'GrammarError', field: 'parameters', message: message }),
    );

  test('ignores an else without an if', () => {
    compile(beside({ else: { type: 'strin' } }));
  });

  test('rejects enum values that take too long to compare', () => {
    const values = Array.from({ length: 20 }, (_, at) => Array.from({ length: 60_000 }, () => at));
    assert.throws(() => compile(beside({ not: { enum: values } })), /enum or const takes too long to compare/);
  });
});

describe('prepareCheck and a schema that refers to itself', () => {
  const itself: readonly object[] = [
    { not: { $ref: '#' } },
    { not: { $ref: '#/not/$defs/q', $defs: { q: { $ref: '#/not/$defs/q' } } } },
    { if: { anyOf: [{ $ref: '#' }] } },
    JSON.parse('{"if":{"required":["b"]},"then":{"$ref":"#"}}'),
    { dependentSchemas: { a: { $ref: '#' } } },
    { dependencies: { a: { allOf: [{ $ref: '#' }] } } },
  ];
  for (const schema of itself)
    test(`rejects a cycle without a value in between: ${JSON.stringify(schema)}`, () =>
      assert.throws(() => compile(beside(schema)), /refers to itself without descending into a value/));

  const within: readonly { schema: JsonSchema; value: unknown }[] = [
    { schema: { type: 'array', items: { $ref: '#' }, not: { contains: { $ref: '#' } } }, value: [] },
    { schema: { type: 'object', not: { properties: { a: { $ref: '#' } }, required: ['a'] } }, value: {} },
    {
      schema: { type: 'object', propertyNames: { $ref: '#/$defs/n' }, $defs: { n: { not: { const: 'x' } } } },
      value: {},
    },
  ];
  for (const { schema, value } of within)
    test(`accepts a cycle that descends into a value: ${JSON.stringify(schema)}`, () => {
      compile(schema);
      assert.equal(createSchemaCheck(schema)(value), undefined);
    });

  test('rejects a very long chain of references', () => {
    const defs = Object.fromEntries(
      Array.from({ length: 600 }, (_, at) => [`d${at}`, at === 599 ? {} : { not: { $ref: `#/$defs/d${at + 1}` } }]),
    );
    assert.throws(() => compile(beside({ not: { $ref: '#/$defs/d0' }, $defs: defs })), /nested more than 500 deep/);
    // From the other end, where each schema is already measured.
    const items = Array.from({ length: 60 }, (_, at) => ({ $ref: `#/$defs/d${at * 10}` }));
    assert.throws(() => compile(beside({ not: { prefixItems: items }, $defs: defs })), /nested more than 500 deep/);
  });
});
