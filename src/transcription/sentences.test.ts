import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeardWord } from '../core/speech.ts';
import { sentencesOf, textOf } from './sentences.ts';

/** Words of 100 ms, each right behind the other; a number is a pause. */
function words(...parts: readonly (string | number)[]): HeardWord[] {
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

const texts = (...parts: readonly (string | number)[]): string[] =>
  sentencesOf({ words: words(...parts), language: 'en' }, { pauseMs: 500 }).map(({ text }) => text);

test('a sentence ends with its punctuation', () => {
  assert.deepEqual(texts('Hello, ', 'world. ', 'Who ', 'is ', 'there? ', 'Me.'), [
    'Hello, world.',
    'Who is there?',
    'Me.',
  ]);
});

test('a sentence ends with a pause', () => {
  assert.deepEqual(texts('so ', 'it ', 500, 'goes ', 499, 'on'), ['so it', 'goes on']);
});

test('a full stop before a small letter ends none', () => {
  assert.deepEqual(texts('e.g. ', 'this'), ['e.g. this']);
});

test('languages without blanks and capitals have sentences', () => {
  assert.deepEqual(texts('你', '好。', '再', '见。'), ['你好。', '再见。']);
});

test('a sentence has the times of its words, and all of them', () => {
  const said = words('One. ', 600, 'Two ', 'three.');
  const sentences = sentencesOf({ words: said, language: 'de' }, { pauseMs: 500 });
  assert.deepEqual(
    sentences.map(({ beginMs, endMs, language }) => [beginMs, endMs, language]),
    [
      [0, 100, 'de'],
      [700, 900, 'de'],
    ],
  );
  assert.deepEqual(
    sentences.flatMap((each) => each.words),
    said,
  );
  assert.equal(textOf(said), 'One. Two three.');
});

test('words that say nothing are no sentence', () => {
  assert.deepEqual(texts(' '), []);
});
