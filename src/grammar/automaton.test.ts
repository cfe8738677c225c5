import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { seeded } from './__fixtures__/random.ts';
import { walk } from './__fixtures__/walk.ts';
import {
  accepts,
  anyText,
  AutomatonLimitError,
  difference,
  intersect,
  isEmpty,
  ofLength,
  ofTexts,
  union,
} from './automaton.ts';
import { fromPattern } from './pattern.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '\n', 'é', '😀'), maxLength: 6 });
const texts = fc.array(text, { maxLength: 6 });

test('a list of texts accepts these and no others', () => {
  fc.assert(
    fc.property(texts, text, (members, other) => {
      const automaton = ofTexts(members);
      for (const member of members) assert.ok(accepts(automaton, member));
      assert.equal(accepts(automaton, other), members.includes(other));
    }),
  );
});

test('lengths are counted in code points', () => {
  fc.assert(
    fc.property(text, fc.nat(4), fc.option(fc.nat(4), { nil: undefined }), (member, min, max) => {
      const { length } = [...member];
      assert.equal(accepts(ofLength(min, max), member), length >= min && length <= (max ?? Infinity));
    }),
  );
});

test('combinations of languages agree with combinations of answers', () => {
  const PATTERNS = ['^a', 'b$', '^[^"]*$', '^(a|b)*$', '^.{2,3}$', '\\n', '^(?:ab?)+$'];
  const language = fc.oneof(
    fc.constantFrom(...PATTERNS).map(fromPattern),
    texts.map(ofTexts),
    fc.nat(3).map((min) => ofLength(min, min + 2)),
  );
  fc.assert(
    fc.property(language, language, fc.array(text, { maxLength: 20 }), (a, b, candidates) => {
      const [both, either, onlyA] = [intersect(a, b), union(a, b), difference(a, b)];
      for (const candidate of candidates) {
        const [inA, inB] = [accepts(a, candidate), accepts(b, candidate)];
        assert.equal(accepts(both, candidate), inA && inB);
        assert.equal(accepts(either, candidate), inA || inB);
        assert.equal(accepts(onlyA, candidate), inA && !inB);
      }
    }),
  );
});

test('equal languages have equal automata', () => {
  const expected = fromPattern('^(?:a|b)*$');
  for (const same of ['^(?:a*b*)*$', '^[ab]*$', '^(?:|a|b|[ab]{2,})$', '^(?:(?:ab|a|b)*)?$']) {
    assert.deepEqual(fromPattern(same), expected);
  }
  assert.deepEqual(difference(anyText(), fromPattern('[^ab]')), expected);
});

test('no state is dead: a walk always ends in a member', () => {
  const languages = ['^(?:a[bc]d|a[be]f)+$', 'x{3}', '^[^\\n]{2,9}\\d$'].map((source) => fromPattern(source));
  fc.assert(
    fc.property(fc.constantFrom(...languages), fc.integer(), (language, seed) => {
      assert.ok(accepts(language, walk(language, seeded(seed))));
    }),
  );
});

test('a language without members is told as empty', () => {
  assert.ok(isEmpty(ofTexts([])));
  assert.ok(isEmpty(ofLength(3, 2)));
  assert.ok(isEmpty(intersect(fromPattern('^a'), fromPattern('^b'))));
  assert.ok(isEmpty(difference(fromPattern('a'), anyText())));
  assert.ok(!isEmpty(ofTexts([''])));
});

test('half a character is no text', () => {
  assert.ok(!accepts(anyText(), 'a\ud800'));
  assert.ok(isEmpty(ofTexts(['\udfff'])));
});

test('what would be too large is refused', () => {
  assert.throws(() => ofLength(0, 100_000), AutomatonLimitError);
  assert.throws(() => ofLength(100_000, undefined), AutomatonLimitError);
  const [multiples, others] = [fromPattern('^(?:a{143})*$'), fromPattern('^(?:a{147})*$')];
  assert.throws(() => intersect(multiples, others), AutomatonLimitError);
});
