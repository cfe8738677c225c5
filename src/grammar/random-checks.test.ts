import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import type { JsonSchema } from '../core/grammar.ts';
import { createSeededRandom } from '../lib/seeded-random.ts';
import { createReferenceValidator } from './__fixtures__/reference-validator.ts';
import { createSchemaCheck } from './schema-check.ts';

const SCHEMAS = scalePropertyRuns(400);
const VALUES_EACH = 12;

/** Creates small values, which often match a small schema and often repeat. */
function randomValue(random: () => number, depth: number): unknown {
  const below = (count: number): number => Math.floor(random() * count);
  const kind = below(depth > 0 ? 8 : 4);
  if (kind < 2) return below(4);
  if (kind === 2) return ['a', 'b', '', 'abc'][below(4)];
  if (kind === 3) return [null, true, 1.5][below(3)];
  if (kind < 6) return Array.from({ length: below(4) }, () => randomValue(random, depth - 1));
  const names = ['a', 'b', 'c'].filter(() => random() < 0.5);
  return Object.fromEntries(names.map((name) => [name, randomValue(random, depth - 1)]));
}

/** Creates schemas mostly of keywords that no grammar enforces. */
function randomSchema(random: () => number, depth: number): JsonSchema {
  const below = (count: number): number => Math.floor(random() * count);
  const name = (): string => 'abc'.charAt(below(3));
  const inner = (): JsonSchema => randomSchema(random, depth - 1);
  const branch = (keyword: string) => ({ [keyword]: inner() });
  const list = (): JsonSchema[] => Array.from({ length: 1 + below(3) }, inner);
  const leaves: readonly (() => Record<string, unknown>)[] = [
    () => ({ type: ['integer', 'string', 'array', 'object', 'null'][below(5)] }),
    () => ({ const: randomValue(random, 1) }),
    () => ({ minimum: below(3) }),
    () => ({ maxLength: below(3) }),
    () => ({ uniqueItems: random() < 0.8 }),
    () => ({ minProperties: below(3) }),
    () => ({ maxProperties: below(3) }),
    () => ({ required: [name()] }),
    () => ({ dependentRequired: { [name()]: [name()] } }),
  ];
  const nested: readonly (() => Record<string, unknown>)[] = [
    () => ({
      contains: inner(),
      ...(random() < 0.6 ? { minContains: below(3) } : {}),
      ...(random() < 0.6 ? { maxContains: 2 + below(2) } : {}),
    }),
    () => ({ not: inner() }),
    () => ({
      if: inner(),
      ...(random() < 0.8 ? branch('then') : {}),
      ...(random() < 0.6 ? branch('else') : {}),
    }),
    () => ({ dependentSchemas: { [name()]: inner() } }),
    () => ({ oneOf: list() }),
    () => ({ anyOf: list() }),
    () => ({ items: inner() }),
    () => ({ allOf: list() }),
    () => ({ unevaluatedProperties: random() < 0.5 ? false : inner() }),
    () => ({ properties: { [name()]: inner(), [name()]: inner() } }),
  ];
  const parts = Array.from({ length: 1 + below(3) }, () => {
    const from = depth > 0 && random() < 0.7 ? nested : leaves;
    return from[below(from.length)]?.() ?? {};
  });
  return Object.assign({}, ...parts);
}

test(`${SCHEMAS} random schemas of checked keywords agree with another validator`, () => {
  const reference = createReferenceValidator();
  const random = createSeededRandom(11);
  const verdicts = { valid: 0, invalid: 0 };
  for (let trial = 0; trial < SCHEMAS; trial++) {
    const schema = randomSchema(random, 2);
    const [isValid, check] = [reference(schema), createSchemaCheck(schema)];
    for (let i = 0; i < VALUES_EACH; i++) {
      const value = randomValue(random, 2);
      const expected = isValid(value);
      verdicts[expected ? 'valid' : 'invalid']++;
      assert.equal(
        check(value) === undefined,
        expected,
        `${JSON.stringify(schema)} ${JSON.stringify(value)}: ${check(value)}`,
      );
    }
  }
  const each = (SCHEMAS * VALUES_EACH) / 5;
  assert.ok(verdicts.valid > each && verdicts.invalid > each, JSON.stringify(verdicts));
});
