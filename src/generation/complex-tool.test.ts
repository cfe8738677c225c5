import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonSchema } from '../core/grammar.ts';
import { isComplexTool } from './complex-tool.ts';

const withProperty = (schema: unknown): JsonSchema => ({ type: 'object', properties: { p: schema } });

const CASES: readonly (readonly [JsonSchema | undefined, boolean])[] = [
  [undefined, false],
  [{}, false],
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
];

for (const [parameters, isComplex] of CASES)
  test(`${JSON.stringify(parameters)} is a ${isComplex ? 'complex' : 'simple'} tool's parameters`, () => {
    assert.equal(isComplexTool(parameters), isComplex);
  });
