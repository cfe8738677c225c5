import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ofTexts } from './automaton.ts';
import { fewTexts } from './few-texts.ts';
import { fromPattern } from './pattern.ts';

test('an automaton with a few texts names them all', () => {
  const few = (source: string): readonly string[] | undefined => fewTexts(fromPattern(source), 4);
  assert.deepEqual(few('^x$'), ['x']);
  assert.deepEqual(few('^(?:street|square|road)?$')?.toSorted(), ['', 'road', 'square', 'street']);
  assert.deepEqual(few('^[😀-😂]a$'), ['😀a', '😁a', '😂a']);
  for (const many of ['x', '^x', '^x*$', '^[a-e]$', '^[ab]{3}$', '^\\p{L}$', '^.{900}$', '^a{3,900}$'])
    assert.equal(few(many), undefined, many);
  assert.deepEqual(fewTexts(ofTexts([]), 4), []);
});
