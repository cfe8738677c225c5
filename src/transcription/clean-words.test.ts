import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReadingWish } from '../core/speech.ts';
import { cleanWords } from './clean-words.ts';
import { textOf } from './sentences.ts';

const SAID = ['Um, ', 'Acme ', 'Corp ', 'sells ', 'bad ', 'things.'].map((part, at) => {
  const [, text = '', punctuation = ''] = /^(.*?)([.,]\s?)?$/u.exec(part) ?? [];
  return { text, punctuation: punctuation ?? '', beginMs: at, endMs: at + 1 };
});

const clean = (rules: ReadingWish): string => textOf(cleanWords(SAID, rules));

test('words of a filter are starred or left out, whatever their case', () => {
  assert.equal(clean({ filter: { starred: ['BAD'], dropped: ['corp'] } }), 'Um, Acme sells *** things.');
});

test('a term of several words is one', () => {
  assert.equal(clean({ filter: { starred: ['acme corp'], dropped: [] } }), 'Um, **** **** sells bad things.');
  assert.equal(clean({ filter: { starred: [], dropped: ['acme corp'] } }), 'Um, sells bad things.');
});

test('a part of a word is not the word', () => {
  assert.equal(clean({ filter: { starred: ['thing', 'ad'], dropped: [''] } }), 'Um, Acme Corp sells bad things.');
});

test('hesitation goes where it is not wanted, and only there', () => {
  assert.equal(clean({}), 'Um, Acme Corp sells bad things.');
  assert.equal(clean({ dropsFillers: true }), 'Acme Corp sells bad things.');
});

test('without punctuation, words stay apart', () => {
  assert.equal(clean({ dropsPunctuation: true }), 'Um Acme Corp sells bad things');
});

test('a filter of any length costs next to nothing', () => {
  const words = Array.from({ length: 80 }, (_, at) => ({ text: 'word ', punctuation: '', beginMs: at, endMs: at + 1 }));
  const long = Array.from({ length: 1_000 }, (_, at) => `${'word '.repeat(150)}${at}`);
  // Of this thread alone: what others do on the machine does not count.
  const before = process.threadCpuUsage();
  assert.equal(cleanWords(words, { filter: { starred: long, dropped: long } }).length, 80);
  // A look at each of it for every run of words would take half a minute, in which nobody is answered.
  assert.ok(process.threadCpuUsage(before).user < 5_000_000);
});
