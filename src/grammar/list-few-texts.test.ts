import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTextsAutomaton } from './automaton.ts';
import { listFewTexts } from './list-few-texts.ts';
import { patternToAutomaton } from './pattern-to-automaton.ts';

test('lists the texts of an automaton that has few', () => {
  const few = (source: string): readonly string[] | undefined => listFewTexts(patternToAutomaton(source), 4);
  assert.deepEqual(few('^x$'), ['x']);
  assert.deepEqual(few('^(?:street|square|road)?$')?.toSorted(), ['', 'road', 'square', 'street']);
  assert.deepEqual(few('^[😀-😂]a$'), ['😀a', '😁a', '😂a']);
  for (const many of ['x', '^x', '^x*$', '^[a-e]$', '^[ab]{3}$', '^\\p{L}$', '^.{900}$', '^a{3,900}$'])
    assert.equal(few(many), undefined, many);
  assert.deepEqual(listFewTexts(createTextsAutomaton([]), 4), []);
});
