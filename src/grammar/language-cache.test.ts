import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonSchema } from '../core/grammar.ts';
import { createTextsAutomaton } from './automaton.ts';
import { prepareSchema } from './compile-schema.ts';
import { createGrammarBuilder } from './grammar-builder.ts';
import { createLanguageCache } from './language-cache.ts';
import { createWorkBudget } from './work-budget.ts';

test('reuses automata between schemas and counts the same work for each', () => {
  const cache = createLanguageCache();
  let made = 0;
  const make = (work = createWorkBudget(10)): number => {
    cache.getAutomaton('key', work, () => {
      made++;
      work.add(7);
      return createTextsAutomaton(['a']);
    });
    return work.stepsDone;
  };
  assert.deepEqual([make(), make(), made], [7, 7, 1]);
  const work = createWorkBudget(10);
  make(work);
  assert.throws(() => make(work), /more than 10 steps/);
});

test('gives the same result for a schema whatever was compiled before', () => {
  const cache = createLanguageCache();
  const compile = (schema: JsonSchema, kept?: typeof cache): string => {
    const builder = createGrammarBuilder();
    try {
      // Less than AUTOMATA_WORK_MAX, so that a few patterns exceed it.
      const work = createWorkBudget(400_000);
      const { rule } = prepareSchema(schema, 'f', { work, ...(kept && { cache: kept }) })(builder, 'all');
      return builder.print(rule, [rule]);
    } catch (error) {
      return String(error);
    }
  };
  const patterns = Array.from({ length: 6 }, (_, at) => ({ pattern: `^[\\p{L}\\p{Nd}]{${at + 30},${at + 90}}$` }));
  const schemas: readonly JsonSchema[] = [
    { properties: { mail: { format: 'email' }, price: { type: 'number', minimum: 0.5, maximum: 99.95 } } },
    { type: 'string', not: { anyOf: patterns } },
  ];
  const results = schemas.map((schema) => compile(schema));
  for (let round = 0; round < 2; round += 1) {
    const found = schemas.map((schema) => compile(schema, cache));
    assert.deepEqual(found, results);
  }
  assert.match(results[0] ?? '', /^root ::=/m);
  assert.match(results[1] ?? '', /with all other patterns/);
});

test('caches character sets', () => {
  const { getPropertySet } = createLanguageCache();
  assert.equal(getPropertySet('p{Lu}'), getPropertySet('p{Lu}'));
  assert.notEqual(getPropertySet('p{Lu}'), getPropertySet('P{Lu}'));
});
