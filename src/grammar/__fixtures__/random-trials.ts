import assert from 'node:assert/strict';
import type { JsonSchema } from '../../core/grammar.ts';
import { createSchemaCheck } from '../schema-check.ts';
import { compileGrammar } from '../compile-grammar.ts';
import { GrammarError } from '../grammar-error.ts';
import { type GbnfGrammar, parseTestGbnf } from './test-gbnf-parser.ts';
import { mutateValue } from './mutate-value.ts';
import { createRandomSchema } from './random-schema.ts';
import { createSeededRandom } from '../../lib/seeded-random.ts';
import { FORMAT_PROBLEM } from './assert-grammars-enforce-schemas.ts';
import { createReferenceValidator } from './reference-validator.ts';

const WALKS = 3;
const MUTATIONS = 4;

export interface SchemaTrial {
  readonly seed: number;
  readonly schema: JsonSchema;
  readonly gbnf: string;
  readonly grammar: GbnfGrammar;
  /** Texts that the grammar generates, and mutated values that are invalid. */
  readonly accepted: readonly string[];
  readonly rejected: readonly string[];
}

/**
 * Tries random schemas from `seed` on. Texts that the grammar generates must be valid for another validator and for
 * Parley's check; mutated values that are invalid must not match the grammar. Rejected contradictory schemas are left
 * out.
 */
export function* createRandomTrials(seed: number, count: number): Generator<SchemaTrial> {
  const reference = createReferenceValidator();
  for (let at = seed; at < seed + count; at++) {
    const random = createSeededRandom(at);
    const schema = createRandomSchema(random);
    const gbnf = tryCompile(schema);
    if (gbnf !== undefined) yield runTrial({ seed: at, schema, gbnf }, reference(schema), random);
  }
}

function tryCompile(schema: JsonSchema): string | undefined {
  try {
    return compileGrammar({ type: 'schema', schema, field: 'schema' }).gbnf;
  } catch (error) {
    if (error instanceof GrammarError) return undefined;
    throw error;
  }
}

function runTrial(
  about: Pick<SchemaTrial, 'seed' | 'schema' | 'gbnf'>,
  isValid: (value: unknown) => boolean,
  random: () => number,
): SchemaTrial {
  const say = (problem: string, text: string): string =>
    `seed ${about.seed}: ${problem}: ${text}\n${JSON.stringify(about.schema)}\n${about.gbnf}`;
  const grammar = parseTestGbnf(about.gbnf);
  const check = createSchemaCheck(about.schema);
  const accepted = Array.from({ length: WALKS }, () => grammar.generateText(random));
  const rejected: string[] = [];
  for (const text of accepted) {
    const value: unknown = JSON.parse(text);
    const problem = check(value);
    assert.equal(isValid(value), problem === undefined, say('the check disagrees', text));
    if (problem !== undefined) assert.match(problem, FORMAT_PROBLEM, say('not valid', text));
    assert.ok(grammar.parseText(text).accepted, say('not read', text));
    for (let count = 0; count < MUTATIONS; count++) {
      const other = JSON.stringify(mutateValue(value, random));
      const isOtherValid = isValid(JSON.parse(other));
      const passes = check(JSON.parse(other)) === undefined;
      assert.equal(passes, isOtherValid, say('the check disagrees', other));
      if (isOtherValid || FORMAT_PROBLEM.test(check(JSON.parse(other)) ?? '')) continue;
      assert.ok(!grammar.parseText(other).accepted, say('let through', other));
      rejected.push(other);
    }
  }
  return { ...about, grammar, accepted, rejected };
}
