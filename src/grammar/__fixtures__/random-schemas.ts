import assert from 'node:assert/strict';
import type { JsonSchema } from '../../core/grammar.ts';
import { createCheck } from '../check.ts';
import { compileGrammar } from '../compile.ts';
import { GrammarError } from '../grammar-error.ts';
import { type Gbnf, readGbnf } from './gbnf.ts';
import { mutate } from './mutate.ts';
import { randomSchema } from './random-schema.ts';
import { seeded } from './random.ts';
import { createReference } from './reference.ts';

const WALKS = 3;
const MUTATIONS = 4;

export interface Trial {
  readonly seed: number;
  readonly schema: JsonSchema;
  readonly gbnf: string;
  readonly grammar: Gbnf;
  /** Texts of the grammar, and changed values that are not valid. */
  readonly accepted: readonly string[];
  readonly rejected: readonly string[];
}

/**
 * Random schemas from `seed` on. What a walk through the grammar gives is JSON that another validator, and our own check,
 * find valid; where a changed value is not valid, the grammar does not let it through. Contradictory schemas are refused
 * and left out.
 */
export function* randomTrials(seed: number, count: number): Generator<Trial> {
  const reference = createReference();
  for (let at = seed; at < seed + count; at++) {
    const random = seeded(at);
    const schema = randomSchema(random);
    const gbnf = compiled(schema);
    if (gbnf !== undefined) yield trial({ seed: at, schema, gbnf }, reference(schema), random);
  }
}

function compiled(schema: JsonSchema): string | undefined {
  try {
    return compileGrammar({ type: 'schema', schema, field: 'schema' });
  } catch (error) {
    if (error instanceof GrammarError) return undefined;
    throw error;
  }
}

function trial(
  about: Pick<Trial, 'seed' | 'schema' | 'gbnf'>,
  isValid: (value: unknown) => boolean,
  random: () => number,
): Trial {
  const say = (problem: string, text: string): string =>
    `seed ${about.seed}: ${problem}: ${text}\n${JSON.stringify(about.schema)}\n${about.gbnf}`;
  const grammar = readGbnf(about.gbnf);
  const check = createCheck(about.schema);
  const accepted = Array.from({ length: WALKS }, () => grammar.walk(random));
  const rejected: string[] = [];
  const hasFormat = JSON.stringify(about.schema).includes('"format"');
  for (const text of accepted) {
    const value: unknown = JSON.parse(text);
    assert.ok(isValid(value), say('not valid', text));
    assert.equal(check(value), undefined, say('the check disagrees', text));
    assert.ok(grammar.read(text).accepted, say('not read', text));
    for (let count = 0; count < MUTATIONS; count++) {
      const other = JSON.stringify(mutate(value, random));
      const isOtherValid = isValid(JSON.parse(other));
      const passes = check(JSON.parse(other)) === undefined;
      // Of formats, our check knows the usual spellings only.
      if (passes !== isOtherValid && !(isOtherValid && hasFormat)) assert.fail(say('the check disagrees', other));
      if (isOtherValid) continue;
      assert.ok(!grammar.read(other).accepted, say('let through', other));
      rejected.push(other);
    }
  }
  return { ...about, grammar, accepted, rejected };
}
