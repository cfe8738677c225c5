import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonSchema } from '../core/grammar.ts';
import { isComplexTool } from './complex-tool.ts';

const withProperty = (schema: unknown): JsonSchema => ({ type: 'object', properties: { p: schema } });

const PLAIN = { type: 'object', properties: { a: { type: 'string' } } };

const CASES: readonly (readonly [JsonSchema | undefined, boolean])[] = [
  [undefined, false],
  [true, true],
  [{}, true],
  [{ type: 'object' }, true],
  [{ type: 'object', additionalProperties: false }, false],
  [{ type: 'object', additionalProperties: { type: 'string' } }, false],
  [{ type: 'object', properties: {} }, false],
  [withProperty({ type: 'string' }), false],
  [withProperty({ type: ['integer', 'null'] }), false],
  [withProperty({ enum: ['a', 'b'] }), false],
  [withProperty({ anyOf: [{ type: 'string' }, { type: 'null' }] }), false],
  [withProperty({ type: 'array', items: { type: 'string' } }), true],
  [withProperty({ type: ['object', 'null'] }), true],
  [withProperty({ anyOf: [{ type: 'array' }, { type: 'null' }] }), true],
  [withProperty({ $ref: '#/$defs/x' }), true],
  [withProperty(true), true],
  [{ $ref: '#/$defs/x' }, true],
  [withProperty({ type: 'string', $ref: '#/$defs/x' }), true],
  [withProperty({ type: 'array', anyOf: [{ type: 'string' }] }), true],
  [withProperty({ enum: ['a', [1, 2]] }), true],
  [withProperty({ const: { a: 1 } }), true],
  [withProperty({ const: null }), false],
  [withProperty({ oneOf: [{ enum: ['a'] }, { const: 1 }] }), false],
  [withProperty({ oneOf: [{ enum: ['a'] }, { const: [1] }] }), true],
  [withProperty({ enum: 'a' }), true],
  [withProperty({ type: 'string', if: { minLength: 1 }, else: { type: 'array' } }), true],
  [withProperty(false), false],
  ...[true, { type: 'array' }, { type: 'object' }].map(
    (additionalProperties) => [{ properties: {}, additionalProperties }, true] as const,
  ),
  [{ patternProperties: { '^x': { type: 'object' } } }, true],
  [{ patternProperties: { '^x': { type: 'string' } } }, false],
  [{ ...PLAIN, required: ['a'] }, false],
  [{ ...PLAIN, required: ['b'] }, true],
  [{ ...PLAIN, minProperties: 2 }, true],
  ...(['if', 'then', 'else', 'anyOf', 'dependentSchemas', '$ref', 'enum'] as const).map(
    (keyword) => [{ ...PLAIN, [keyword]: {} }, true] as const,
  ),
  [{ properties: [] }, true],
  [{ type: 'array', items: { type: 'string' } }, true],
];

for (const [parameters, isComplex] of CASES)
  test(`${JSON.stringify(parameters)} is a ${isComplex ? 'complex' : 'simple'} tool's parameters`, () => {
    assert.equal(isComplexTool(parameters), isComplex);
  });
