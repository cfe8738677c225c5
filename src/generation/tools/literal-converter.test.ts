import assert from 'node:assert/strict';
import { test } from 'node:test';
import { convertLiteral } from './literal-converter.ts';

test('converts complete Python literals', () => {
  for (const [text, json] of [
    ["{'a': 'b', 'c': [1, None]}", '{"a": "b", "c": [1, null]}'],
    ['[True, False]', '[true, false]'],
    ['(1, 2)', '[1, 2]'],
    ['None', 'null'],
    ['[]', '[]'],
    ['{}', '{}'],
    ["{'urgent', 'bug'}", '["urgent", "bug"]'],
    ['{1, 2}', '[1, 2]'],
    ["{'a': {'x'}, 'b': [{}]}", '{"a": ["x"], "b": [{}]}'],
  ] as const)
    assert.equal(convertLiteral(text), json, text);
});

test('leaves other text alone, also the start of a literal', () => {
  for (const text of ['(a b)', '[a b]', '{', '[', '(', '[1', "{'a': 1", "['a", '[1] x', 'none', '7', ''])
    assert.equal(convertLiteral(text), undefined, text);
});
