import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileAliasPattern } from './alias-pattern.ts';

const CASES: readonly [pattern: string, name: string, matches: boolean][] = [
  ['qwen*', 'qwen', true],
  ['qwen*', 'qwen-plus', true],
  ['qwen*', 'my-qwen', false],
  ['*-realtime*', 'fun-asr-realtime-2025-09-15', true],
  ['*-realtime*', 'realtime', false],
  ['qwen*-coder*', 'qwen3-coder-plus', true],
  ['qwen*-coder*', 'qwen-code', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'acb', false],
  ['*bc*bc', 'abc', false],
  ['**', '', true],
  ['gpt-4o', 'gpt-4o', true],
  ['gpt-4o', 'gpt-4o-mini', false],
  ['a.c', 'abc', false],
];

test('matches `*` with any text, and other characters literally', () => {
  for (const [pattern, name, matches] of CASES) {
    assert.equal(compileAliasPattern(pattern)(name), matches, `${pattern} on ${name}`);
  }
});

test('matches a long name against many stars in linear time', () => {
  const matches = compileAliasPattern('*a'.repeat(50));
  assert.equal(matches(`${'a'.repeat(100_000)}b`), false);
});
