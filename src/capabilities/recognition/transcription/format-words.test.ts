import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TranscriptFormatOptions } from '../../../core/speech.ts';
import { formatWords } from './format-words.ts';
import { joinWords } from './split-sentences.ts';

const WORDS = ['Um, ', 'Acme ', 'Corp ', 'sells ', 'bad ', 'things.'].map((part, at) => {
  const [, text = '', punctuation = ''] = /^(.*?)([.,]\s?)?$/u.exec(part) ?? [];
  return { text, punctuation: punctuation ?? '', beginMs: at, endMs: at + 1 };
});

const format = (rules: TranscriptFormatOptions): string => joinWords(formatWords(WORDS, rules));

test('masks or removes filtered words regardless of case', () => {
  assert.equal(format({ filter: { starred: ['BAD'], dropped: ['corp'] } }), 'Um, Acme sells *** things.');
});

test('matches terms of several words', () => {
  assert.equal(format({ filter: { starred: ['acme corp'], dropped: [] } }), 'Um, **** **** sells bad things.');
  assert.equal(format({ filter: { starred: [], dropped: ['acme corp'] } }), 'Um, sells bad things.');
});

test('does not match parts of words', () => {
  assert.equal(format({ filter: { starred: ['thing', 'ad'], dropped: [''] } }), 'Um, Acme Corp sells bad things.');
});

test('removes hesitation sounds only on request', () => {
  assert.equal(format({}), 'Um, Acme Corp sells bad things.');
  assert.equal(format({ dropsFillers: true }), 'Acme Corp sells bad things.');
});

test('keeps spaces between words when removing punctuation', () => {
  assert.equal(format({ dropsPunctuation: true }), 'Um Acme Corp sells bad things');
});

test('handles long filters quickly', () => {
  const words = Array.from({ length: 80 }, (_, at) => ({ text: 'word ', punctuation: '', beginMs: at, endMs: at + 1 }));
  const long = Array.from({ length: 1_000 }, (_, at) => `${'word '.repeat(150)}${at}`);
  // CPU time of this thread only, so that other load on the machine does not matter.
  const before = process.threadCpuUsage();
  assert.equal(formatWords(words, { filter: { starred: long, dropped: long } }).length, 80);
  // Comparing every term with every run of words would take half a minute, during which the service could not respond.
  assert.ok(process.threadCpuUsage(before).user < 5_000_000);
});
