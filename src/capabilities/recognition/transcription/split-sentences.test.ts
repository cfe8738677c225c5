import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecognizedWord } from '../../../core/speech.ts';
import { splitTranscript, joinWords } from './split-sentences.ts';

/** Creates words of 100 ms without pauses; a number is a pause in ms. */
function createWords(...parts: readonly (string | number)[]): RecognizedWord[] {
  let at = 0;
  return parts.flatMap((part) => {
    if (typeof part === 'number') {
      at += part;
      return [];
    }
    const [, text = '', punctuation = ''] = /^(.*?)([.,?!。…]*\s?)$/u.exec(part) ?? [];
    at += 100;
    return [{ text, punctuation, beginMs: at - 100, endMs: at }];
  });
}

const splitToTexts = (...parts: readonly (string | number)[]): string[] =>
  splitTranscript({ words: createWords(...parts), language: 'en' }, { pauseMs: 500 }).map(({ text }) => text);

test('splits at punctuation', () => {
  assert.deepEqual(splitToTexts('Hello, ', 'world. ', 'Who ', 'is ', 'there? ', 'Me.'), [
    'Hello, world.',
    'Who is there?',
    'Me.',
  ]);
});

test('splits at pauses', () => {
  assert.deepEqual(splitToTexts('so ', 'it ', 500, 'goes ', 499, 'on'), ['so it', 'goes on']);
});

test('does not split at a full stop before a lowercase letter', () => {
  assert.deepEqual(splitToTexts('e.g. ', 'this'), ['e.g. this']);
});

test('splits text without spaces and capital letters', () => {
  assert.deepEqual(splitToTexts('你', '好。', '再', '见。'), ['你好。', '再见。']);
});

test('returns sentences with the times and all words', () => {
  const expectedWords = createWords('One. ', 600, 'Two ', 'three.');
  const sentences = splitTranscript({ words: expectedWords, language: 'de' }, { pauseMs: 500 });
  assert.deepEqual(
    sentences.map(({ beginMs, endMs, language }) => [beginMs, endMs, language]),
    [
      [0, 100, 'de'],
      [700, 900, 'de'],
    ],
  );
  assert.deepEqual(
    sentences.flatMap((each) => each.words),
    expectedWords,
  );
  assert.equal(joinWords(expectedWords), 'One. Two three.');
});

test('returns no sentence for words without text', () => {
  assert.deepEqual(splitToTexts(' '), []);
});
