import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonSchema } from '../core/grammar.ts';
import { ofTexts } from './automaton.ts';
import { compileGrammar } from './compile.ts';
import { createLanguageMemory } from './language-memory.ts';
import { createWork } from './work.ts';

test('what was worked out for one schema is there for the next, and counts as if it were not', () => {
  const memory = createLanguageMemory();
  let made = 0;
  const make = (work = createWork(10)): number => {
    memory.automaton('key', work, () => {
      made++;
      work.add(7);
      return ofTexts(['a']);
    });
    return work.done;
  };
  assert.deepEqual([make(), make(), made], [7, 7, 1]);
  const work = createWork(10);
  make(work);
  assert.throws(() => make(work), /more than 10 steps/);
});

test('a schema is told the same whatever came before it', () => {
  const memory = createLanguageMemory();
  const compile = (schema: JsonSchema, kept?: typeof memory): string => {
    try {
      return compileGrammar({ type: 'schema', schema, field: 'f' }, kept);
    } catch (error) {
      return String(error);
    }
  };
  const patterns = Array.from({ length: 40 }, (_, at) => ({ pattern: `^[\\p{L}\\p{Nd}]{${at + 30},${at + 90}}$` }));
  const schemas: readonly JsonSchema[] = [
    { properties: { mail: { format: 'email' }, price: { type: 'number', minimum: 0.5, maximum: 99.95 } } },
    { type: 'string', not: { anyOf: patterns } },
  ];
  for (const schema of [...schemas, ...schemas]) assert.equal(compile(schema, memory), compile(schema));
  assert.match(compile(schemas[1] ?? true), /with all other patterns/);
});

test('sets of characters are kept', () => {
  const { propertySet } = createLanguageMemory();
  assert.equal(propertySet('p{Lu}'), propertySet('p{Lu}'));
  assert.notEqual(propertySet('p{Lu}'), propertySet('P{Lu}'));
});
