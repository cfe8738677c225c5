import assert from 'node:assert/strict';
import type { JsonSchema } from '../../core/grammar.ts';
import { createCheck } from '../check.ts';
import { compileGrammar } from '../compile.ts';
import { readGbnf } from './gbnf.ts';
import { seeded } from './random.ts';
import { createReference } from './reference.ts';

/** What an engine can be asked to follow at every token without being slow. */
const PARSES_MAX = 16;

/** Asserts that what walks through each schema's grammar give is valid, and is read back in few ways. */
export function enforcedInWhole(
  schemas: readonly { readonly name: string; readonly schema: JsonSchema }[],
  { walks }: { readonly walks: number },
): void {
  const reference = createReference();
  for (const [at, { name, schema }] of schemas.entries()) {
    const grammar = readGbnf(compileGrammar({ type: 'schema', schema, field: name }));
    const [isValid, check, random] = [reference(schema), createCheck(schema), seeded(at)];
    for (let count = 0; count < walks; count++) {
      const text = grammar.walk(random);
      const value: unknown = JSON.parse(text);
      assert.ok(isValid(value), `${name}: ${text}`);
      assert.equal(check(value), undefined, `${name}: ${text}`);
      const { accepted, parsesMax } = grammar.read(text);
      assert.ok(accepted && parsesMax <= PARSES_MAX, `${name}: ${parsesMax} parses of ${text}`);
    }
  }
}
