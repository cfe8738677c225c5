import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readGbnf } from './__fixtures__/gbnf.ts';
import { seeded } from './__fixtures__/random.ts';
import { walk } from './__fixtures__/walk.ts';
import { toRules, type RuleOptions } from './automaton-rules.ts';
import { accepts, anyText, AutomatonLimitError, ofLength, ofTexts, type Automaton } from './automaton.ts';
import { fromPattern } from './pattern.ts';

const print = (automaton: Automaton, encode: RuleOptions['encode']): string =>
  toRules(automaton, { name: 'root', encode })
    .map(({ name, body }) => `${name} ::= ${body}`)
    .join('\n');

const LANGUAGES: readonly Automaton[] = [
  anyText(),
  ofLength(1, 3),
  ofTexts(['', 'a"b', 'a\\', '\n\u0001\u001f', 'é😀', ']^-[']),
  ...[
    '^[a-c]+(?:-[a-c]+)*$',
    'a"',
    '^[^"\\n]*$',
    '^["\\\\]+x?$',
    '^[\\u0000-\\u001f]$',
    '^(?:ab|cd)*$',
    '^\\p{L}{2}$',
  ].map((source) => fromPattern(source)),
];
const text = fc.string({ unit: fc.constantFrom('a', 'b', '-', '"', '\\', '\n', '\u0001', 'é', '😀'), maxLength: 5 });

test('the rules generate the inside of JSON strings whose values the automaton accepts, and nothing else', () => {
  const pairs = LANGUAGES.map((language) => ({ language, grammar: readGbnf(print(language, 'json-string')) }));
  fc.assert(
    fc.property(fc.constantFrom(...pairs), text, fc.integer(), ({ language, grammar }, other, seed) => {
      const random = seeded(seed);
      assert.ok(accepts(language, JSON.parse(`"${grammar.walk(random)}"`)));
      for (const candidate of [walk(language, random), other]) {
        const { accepted, parsesMax } = grammar.read(JSON.stringify(candidate).slice(1, -1));
        assert.equal(accepted, accepts(language, candidate), JSON.stringify(candidate));
        assert.ok(parsesMax <= 8, `${parsesMax} parses`);
      }
    }),
    { numRuns: 400 },
  );
});

test('as text, characters stand for themselves', () => {
  const pairs = LANGUAGES.map((language) => ({ language, grammar: readGbnf(print(language, 'text')) }));
  fc.assert(
    fc.property(fc.constantFrom(...pairs), text, fc.integer(), ({ language, grammar }, other, seed) => {
      for (const candidate of [walk(language, seeded(seed)), other]) {
        assert.equal(grammar.read(candidate).accepted, accepts(language, candidate), JSON.stringify(candidate));
      }
    }),
  );
});

test('a character has one spelling inside a JSON string', () => {
  const grammar = readGbnf(print(anyText(), 'json-string'));
  for (const spelling of ['\\n', '\\u0000', '\\u001f', '\\"', 'é', '/'])
    assert.ok(grammar.read(spelling).accepted, spelling);
  for (const spelling of ['\\u000a', '\\u001F', '\\u0022', '\\u00e9', '\\/', '"', '\\', '\n']) {
    assert.ok(!grammar.read(spelling).accepted, spelling);
  }
});

test('a run of states is one rule, a loop is a star, and a long set is written once', () => {
  assert.equal(print(fromPattern('^ab[0-9]{2}"$'), 'json-string'), 'root ::= "ab" [0-9] [0-9] "\\\\\\""');
  assert.equal(print(fromPattern('^x[a-w]*y+$'), 'text'), 'root ::= "x" [a-w]* "y" "y"*');
  assert.equal(print(fromPattern('^(?:a[12])?b$'), 'text'), 'root ::= "a" [12] "b" | "b"');
  assert.equal(print(ofTexts(['red', 'green']), 'text'), 'root ::= "green" | "red"');
  assert.equal(toRules(ofLength(3, 3), { name: 's', encode: 'json-string' }).length, 2);
});

test('refuses rules beyond the size of a grammar', () => {
  const sets = Array.from({ length: 120 }, (_, index) => `[\\p{L}${String.fromCodePoint(0x1f600 + index)}]`);
  assert.throws(() => print(fromPattern(`^${sets.join('')}$`), 'text'), AutomatonLimitError);
});
