import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TranscriptFormatOptions } from '../../../core/speech.ts';
import type { LiveTranscript } from '../transcription/live-recognition.ts';
import { addTranscript, NO_SENTENCES } from './sentence-progress.ts';

const createTranscript = (text: string, more: Partial<LiveTranscript> = {}): LiveTranscript => ({
  number: 1,
  isFinal: false,
  beginMs: 100,
  endMs: 1_100,
  text,
  language: 'en',
  words: text === '' ? [] : [{ text, punctuation: '', beginMs: 100, endMs: 1_100 }],
  ...more,
});

/** Adds the transcripts in order, and returns the progress and the results. */
function addAll(transcripts: readonly LiveTranscript[], options: TranscriptFormatOptions = {}) {
  let progress = NO_SENTENCES;
  const results = transcripts.map((transcript) => {
    const added = addTranscript(progress, transcript, options);
    if (added) ({ progress } = added);
    return added && ([added.result.id, added.result.text, added.result.isFinal] as const);
  });
  return { progress, results };
}

test('numbers sentences: partial results have the number of their final one', () => {
  const { progress, results } = addAll([
    createTranscript('he'),
    createTranscript('hello', { isFinal: true }),
    createTranscript('wor', { number: 2, endMs: 2_000 }),
  ]);
  assert.deepEqual(results, [
    [1, 'he', false],
    [1, 'hello', true],
    [2, 'wor', false],
  ]);
  assert.deepEqual(progress, { nextId: 2, openNumber: 2, recognizedMs: 2_000 });
});

test('skips a transcript without text, whose sentence then has no number', () => {
  const { progress, results } = addAll([createTranscript(''), createTranscript('', { isFinal: true })]);
  assert.deepEqual(results, [undefined, undefined]);
  assert.deepEqual(progress, NO_SENTENCES);
});

test('ends a sentence that was sent before, although its final text is empty', () => {
  const other = createTranscript('', { isFinal: true, number: 7 });
  const { results } = addAll([createTranscript('he'), other, createTranscript('', { isFinal: true })]);
  assert.deepEqual(results, [[1, 'he', false], undefined, [1, '', true]]);
});

test('joins the text again from words that the options change', () => {
  const { results } = addAll([createTranscript('um', { isFinal: true }), createTranscript('yes', { isFinal: true })], {
    dropsFillers: true,
  });
  assert.deepEqual(results, [undefined, [1, 'yes', true]]);
});

test('rounds the seconds of audio up, and keeps the end of the recognized audio', () => {
  const first = addTranscript(NO_SENTENCES, createTranscript('a', { endMs: 2_001 }), {});
  assert.equal(first?.result.seconds, 3);
  const second = addTranscript(first.progress, createTranscript('b', { endMs: 1_000 }), {});
  assert.equal(second?.result.seconds, 1);
  assert.equal(second.progress.recognizedMs, 2_001);
});
