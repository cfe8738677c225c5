import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readGbnf } from './__fixtures__/gbnf.ts';
import { seeded } from './__fixtures__/random.ts';
import { createReference } from './__fixtures__/reference.ts';
import { handWritten, schemas } from './__fixtures__/schemas.ts';
import { createCheck } from './check.ts';
import { compileGrammar } from './compile.ts';

/** What an engine can be asked to follow at every token without being slow. */
const PARSES_MAX = 16;

test('200 schemas as callers write them are enforced in whole', () => {
  const reference = createReference();
  assert.equal(handWritten.length, 20);
  assert.equal(new Set(schemas.map(({ name }) => name)).size, 200);
  for (const [at, { name, schema }] of schemas.entries()) {
    const grammar = readGbnf(compileGrammar({ type: 'schema', schema, field: name }));
    const [isValid, check, random] = [reference(schema), createCheck(schema), seeded(at)];
    for (let count = 0; count < 2; count++) {
      const text = grammar.walk(random);
      const value: unknown = JSON.parse(text);
      assert.ok(isValid(value), `${name}: ${text}`);
      assert.equal(check(value), undefined, `${name}: ${text}`);
      const { accepted, parsesMax } = grammar.read(text);
      assert.ok(accepted && parsesMax <= PARSES_MAX, `${name}: ${parsesMax} parses of ${text}`);
    }
  }
});
