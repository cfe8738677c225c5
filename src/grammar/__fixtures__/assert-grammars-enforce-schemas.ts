import assert from 'node:assert/strict';
import type { JsonSchema } from '../../core/grammar.ts';
import { createSchemaCheck } from '../schema-check.ts';
import { compileGrammar } from '../compile-grammar.ts';
import { parseTestGbnf } from './test-gbnf-parser.ts';
import { createSeededRandom } from '../../lib/seeded-random.ts';
import { createReferenceValidator } from './reference-validator.ts';
/** Maximum number of parallel parses that an engine can follow at every token without being slow. */
const PARSES_MAX = 16;

/** The problem of a text that a wide grammar of a format allows. */
export const FORMAT_PROBLEM = / must have the format \S+$/;

/**
 * Asserts that random texts of each schema's grammar are valid and are parsed with few parallel parses. Grammars of
 * formats are wide, so that the check may reject a text for its format.
 */
export function assertGrammarsEnforceSchemas(
  schemas: readonly { readonly name: string; readonly schema: JsonSchema }[],
  { walks }: { readonly walks: number },
): void {
  const reference = createReferenceValidator();
  for (const [at, { name, schema }] of schemas.entries()) {
    const grammar = parseTestGbnf(compileGrammar({ type: 'schema', schema, field: name }).gbnf);
    const [isValid, check, random] = [reference(schema), createSchemaCheck(schema), createSeededRandom(at)];
    for (let count = 0; count < walks; count++) {
      const text = grammar.generateText(random);
      const value: unknown = JSON.parse(text);
      const problem = check(value);
      assert.equal(isValid(value), problem === undefined, `${name}: ${text}`);
      if (problem !== undefined) assert.match(problem, FORMAT_PROBLEM, `${name}: ${text}`);
      const { accepted, parsesMax } = grammar.parseText(text);
      assert.ok(accepted && parsesMax <= PARSES_MAX, `${name}: ${parsesMax} parses of ${text}`);
    }
  }
}
