import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createSeededRandom } from '../lib/seeded-random.ts';
import { walkAutomaton } from './__fixtures__/walk-automaton.ts';
import {
  acceptsText,
  createAnyTextAutomaton,
  AutomatonLimitError,
  subtractAutomata,
  intersectAutomata,
  isEmpty,
  createLengthAutomaton,
  createTextsAutomaton,
  uniteAutomata,
} from './automaton.ts';
import { patternToAutomaton } from './pattern-to-automaton.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '\n', 'é', '😀'), maxLength: 6 });
const texts = fc.array(text, { maxLength: 6 });

test('accepts exactly the listed texts', () => {
  fc.assert(
    fc.property(texts, text, (members, other) => {
      const automaton = createTextsAutomaton(members);
      for (const member of members) assert.ok(acceptsText(automaton, member));
      assert.equal(acceptsText(automaton, other), members.includes(other));
    }),
  );
});

test('counts lengths in code points', () => {
  fc.assert(
    fc.property(text, fc.nat(4), fc.option(fc.nat(4), { nil: undefined }), (member, min, max) => {
      const { length } = [...member];
      assert.equal(acceptsText(createLengthAutomaton(min, max), member), length >= min && length <= (max ?? Infinity));
    }),
  );
});

test('combines languages as their members are combined', () => {
  const PATTERNS = ['^a', 'b$', '^[^"]*$', '^(a|b)*$', '^.{2,3}$', '\\n', '^(?:ab?)+$'];
  const language = fc.oneof(
    fc.constantFrom(...PATTERNS).map(patternToAutomaton),
    texts.map(createTextsAutomaton),
    fc.nat(3).map((min) => createLengthAutomaton(min, min + 2)),
  );
  fc.assert(
    fc.property(language, language, fc.array(text, { maxLength: 20 }), (a, b, candidates) => {
      const [both, either, onlyA] = [intersectAutomata(a, b), uniteAutomata(a, b), subtractAutomata(a, b)];
      for (const candidate of candidates) {
        const [inA, inB] = [acceptsText(a, candidate), acceptsText(b, candidate)];
        assert.equal(acceptsText(both, candidate), inA && inB);
        assert.equal(acceptsText(either, candidate), inA || inB);
        assert.equal(acceptsText(onlyA, candidate), inA && !inB);
      }
    }),
  );
});

test('builds equal automata for equal languages', () => {
  const expected = patternToAutomaton('^(?:a|b)*$');
  for (const same of ['^(?:a*b*)*$', '^[ab]*$', '^(?:|a|b|[ab]{2,})$', '^(?:(?:ab|a|b)*)?$']) {
    assert.deepEqual(patternToAutomaton(same), expected);
  }
  assert.deepEqual(subtractAutomata(createAnyTextAutomaton(), patternToAutomaton('[^ab]')), expected);
});

test('has no dead states: a walk always ends in a member', () => {
  const languages = ['^(?:a[bc]d|a[be]f)+$', 'x{3}', '^[^\\n]{2,9}\\d$'].map((source) => patternToAutomaton(source));
  fc.assert(
    fc.property(fc.constantFrom(...languages), fc.integer(), (language, seed) => {
      assert.ok(acceptsText(language, walkAutomaton(language, createSeededRandom(seed))));
    }),
  );
});

test('recognizes an empty language', () => {
  assert.ok(isEmpty(createTextsAutomaton([])));
  assert.ok(isEmpty(createLengthAutomaton(3, 2)));
  assert.ok(isEmpty(intersectAutomata(patternToAutomaton('^a'), patternToAutomaton('^b'))));
  assert.ok(isEmpty(subtractAutomata(patternToAutomaton('a'), createAnyTextAutomaton())));
  assert.ok(!isEmpty(createTextsAutomaton([''])));
});

test('does not accept a lone surrogate', () => {
  assert.ok(!acceptsText(createAnyTextAutomaton(), 'a\ud800'));
  assert.ok(isEmpty(createTextsAutomaton(['\udfff'])));
});

test('rejects automata above the limits', () => {
  assert.throws(() => createLengthAutomaton(0, 100_000), AutomatonLimitError);
  assert.throws(() => createLengthAutomaton(100_000, undefined), AutomatonLimitError);
  const [multiples, others] = [patternToAutomaton('^(?:a{143})*$'), patternToAutomaton('^(?:a{147})*$')];
  assert.throws(() => intersectAutomata(multiples, others), AutomatonLimitError);
});
