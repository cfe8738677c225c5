import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { parseTestGbnf } from './__fixtures__/test-gbnf-parser.ts';
import { createSeededRandom } from '../lib/seeded-random.ts';
import { walkAutomaton } from './__fixtures__/walk-automaton.ts';
import { automatonToRules, type AutomatonRuleOptions } from './automaton-rules.ts';
import {
  acceptsText,
  createAnyTextAutomaton,
  AutomatonLimitError,
  createLengthAutomaton,
  createTextsAutomaton,
  type Automaton,
} from './automaton.ts';
import { patternToAutomaton } from './pattern-to-automaton.ts';

const print = (automaton: Automaton, encode: AutomatonRuleOptions['encode']): string =>
  automatonToRules(automaton, { name: 'root', encode })
    .map(({ name, body }) => `${name} ::= ${body}`)
    .join('\n');

const LANGUAGES: readonly Automaton[] = [
  createAnyTextAutomaton(),
  createLengthAutomaton(1, 3),
  createTextsAutomaton(['', 'a"b', 'a\\', '\n\u0001\u001f', 'é😀', ']^-[']),
  ...[
    '^[a-c]+(?:-[a-c]+)*$',
    'a"',
    '^[^"\\n]*$',
    '^["\\\\]+x?$',
    '^[\\u0000-\\u001f]$',
    '^(?:ab|cd)*$',
    '^\\p{L}{2}$',
  ].map((source) => patternToAutomaton(source)),
];
const text = fc.string({ unit: fc.constantFrom('a', 'b', '-', '"', '\\', '\n', '\u0001', 'é', '😀'), maxLength: 5 });

test('generates exactly the JSON string contents whose values the automaton accepts', () => {
  const pairs = LANGUAGES.map((language) => ({ language, grammar: parseTestGbnf(print(language, 'json-string')) }));
  fc.assert(
    fc.property(fc.constantFrom(...pairs), text, fc.integer(), ({ language, grammar }, other, seed) => {
      const random = createSeededRandom(seed);
      assert.ok(acceptsText(language, JSON.parse(`"${grammar.generateText(random)}"`)));
      for (const candidate of [walkAutomaton(language, random), other]) {
        const { accepted, parsesMax } = grammar.parseText(JSON.stringify(candidate).slice(1, -1));
        assert.equal(accepted, acceptsText(language, candidate), JSON.stringify(candidate));
        assert.ok(parsesMax <= 8, `${parsesMax} parses`);
      }
    }),
    { numRuns: scalePropertyRuns(400) },
  );
});

test('generates the texts themselves with the encoding text', () => {
  const pairs = LANGUAGES.map((language) => ({ language, grammar: parseTestGbnf(print(language, 'text')) }));
  fc.assert(
    fc.property(fc.constantFrom(...pairs), text, fc.integer(), ({ language, grammar }, other, seed) => {
      for (const candidate of [walkAutomaton(language, createSeededRandom(seed)), other]) {
        assert.equal(
          grammar.parseText(candidate).accepted,
          acceptsText(language, candidate),
          JSON.stringify(candidate),
        );
      }
    }),
  );
});

test('spells each character in one way inside a JSON string', () => {
  const grammar = parseTestGbnf(print(createAnyTextAutomaton(), 'json-string'));
  for (const spelling of ['\\n', '\\u0000', '\\u001f', '\\"', 'é', '/'])
    assert.ok(grammar.parseText(spelling).accepted, spelling);
  for (const spelling of ['\\u000a', '\\u001F', '\\u0022', '\\u00e9', '\\/', '"', '\\', '\n']) {
    assert.ok(!grammar.parseText(spelling).accepted, spelling);
  }
});

test('writes a chain of states as one rule, a loop as a star, and a long set once', () => {
  assert.equal(print(patternToAutomaton('^ab[0-9]{2}"$'), 'json-string'), 'root ::= "ab" [0-9] [0-9] "\\\\\\""');
  assert.equal(print(patternToAutomaton('^x[a-w]*y+$'), 'text'), 'root ::= "x" [a-w]* "y" "y"*');
  assert.equal(print(patternToAutomaton('^(?:a[12])?b$'), 'text'), 'root ::= "a" [12] "b" | "b"');
  assert.equal(print(createTextsAutomaton(['red', 'green']), 'text'), 'root ::= "green" | "red"');
  assert.equal(automatonToRules(createLengthAutomaton(3, 3), { name: 's', encode: 'json-string' }).length, 2);
});

test('rejects rules above the size limit of a grammar', () => {
  const sets = Array.from({ length: 120 }, (_, index) => `[\\p{L}${String.fromCodePoint(0x1f600 + index)}]`);
  assert.throws(() => print(patternToAutomaton(`^${sets.join('')}$`), 'text'), AutomatonLimitError);
});
