import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { createSeededRandom } from '../lib/seeded-random.ts';
import { walkAutomaton } from './__fixtures__/walk-automaton.ts';
import { acceptsText, AutomatonLimitError, isEmpty } from './automaton.ts';
import { patternToAutomaton, PatternError } from './pattern-to-automaton.ts';

/** A few characters, so that they match often; includes ones that JSON escapes and ones of two UTF-16 units. */
const text = fc.string({ unit: fc.constantFrom('a', 'b', '-', '"', '\\', '\n', ' ', '7', 'é', '😀'), maxLength: 7 });

const ATOMS = [
  'a',
  'b',
  '"',
  '-',
  '\\\\',
  '\\n',
  '.',
  '😀',
  '[ab]',
  '[^a]',
  '[^"\\n]',
  '[a-é]',
  '[\\d\\s-]',
  '\\w',
  '\\S',
];
const ESCAPED_ATOMS = ['\\u0061', '\\u{1F600}', '\\ud83d\\ude00', '\\x62', '[\\ud83d\\ude00]', ''];
const atom = fc.constantFrom(...ATOMS, ...ESCAPED_ATOMS);
const { pattern } = fc.letrec<{ pattern: string; sequence: string; term: string; group: string }>((tie) => ({
  pattern: fc.oneof(
    { weight: 3, arbitrary: tie('sequence') },
    fc.tuple(tie('sequence'), tie('sequence')).map((all) => all.join('|')),
  ),
  sequence: fc.array(tie('term'), { maxLength: 3 }).map((terms) => terms.join('')),
  term: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    fc.constantFrom('^', '$'),
    fc
      .tuple(atom, fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,}', '{0,2}', '*?', '{1,3}?'))
      .map(([one, times]) => (one === '' ? '' : one + times)),
    tie('group'),
  ),
  group: fc
    .tuple(fc.constantFrom('(', '(?:'), tie('pattern'), fc.constantFrom('', '*', '+', '?', '{2}', '{0,3}'))
    .map(([open, inner, times]) => `${open}${inner})${times}`),
}));

test('accepts exactly the texts in which the runtime finds a match', () => {
  fc.assert(
    fc.property(
      pattern,
      fc.boolean(),
      fc.array(text, { minLength: 5, maxLength: 12 }),
      (inner, isAnchored, candidates) => {
        const source = isAnchored ? `^(?:${inner})$` : inner;
        const automaton = patternToAutomaton(source);
        const judge = new RegExp(source, 'u');
        for (const candidate of candidates) {
          assert.equal(acceptsText(automaton, candidate), judge.test(candidate), JSON.stringify({ source, candidate }));
        }
      },
    ),
    { numRuns: scalePropertyRuns(300) },
  );
});

test('generates only texts in which the runtime finds a match', () => {
  fc.assert(
    fc.property(pattern, fc.integer(), (source, seed) => {
      const automaton = patternToAutomaton(`^(?:${source})$`);
      if (isEmpty(automaton)) return;
      assert.match(walkAutomaton(automaton, createSeededRandom(seed)), new RegExp(`^(?:${source})$`, 'u'));
    }),
  );
});

test('supports character properties, alone and in classes', () => {
  for (const source of ['^\\p{L}+$', '^\\P{L}$', '^[^\\p{Lu}\\d]$', '^[\\p{Emoji}a]$', '^\\p{Script=Han}$']) {
    const automaton = patternToAutomaton(source);
    const judge = new RegExp(source, 'u');
    const candidates = [
      'a',
      'A',
      'é',
      'Ж',
      '1',
      '😀',
      '\n',
      '漢',
      '\u{20000}',
      '\u{4fffe}',
      '\u{40000}',
      '\u{10fffd}',
      '\u{e0001}',
    ];
    for (const candidate of candidates) {
      assert.equal(acceptsText(automaton, candidate), judge.test(candidate), JSON.stringify({ source, candidate }));
    }
  }
});

test('supports lookaheads directly after the start anchor', () => {
  for (const source of ['^(?=.*[A-Z])(?=.*\\d).{4,8}$', '^(?!\\s*$).+', '^(?!.*--)[a-z-]+$', '^(?=a|b$)']) {
    const automaton = patternToAutomaton(source);
    const judge = new RegExp(source, 'u');
    for (const candidate of ['', ' ', 'Ab1', 'Ab1d', 'ab1d', 'Ab1defghi', 'a-b', 'a--b', 'b', 'bb', '\n', ' x']) {
      assert.equal(acceptsText(automaton, candidate), judge.test(candidate), JSON.stringify({ source, candidate }));
    }
  }
});

test('ignores needless backslashes', () => {
  assert.ok(acceptsText(patternToAutomaton('^\\-\\@[\\@\\-\\"]\\_\\é$'), '-@"_é'));
});

test('supports the character classes of ECMA-262', () => {
  for (const escape of [
    '\\d',
    '\\D',
    '\\w',
    '\\W',
    '\\s',
    '\\S',
    '.',
    '\\p{Lu}',
    '\\P{Script=Greek}',
    '\\cJ',
    '\\0',
    '[\\b]',
  ]) {
    const automaton = patternToAutomaton(`^${escape}$`);
    const judge = new RegExp(`^${escape}$`, 'u');
    for (let codePoint = 0; codePoint < 0x3100; codePoint++) {
      const character = String.fromCodePoint(codePoint);
      assert.equal(acceptsText(automaton, character), judge.test(character), `${escape} ${codePoint.toString(16)}`);
    }
  }
});

test('rejects and names unsupported syntax', () => {
  const refusals: readonly (readonly [string, RegExp])[] = [
    ['(a)\\1', /back reference/],
    ['(?<x>a)\\k<x>', /back reference/],
    ['a(?=b)', /lookahead/],
    ['(?:^(?!a))b', /lookahead/],
    [`^${'(?=a)'.repeat(9)}`, /9 lookaheads/],
    ['(?<=a)b', /lookbehind/],
    ['(?<!a)b', /lookbehind/],
    ['\\bword', /word boundary/],
    ['(?i:a)', /group/],
    ['[', /Unterminated character class/],
    ['a{2,1}', /out of order/],
    ['\\Z', /Invalid escape/],
    ['a**', /Nothing to repeat/],
    ['('.repeat(300) + ')'.repeat(300), /nested/],
    ['a'.repeat(20_000), /characters/],
  ];
  for (const [source, message] of refusals) {
    assert.throws(
      () => patternToAutomaton(source),
      (thrown) => thrown instanceof PatternError && message.test(thrown.message),
    );
  }
});

test('compiles or rejects hostile expressions in bounded time', () => {
  const hostile = [
    '^(|){1000000000}$',
    '(a|b)*a(a|b){30}',
    '^(a|b)*a(a|b){30}$',
    '((a{1,100}){1,100}){1,100}',
    '(a?){5000}a{5000}',
    '.{0,5000}$',
    '^\\p{L}{1000}$',
  ];
  for (const source of hostile) assert.throws(() => patternToAutomaton(source), AutomatonLimitError);
  for (const source of ['(a+)+$', '(x+x+)+y', '^((a*)*)*$', '^(){1000000000}$']) patternToAutomaton(source);
});
