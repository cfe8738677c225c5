import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VocabularyEntry } from '../../../store/vocabularies.ts';
import { checkEntries, checkPrefix, checkTargetModel, checkWorkspace } from './rules.ts';

const ENTRY: VocabularyEntry = { text: 'Okonkwo', weight: 4 };
const check = (entries: readonly VocabularyEntry[], targetModel = 'paraformer-v2') =>
  checkEntries(entries, { targetModel, entriesMax: 500 });
const refused = (act: () => void, param: string, message: string | RegExp) =>
  assert.throws(act, { kind: 'invalid-request', param, message });

test('accepts 1 to 500 entries', () => {
  check([ENTRY]);
  check(Array.from({ length: 500 }, () => ENTRY));
  refused(() => check([]), 'input.vocabulary', 'input.vocabulary must have 1 to 500 entries, got 0.');
  const longer = Array.from({ length: 501 }, () => ENTRY);
  refused(() => check(longer), 'input.vocabulary', 'input.vocabulary must have 1 to 500 entries, got 501.');
});

test('a text with a non-ASCII character has at most 15 code points', () => {
  for (const text of ['漢'.repeat(15), '🔑'.repeat(15), `é${'a'.repeat(14)}`, 'a b c d e f g é'])
    check([{ ...ENTRY, text }]);
  const rule =
    'input.vocabulary[1].text must have at most 15 characters, because it contains a non-ASCII character, got 16.';
  for (const text of ['漢'.repeat(16), '🔑'.repeat(16), `é${'a'.repeat(15)}`])
    refused(() => check([ENTRY, { ...ENTRY, text }]), 'input.vocabulary[1].text', rule);
});

test('an ASCII text has at most 7 words and 256 characters', () => {
  for (const text of [
    'a b c d e f g',
    '  a b  c d e f g ',
    'a'.repeat(256),
    'Exothermic reaction of sodium in cold water',
  ])
    check([{ ...ENTRY, text }]);
  const words = 'input.vocabulary[0].text must have at most 7 words, got 8.';
  for (const text of ['a b c d e f g h', 'a\tb\nc d  e f g h'])
    refused(() => check([{ ...ENTRY, text }]), 'input.vocabulary[0].text', words);
  const long = 'input.vocabulary[0].text must have at most 256 characters, got 257.';
  refused(() => check([{ ...ENTRY, text: 'a'.repeat(257) }]), 'input.vocabulary[0].text', long);
});

test('refuses an empty text', () => {
  for (const text of ['', ' ', '\n', '\u3000'])
    refused(
      () => check([{ ...ENTRY, text }]),
      'input.vocabulary[0].text',
      'input.vocabulary[0].text must not be empty.',
    );
});

test('a weight is an integer from 1 to 5', () => {
  for (const weight of [1, 2, 3, 4, 5]) check([{ ...ENTRY, weight }]);
  for (const weight of [0, 6, -1, 2.5, 1e9]) {
    const rule = `input.vocabulary[0].weight must be an integer from 1 to 5, got ${weight}.`;
    refused(() => check([{ ...ENTRY, weight }]), 'input.vocabulary[0].weight', rule);
  }
});

const ONE = ['zh', 'en', 'ja', 'yue', 'ko', 'de', 'fr', 'ru'];
const TWO = ['zh', 'en', 'ja'];
const FAMILIES = [
  ['paraformer-v2', ONE],
  ['paraformer-realtime-v2', ONE],
  ['svc-asr', ONE],
  ['svc-asr-realtime', ONE],
  ['fun-asr', TWO],
  ['fun-asr-realtime-2025-11-07', TWO],
  ['fun-asr-mtl', TWO],
] as const;

for (const [model, languages] of FAMILIES) {
  test(`entries for ${model} may be in ${languages.join(', ')}, and in no other language`, () => {
    for (const lang of languages) check([{ ...ENTRY, lang }], model);
    for (const lang of [...ONE, 'es', 'EN', 'en-US', '', '__proto__'].filter((each) => !languages.includes(each))) {
      const rule = `input.vocabulary[0].lang must be one of ${languages.join(', ')} for ${model}, or omitted, got "${lang}".`;
      refused(() => check([{ ...ENTRY, lang }], model), 'input.vocabulary[0].lang', rule);
    }
  });
}

test('names the first invalid entry', () => {
  const entries = [ENTRY, { text: 'x', weight: 9 }, { text: '', weight: 1 }];
  refused(() => check(entries), 'input.vocabulary[1].weight', /^input\.vocabulary\[1\]\.weight /);
});

test('a prefix is 1 to 10 lowercase letters and digits', () => {
  for (const prefix of ['a', '0', 'abc123', 'a'.repeat(10)]) checkPrefix(prefix);
  for (const prefix of ['', 'A', 'a_b', 'a-b', 'é', '٣', 'a ', 'a\n', 'a'.repeat(11)]) {
    const rule = `input.prefix must be 1 to 10 lowercase letters and digits, got ${JSON.stringify(prefix)}.`;
    refused(() => checkPrefix(prefix), 'input.prefix', rule);
  }
});

test('refuses model names that are too long or contain control characters', () => {
  for (const name of ['a', 'fun-asr', 'a'.repeat(128)]) checkTargetModel(name);
  for (const name of ['', 'a'.repeat(129), 'fun-asr\0', 'fun-asr\n', 'fun-asr\ud800'])
    refused(() => checkTargetModel(name), 'input.target_model', /^input\.target_model must be the name of a model/);
});

test('refuses workspaces other than the primary one', () => {
  checkWorkspace({ workspace: 'primary' });
  for (const workspace of ['team', 'Primary']) {
    const expectedMessage = new RegExp(
      `^Access denied\\. Custom vocabularies are available in the workspace primary only.*${workspace}\\.$`,
    );
    assert.throws(() => checkWorkspace({ workspace }), { kind: 'forbidden', message: expectedMessage });
  }
});
